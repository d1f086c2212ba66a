"""Many prompts at once, under each policy."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from actors import (
    Agent,
    FunctionModel,
    Limits,
    Message,
    State,
    afan_out,
    first,
    open_supervisor,
    quorum,
    tool,
)
from actors.testing import FakeModel, tool_call


def quiet(model: Any, **settings: Any) -> Agent:
    return Agent(model, **{"reporter": None, "human": None, **settings})


def timed() -> Agent:
    """Answers a prompt "3" after 3 seconds with "3"; "x..." fails then."""

    async def rule(request: Any) -> str:
        text = request.messages[-1].text()
        await trio.sleep(float(text.lstrip("x")))
        if text.startswith("x"):
            raise OSError(text)
        return str(text)

    return quiet(FunctionModel(rule))


async def test_results_come_in_prompt_order_and_a_failure_is_a_result(
    autojump_clock: MockClock,
) -> None:
    results = await afan_out(timed(), ["3", "x1", "2"])
    assert [r.prompt for r in results] == ["3", "x1", "2"]
    assert [r.outcome for r in results] == ["done", "error", "done"]
    assert [r.answer for r in results] == ["3", None, "2"]
    assert isinstance(results[1].error, OSError)
    assert trio.current_time() == pytest.approx(3)


@pytest.mark.parametrize("window", [1, 2, 4, None])
async def test_the_window_slides_like_the_greedy_schedule(
    window: int | None, autojump_clock: MockClock
) -> None:
    seconds = [3.0, 1.0, 2.0, 1.0, 1.0, 4.0]
    prompts = [str(s) for s in seconds]
    lanes = [0.0] * (window or len(seconds))
    for each in seconds:
        soonest = lanes.index(min(lanes))
        lanes[soonest] += each
    results = await afan_out(timed(), prompts, max_running=window)
    assert [r.answer for r in results] == prompts
    assert trio.current_time() == pytest.approx(max(lanes))


async def test_fail_fast_raises_the_first_failure_and_joins_the_others(
    autojump_clock: MockClock,
) -> None:
    with pytest.raises(OSError, match="x2"):
        await afan_out(timed(), ["9", "x2", "x3"], policy="fail_fast")
    assert trio.current_time() == pytest.approx(2)


async def test_the_first_good_one_wins_and_the_others_are_cancelled(
    autojump_clock: MockClock,
) -> None:
    policy = first(lambda result: result.answer == "2")
    results = await afan_out(timed(), ["1", "2", "3"], policy=policy)
    assert [r.outcome for r in results] == ["done", "done", "cancelled"]
    assert [r.answer for r in results] == ["1", "2", None]
    assert trio.current_time() == pytest.approx(2)


async def test_a_quorum_ends_it_and_what_never_started_is_a_result_too(
    autojump_clock: MockClock,
) -> None:
    results = await afan_out(
        timed(), ["1", "x1", "2", "9", "9"], policy=quorum(2), max_running=3
    )
    outcomes = [r.outcome for r in results]
    assert outcomes == ["done", "error", "done", "cancelled", "cancelled"]
    assert trio.current_time() == pytest.approx(2)


async def test_what_the_users_own_judge_raises_is_raised(
    autojump_clock: MockClock,
) -> None:
    def judge(result: Any) -> bool:
        raise ZeroDivisionError("judge")

    with pytest.raises(ZeroDivisionError):
        await afan_out(timed(), ["1", "5"], policy=first(judge))
    assert trio.current_time() == pytest.approx(1)


async def test_no_prompts_give_no_results() -> None:
    assert await afan_out(timed(), []) == ()


@pytest.mark.parametrize(
    ("prompts", "options", "error"),
    [
        ("one", {}, TypeError),
        (["a", 3], {}, TypeError),
        (["a"], {"policy": "best"}, ValueError),
        (["a"], {"max_running": 0}, ValueError),
        (["a"], {"max_running": True}, ValueError),
    ],
)
async def test_wrong_arguments_are_refused_before_anything_starts(
    prompts: Any, options: dict[str, Any], error: type[Exception]
) -> None:
    model = FakeModel(["never"])
    with pytest.raises(error):
        await afan_out(quiet(model), prompts, **options)
    assert model.remaining == 1


def test_a_quorum_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="quorum"):
        quorum(0)


async def test_inside_a_tool_they_are_children_of_the_call() -> None:
    inner = quiet(FunctionModel(lambda request: "hi"))

    @tool
    async def spread() -> str:
        results = await afan_out(inner, ["a", "b", "c"])
        return ",".join(str(result.answer) for result in results)

    state = State(messages=[Message.user("x")])
    await quiet(FakeModel([tool_call("spread"), "ok"]), tools=[spread]).arun(state)
    result = next(entry for entry in state.history if entry.kind == "tool_result")
    assert result.content == "hi,hi,hi"
    assert len(result.child_ids) == 3
    assert result.usage.requests == 3
    assert state.usage.requests == 5


async def test_a_supervisor_maps_under_itself() -> None:
    agent = quiet(FunctionModel(lambda request: request.messages[-1].text()))
    async with open_supervisor() as supervisor:
        results = await supervisor.map(agent, ["a", "b"])
    assert [result.answer for result in results] == ["a", "b"]


async def test_children_over_the_limit_are_results_and_the_others_run() -> None:
    inner = quiet(FunctionModel(lambda request: "hi"))

    @tool
    async def spread() -> str:
        results = await afan_out(inner, ["a", "b", "c"])
        return ",".join(result.outcome for result in results)

    agent = quiet(
        FakeModel([tool_call("spread"), "ok"]),
        tools=[spread],
        limits=Limits(children=2),
    )
    state = State(messages=[Message.user("x")])
    assert await agent.arun(state) == "ok"
    assert "done,done,error" in state.messages[2].text()


async def test_a_cancel_stops_all_and_counts_what_they_used(
    autojump_clock: MockClock,
) -> None:
    async def rule(request: Any) -> Any:
        if len(request.messages) == 1:
            return tool_call("wait")
        return "never"

    @tool
    async def wait() -> None:
        await trio.sleep_forever()

    inner = quiet(FunctionModel(rule), tools=[wait])

    @tool
    async def spread() -> None:
        await afan_out(inner, ["a", "b", "c"])

    state = State(messages=[Message.user("x")])
    agent = quiet(FakeModel([tool_call("spread"), "never"]), tools=[spread])
    with trio.move_on_after(1):
        await agent.arun(state)
    result = state.history[-1]
    assert result.kind == "tool_result"
    assert (result.outcome, result.usage.requests) == ("interrupted", 3)
    assert state.usage.requests == 4
    for child_id in result.child_ids:
        assert state.child(child_id).pending_calls == ()


@pytest.mark.parametrize("window", [1, 2, None])
async def test_a_fan_of_children_that_cannot_start_has_a_result_for_each(
    window: int | None,
) -> None:
    inner = quiet(FunctionModel(lambda _: "unasked"))
    outcomes: list[str] = []

    @tool
    async def fan() -> str:
        """Ask for three children where there may be none."""
        results = await afan_out(inner, ["a", "b", "c"], max_running=window)
        outcomes.extend(result.outcome for result in results)
        return "all refused"

    model = FakeModel([tool_call("fan"), "done"])
    agent = quiet(model, tools=[fan], limits=Limits(children=0))
    assert await agent.arun(State(messages=[Message.user("go")])) == "done"
    assert outcomes == ["error"] * 3


async def test_a_fan_out_of_several_agents_is_refused() -> None:
    wrong: Any = [timed(), timed()]
    with pytest.raises(TypeError, match=r"on one agent, and this is a list: .*\.start"):
        await afan_out(wrong, ["1"])
