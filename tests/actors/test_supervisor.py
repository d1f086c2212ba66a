"""Who is given up, and when."""

from inspect import signature
from math import inf, nan
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Agent,
    Message,
    RunCancelled,
    State,
    Supervisor,
    ToolResultEntry,
    open_supervisor,
    start_child,
    tool,
)
from actors.testing import FakeModel, tool_call


class Ticking(trio.abc.Clock):
    """A clock that goes on a little at each look, and jumps to the next deadline.

    So no two moments are the same, as on a real one.
    """

    def __init__(self) -> None:
        self.now = 0.0

    def start_clock(self) -> None:
        pass

    def current_time(self) -> float:
        self.now += 1e-6
        return self.now

    def deadline_to_sleep_time(self, deadline: float) -> float:
        if deadline == inf:
            return inf
        self.now = max(self.now, deadline)
        return 0.0


def test_a_clean_up_that_is_cut_has_the_time_to_end_before_anybody_names_it() -> None:
    @tool
    async def thorough() -> str:
        try:
            await trio.sleep_forever()
        finally:
            await trio.sleep(3600)
        raise AssertionError("it is cut")

    async def main() -> None:
        model = FakeModel([tool_call("thorough")])
        agent = Agent(model, tools=[thorough], reporter=None)
        async with open_supervisor() as supervisor:
            run = supervisor.start(agent, "go on")
            await wait_all_tasks_blocked()
            report = await run.cancel("enough", grace_s=0.01)
        assert report.unstopped == ()
        assert supervisor.statistics().unstopped == ()
        (result,) = [e for e in run.state.history if isinstance(e, ToolResultEntry)]
        assert "it was cut" in str(result.content)

    trio.run(main, clock=Ticking())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"grace_s": -1}, "grace_s= is a number of seconds >= 0, not -1"),
        ({"grace_s": nan}, "grace_s= is a number of seconds >= 0, not nan"),
        ({"grace_s": True}, "grace_s= is a number of seconds >= 0, not True"),
        ({"max_running": 0}, "max_running= is an int >= 1 or None, not 0"),
        ({"threads": 0}, "threads= is an int >= 1, not 0"),
        ({"limits": 3}, r"limits= takes Limits\(requests=...\), not 3"),
    ],
)
async def test_wrong_settings_are_refused_before_anything_opens(
    settings: dict[str, Any], words: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        async with open_supervisor(**settings):
            raise AssertionError("it opened")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"grace_s": nan}, "grace_s= is a number of seconds >= 0, not nan"),
        ({"grace_s": "1"}, "grace_s= is a number of seconds >= 0, not '1'"),
        ({"outcome": "gone"}, "outcome= is one of done, .*, not 'gone'"),
        ({"reason": 3}, "reason= is a str or None, not 3"),
        ({"reason": "\ud800"}, "reason= has half of a surrogate pair"),
    ],
)
async def test_a_cancel_with_wrong_arguments_raises_and_stops_nothing(
    settings: dict[str, Any], words: str
) -> None:
    go_on = trio.Event()

    @tool
    async def wait() -> str:
        await go_on.wait()
        return "waited"

    agent = Agent(FakeModel([tool_call("wait"), "end"]), tools=[wait], reporter=None)
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent, "go on")
        await wait_all_tasks_blocked()
        with pytest.raises((TypeError, ValueError), match=words):
            await run.cancel(**{"reason": "enough", **settings})
        if "reason" in settings:
            for stop in (run.cancel_nowait, run.interrupt):
                with pytest.raises((TypeError, ValueError), match=words):
                    stop(settings["reason"])
        go_on.set()
        assert await run.wait() == "end"


async def test_the_outcome_of_a_cancel_is_how_a_background_child_ended() -> None:
    handles = []

    @tool
    async def leave() -> str:
        handles.append(start_child(child, "go on"))
        return "left"

    async def never(_: Any) -> str:
        await trio.sleep_forever()
        raise AssertionError("it is cancelled")

    child = Agent(FakeModel([never]), reporter=None, name="child")
    model = FakeModel([tool_call("leave"), "end", "seen"])
    agent = Agent(model, tools=[leave], reporter=None)
    state = State(messages=[Message.user("x")])
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent, state)
        await run.wait()
        await handles[0].cancel("not wanted", outcome="denied")
        with pytest.raises(RunCancelled, match="not wanted"):
            await handles[0].wait()
    (end,) = [entry for entry in state.history if entry.kind == "child_end"]
    assert end.content.outcome == "denied"


async def test_an_error_whose_text_raises_leaves_its_own_run_and_no_other() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise LookupError("no text")

        __repr__ = __str__

    async with open_supervisor() as supervisor:
        broken = supervisor.start(Agent(FakeModel([MuteError()]), reporter=None), "x")
        whole = supervisor.start(Agent(FakeModel(["whole"]), reporter=None), "x")
        assert await whole.wait() == "whole"
        with pytest.raises(MuteError):
            await broken.wait()


async def test_what_a_run_starts_joins_the_supervisor_of_that_run() -> None:
    child = Agent(FakeModel(["below"]), reporter=None)
    go_on = trio.Event()

    @tool
    async def ask_child() -> str:
        await go_on.wait()
        return str(await child.arun("go on"))

    model = FakeModel([tool_call("ask_child"), "end"])
    agent = Agent(model, tools=[ask_child], reporter=None)
    async with open_supervisor() as outer:
        async with open_supervisor() as inner:
            run = outer.start(agent, "go on")
            await wait_all_tasks_blocked()
        go_on.set()
        assert await run.wait() == "end"
    assert inner.statistics().started == 0
    assert run.usage.requests == 3


async def test_a_run_that_a_closed_supervisor_refuses_leaves_no_trace() -> None:
    late = Agent(FakeModel(["too late"]), reporter=None)
    async with open_supervisor() as closed:
        pass

    @tool
    async def ask_the_closed() -> str:
        with pytest.raises(RuntimeError, match="this supervisor is closed"):
            closed.start(late, "go on")
        return "refused"

    model = FakeModel([tool_call("ask_the_closed"), "end"])
    agent = Agent(model, tools=[ask_the_closed], reporter=None)
    state = State(messages=[Message.user("go on")])
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent, state)
        with trio.fail_after(5):
            assert await run.wait() == "end"
    (result,) = [e for e in state.history if isinstance(e, ToolResultEntry)]
    assert (result.content, result.child_ids) == ("refused", ())


@pytest.mark.parametrize(
    "method", [Agent.run, Agent.arun, Agent.stream, Supervisor.start, start_child]
)
def test_a_run_starts_from_what_every_way_calls_prompt_or_state(method: Any) -> None:
    assert "prompt_or_state" in signature(method).parameters
