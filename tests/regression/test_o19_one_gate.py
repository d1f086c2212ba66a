"""O19: after a 429 nobody sends before its time, and then not all at once."""

from collections import deque
from typing import Any

import pytest
import trio

from actors import (
    Agent,
    FunctionModel,
    RateLimitError,
    RunCancelled,
    State,
    afan_out,
    open_supervisor,
)
from actors._gate import gate_for
from tests.regression.stage import assert_whole, state


class Provider:
    """Refuses some requests, and keeps when each was sent."""

    def __init__(self, refusals: list[float], takes_s: float = 1.0) -> None:
        self.refusals = deque(refusals)
        self.takes_s = takes_s
        self.sent: list[float] = []
        self.model = FunctionModel(self.rule)
        self.agent = Agent(self.model, reporter=None, human=None)

    async def rule(self, request: Any) -> Any:
        self.sent.append(trio.current_time())
        if self.refusals:
            wait_s = self.refusals.popleft()
            raise RateLimitError("slow down", retry_after_s=wait_s, status=429)
        await trio.sleep(self.takes_s)
        return "answer"


@pytest.mark.parametrize("children", [2, 20, 50])
@pytest.mark.parametrize("wait_s", [0.5, 5, 60])
async def test_nobody_sends_to_the_key_before_the_time_and_all_finish(
    autojump_clock: trio.testing.MockClock, children: int, wait_s: float
) -> None:
    provider = Provider([wait_s])
    got = await afan_out(provider.agent, [str(n) for n in range(children)])
    assert [each.outcome for each in got] == ["done"] * children
    assert not [at for at in provider.sent if 0 < at < wait_s]
    assert len(provider.sent) == children + 1


async def test_those_who_waited_do_not_start_at_one_instant(
    autojump_clock: trio.testing.MockClock,
) -> None:
    provider = Provider([5.0])
    first: list[Any] = []

    async with open_supervisor() as supervisor:
        first.append(supervisor.start(provider.agent, "first"))
        await trio.sleep(0.1)
        runs = [supervisor.start(provider.agent, str(n)) for n in range(20)]
        for run in (*first, *runs):
            assert await run.wait() == "answer"
    again = [at for at in provider.sent if at > 0]
    assert len(again) == 21
    assert min(again) >= 5.0
    assert len(set(again)) > 10
    assert max(again.count(at) for at in again) < 10


@pytest.mark.parametrize("refusals", [[5.0, 5.0], [1.0, 2.0, 3.0]])
async def test_a_second_refusal_is_waited_for_too(
    autojump_clock: trio.testing.MockClock, refusals: list[float]
) -> None:
    provider = Provider(refusals)
    got = await afan_out(provider.agent, [str(n) for n in range(5)])
    assert [each.outcome for each in got] == ["done"] * 5
    assert trio.current_time() >= max(refusals)


@pytest.mark.parametrize("cancelled", [1, 10, 20])
async def test_a_child_cancelled_while_it_waits_leaves_at_once_and_frees_its_slot(
    autojump_clock: trio.testing.MockClock, cancelled: int
) -> None:
    provider = Provider([5.0])
    states: list[State] = [state() for _ in range(21)]
    async with open_supervisor() as supervisor:
        runs = [supervisor.start(provider.agent, states[0])]
        await trio.sleep(1)
        runs += [supervisor.start(provider.agent, each) for each in states[1:]]
        await trio.sleep(1)
        gate = gate_for(provider.model)
        assert gate.statistics().waiting == 21
        for run in runs[1 : 1 + cancelled]:
            await run.cancel("not needed")
        assert trio.current_time() == 2
        assert gate.statistics().waiting == 21 - cancelled
        assert gate.statistics().running == 0
        for run in runs[1 : 1 + cancelled]:
            with pytest.raises(RunCancelled):
                await run.wait()
        for run in (runs[0], *runs[1 + cancelled :]):
            assert await run.wait() == "answer"
    assert len(provider.sent) == 1 + 21 - cancelled
    assert gate.statistics().running == 0
    for each in states:
        assert_whole(each)


async def test_waits_and_retries_stand_in_the_history(
    autojump_clock: trio.testing.MockClock,
) -> None:
    provider = Provider([5.0])
    asked = state()
    assert await provider.agent.arun(asked) == "answer"
    (event,) = [entry for entry in asked.history if entry.kind == "model_event"]
    assert event.content.kind == "retry"
    assert asked.usage.requests == 1
    assert_whole(asked)
