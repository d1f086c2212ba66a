"""Reading every event of a tree, and leaving early."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from actors import (
    Agent,
    FunctionModel,
    Message,
    State,
    TextDelta,
    ThinkEnd,
    open_supervisor,
    tool,
)
from actors.testing import FakeModel, tool_call


def quiet(model: Any, **settings: Any) -> Agent:
    return Agent(model, **{"reporter": None, "human": None, **settings})


async def test_every_event_of_the_tree_comes_in_order_with_its_path() -> None:
    child = quiet(FakeModel(["found"]), name="child")
    agent = quiet(FakeModel([tool_call("child", prompt="p"), "all"]), tools=[child])
    state = State(messages=[Message.user("x")])
    seen: list[tuple[str, int]] = []
    async with agent.stream(state) as events:
        async for event in events:
            seen.append((type(event).__name__, len(event.path)))
            assert event.path[0] == state.id
    names = [name for name, _ in seen]
    assert names[0] == "RunStart"
    assert names[-1] == "RunEnd"
    assert names.index("ToolStart") < names.index("ChildStart") < names.index("ToolEnd")
    assert ("ThinkEnd", 3) in seen
    assert state.answer == "all"


async def test_pieces_of_text_are_the_text_of_the_reply() -> None:
    agent = quiet(FakeModel(["one two three four"]))
    pieces: list[str] = []
    said: list[str] = []
    async with agent.stream("x") as events:
        async for event in events:
            if isinstance(event, TextDelta):
                pieces.append(event.text)
            elif isinstance(event, ThinkEnd):
                said.append(event.reply.text)
    assert "".join(pieces) == said[0] == "one two three four"


async def test_leaving_early_stops_the_run_and_leaves_nothing_behind(
    autojump_clock: MockClock,
) -> None:
    @tool
    async def wait() -> None:
        await trio.sleep_forever()

    state = State(messages=[Message.user("x")])
    agent = quiet(FakeModel([tool_call("wait"), "never"]), tools=[wait])
    async with agent.stream(state) as events:
        async for event in events:
            if type(event).__name__ == "ToolStart":
                break
    assert state.pending_calls == ()
    result = state.history[-1]
    assert result.kind == "tool_result"
    assert result.outcome == "interrupted"


async def test_an_error_in_the_block_stops_the_run_and_goes_on_alone() -> None:
    state = State(messages=[Message.user("x")])
    with pytest.raises(ZeroDivisionError):
        async with quiet(FakeModel(["a b c"])).stream(state) as events:
            async for _event in events:
                raise ZeroDivisionError
    assert state.phase == "idle"


async def test_what_left_the_run_is_raised_after_its_last_event() -> None:
    names: list[str] = []
    with pytest.raises(OSError, match="down"):
        async with quiet(FakeModel([OSError("down")])).stream("x") as events:
            async for event in events:
                names += [type(event).__name__]
    assert names[-1] == "RunEnd"


async def test_a_run_waits_for_a_reader_that_is_behind(
    autojump_clock: MockClock,
) -> None:
    @tool
    async def step() -> str:
        return "ok"

    turns = 40
    model = FakeModel([*([tool_call("step")] * turns), "done"])
    agent = quiet(model, tools=[step])
    async with open_supervisor(), agent.stream("x") as events:
        await trio.sleep(1)
        assert model.remaining > turns // 2
        count = 0
        async for _event in events:
            count += 1
        assert events.statistics().peak <= events.statistics().capacity + 1
    assert count == turns * 4 + 5


async def test_text_that_nobody_has_read_yet_is_put_together() -> None:
    words = " ".join(str(n) for n in range(1_000))
    agent = quiet(FakeModel([words]))
    async with agent.stream("x") as events:
        await trio.testing.wait_all_tasks_blocked()
        deltas = [e async for e in events if isinstance(e, TextDelta)]
    assert "".join(delta.text for delta in deltas) == words
    assert len(deltas) < 10


async def test_the_handle_of_the_run_is_there() -> None:
    agent = quiet(FunctionModel(lambda request: "hi"))
    async with agent.stream("x") as events:
        async for _event in events:
            pass
        assert await events.run.wait() == "hi"
