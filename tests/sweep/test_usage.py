"""What a tree used is what its models delivered, however it ended."""

from itertools import count

import pytest

from actors import Message
from actors.testing import Trial, cancel_sweep

from .invariants import every_child_has_exactly_one_end, usage_is_what_was_delivered
from .trees import a_tree_of_the_seed
from .world import AGAIN, ANSWER_AGAIN, world_of

RUNS_MIN = 20_000
ONE_REPLY = 1


async def a_run_that_goes_on_adds_what_it_uses(trial: Trial) -> None:
    (state, agent), *_ = world_of(trial).roots
    before = state.usage
    state.add_message(Message.user(AGAIN))
    assert await agent.arun(state) == ANSWER_AGAIN
    assert state.usage.since(before).requests == ONE_REPLY
    usage_is_what_was_delivered(trial)


async def a_fork_counts_for_itself(trial: Trial) -> None:
    (state, agent), *_ = world_of(trial).roots
    fork, before = state.fork(), state.usage
    assert fork.usage == before
    fork.add_message(Message.user(AGAIN))
    assert await agent.arun(fork) == ANSWER_AGAIN
    assert fork.usage.since(before).requests == ONE_REPLY
    assert state.usage == before


def sweep(seed: int) -> int:
    """Cancel one tree at every step; gives how many runs that took."""
    report = cancel_sweep(
        a_tree_of_the_seed,
        seeds=[seed],
        invariants=[
            usage_is_what_was_delivered,
            every_child_has_exactly_one_end,
            a_run_that_goes_on_adds_what_it_uses,
            a_fork_counts_for_itself,
        ],
    )
    assert not report.violations, str(report)
    return report.runs


@pytest.mark.parametrize("seed", range(2))
def test_usage_is_conserved_at_whatever_step_a_tree_is_cancelled(seed: int) -> None:
    sweep(seed)


@pytest.mark.slow
def test_usage_is_conserved_in_20_000_cancelled_trees() -> None:
    runs = 0
    for seed in count():
        runs += sweep(seed)
        if runs >= RUNS_MIN:
            break
