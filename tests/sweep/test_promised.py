"""What `callboard experiment` checks by itself finds what is wrong, and only that."""

from collections.abc import Callable
from typing import Any

import pytest

from actors import Agent, FunctionModel, State, _drive
from actors._background import Background
from actors._calls import CallNode
from actors.testing import FakeModel, Trial, _promised, tool_call
from actors.testing._promised import PROMISES
from actors.testing._sweep import tries
from actors.testing._trial import Bench

from .background import SCENARIOS as BACKGROUND
from .scenarios import SCENARIOS, Scenario
from .subagents import subagents_two_deep
from .test_graphs import SCENARIOS as GRAPHS
from .test_graphs import scenario_of
from .tools import one_async_tool
from .world import world_of

WITHIN_S = 20.0


def broken(scenario: Callable[..., Any], seed: int = 1) -> set[str]:
    """Names of what breaks in it at any step."""
    runs = tries(Bench(scenario, []), seed, within_s=WITHIN_S)
    return {name for run in runs for name, _ in run.broken}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_nothing_is_broken_in_a_run_that_is_cancelled_anywhere(
    scenario: Scenario,
) -> None:
    assert not broken(scenario)


@pytest.mark.parametrize("make", GRAPHS, ids=lambda make: make.__name__)
def test_nothing_is_broken_in_a_graph_that_is_cancelled_anywhere(make: Any) -> None:
    assert not broken(scenario_of(make))


def test_calls_that_nobody_answers_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(agent: Agent, state: State) -> None:
        await agent.athink(state)
        raise ValueError("no more")

    async def failing() -> None:
        agent = Agent(FakeModel([tool_call("nothing")]), loop=fails, reporter=None)
        with pytest.raises(ValueError, match="no more"):
            await agent.arun("Go.")

    assert not broken(failing)
    monkeypatch.setattr(_drive, "_close_pending", lambda *args: None)
    assert "every call has exactly one result" in broken(failing)


def test_ends_of_children_that_are_told_to_nobody_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Background, "_owner", lambda self: None)
    assert "every child has exactly one end" in broken(BACKGROUND[0])


def test_children_that_stand_in_no_result_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CallNode, "add_child", lambda *args: None)
    assert "every child has exactly one end" in broken(subagents_two_deep)


def test_usage_that_is_told_to_nobody_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CallNode, "spent", lambda self, usage: None)
    assert "usage is conserved" in broken(subagents_two_deep)


def test_a_state_that_is_still_driven_is_found() -> None:
    async def scenario(trial: Trial) -> None:
        await one_async_tool(trial)
        ((state, _),) = world_of(trial).roots
        state._mailbox.run = object()

    assert broken(scenario) == {"nothing is under way"}


def test_a_history_that_gives_another_state_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        _promised, "State", lambda history: State(history=tuple(history)[:-1])
    )
    assert "a replay gives the same" in broken(one_async_tool)


def test_a_state_that_takes_no_next_run_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        _promised, "FunctionModel", lambda fn: FunctionModel(lambda _: "other")
    )
    assert broken(one_async_tool) == {"the next run works"}


def test_each_promise_that_is_checked_has_a_name_for_people() -> None:
    assert all(name == name.lower() and len(name) < 50 for name in PROMISES)
