"""Runs that begin again when they fail."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from actors import (
    Agent,
    FunctionModel,
    Limits,
    Message,
    Request,
    Restart,
    State,
    open_supervisor,
    tool,
)
from actors.testing import FakeModel, tool_call
from protocol import BudgetExceeded, RunCancelled, StoppedByBudget


def quiet(model: Any, **settings: Any) -> Agent:
    return Agent(model, **{"reporter": None, "human": None, **settings})


async def test_a_run_that_fails_begins_again_from_its_own_history(
    autojump_clock: MockClock,
) -> None:
    done: list[int] = []

    @tool
    async def work(n: int) -> str:
        done.append(n)
        return "done"

    model = FakeModel(
        [
            tool_call("work", n=1),
            OSError("a"),
            OSError("b"),
            tool_call("work", n=2),
            "ok",
        ]
    )
    state = State(messages=[Message.user("x")])
    async with open_supervisor() as supervisor:
        policy = Restart(times=2, within_s=60, backoff_s=1)
        run = supervisor.start(quiet(model, tools=[work]), state, restart=policy)
        assert await run.wait() == "ok"
    assert done == [1, 2]
    assert state.usage.requests == 3
    assert trio.current_time() == pytest.approx(1 + 2)


async def test_one_failure_more_than_allowed_is_raised(
    autojump_clock: MockClock,
) -> None:
    model = FakeModel([OSError("a"), OSError("b"), OSError("c"), "never"])
    async with open_supervisor() as supervisor:
        run = supervisor.start(quiet(model), "x", restart=Restart(times=2))
        with pytest.raises(OSError, match="c"):
            await run.wait()
    assert model.remaining == 1


async def test_failures_long_ago_do_not_count(autojump_clock: MockClock) -> None:
    async def slowly(request: Any) -> Exception:
        await trio.sleep(50)
        return OSError("again")

    model = FakeModel([slowly, slowly, slowly, "ok"])
    async with open_supervisor() as supervisor:
        policy = Restart(times=1, within_s=30)
        run = supervisor.start(quiet(model), "x", restart=policy)
        assert await run.wait() == "ok"


async def test_a_cancel_ends_a_back_off_at_once(autojump_clock: MockClock) -> None:
    model = FakeModel([OSError("a"), "never"])
    async with open_supervisor() as supervisor:
        policy = Restart(times=1, backoff_s=100)
        run = supervisor.start(quiet(model), "x", restart=policy)
        await trio.sleep(5)
        await run.cancel("enough")
        with pytest.raises(RunCancelled, match="enough"):
            await run.wait()
    assert trio.current_time() == pytest.approx(5)


@pytest.mark.parametrize("backoff_s", [0.5, 100])
@pytest.mark.parametrize("whose", ["the run's", "the tree's"])
async def test_a_limit_on_time_holds_for_all_restarts_and_the_waits_between(
    autojump_clock: MockClock, whose: str, backoff_s: float
) -> None:
    async def fail(request: Request) -> str:
        await trio.sleep(2)
        raise OSError("down")

    limits = Limits(seconds=5)
    own, tree = (limits, None) if whose == "the run's" else (None, limits)
    agent = quiet(FunctionModel(fail), limits=own)
    state = State(messages=[Message.user("x")])
    policy = Restart(times=1_000, backoff_s=backoff_s)
    began = trio.current_time()
    async with open_supervisor(limits=tree) as supervisor:
        run = supervisor.start(agent, state, restart=policy)
        if whose == "the run's":
            await run.wait()
            assert isinstance(state.stopped, StoppedByBudget)
        else:
            with pytest.raises(BudgetExceeded, match="seconds"):
                await run.wait()
    assert trio.current_time() == began + 5


async def test_without_a_policy_the_first_failure_is_raised() -> None:
    async with open_supervisor() as supervisor:
        run = supervisor.start(quiet(FakeModel([OSError("a"), "never"])), "x")
        with pytest.raises(OSError, match="a"):
            await run.wait()


@pytest.mark.parametrize("wrong", [{"times": 0}, {"times": 1, "within_s": -1}])
def test_a_wrong_policy_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="> 0"):
        Restart(**wrong)
