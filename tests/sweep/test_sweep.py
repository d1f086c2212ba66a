"""Whatever an agent is doing when it is cancelled, it leaves everything in order.

A failure prints the line that does that one run again.
"""

from itertools import count

import pytest

from actors.testing import cancel_sweep

from .invariants import INVARIANTS
from .scenarios import SCENARIOS, Scenario

RUNS_MIN = 20_000
SEEDS_MIN = 20


def sweep(scenario: Scenario, seed: int) -> int:
    """Cancel it at every step, in the order of the seed; gives how many runs."""
    report = cancel_sweep(scenario, seeds=[seed], invariants=INVARIANTS)
    assert report.steps > 0
    assert not report.violations, str(report)
    return report.runs


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_a_run_cancelled_at_any_step_leaves_everything_in_order(
    scenario: Scenario,
) -> None:
    sweep(scenario, 1)


@pytest.mark.slow
def test_20_000_runs_cancelled_at_every_step_leave_everything_in_order() -> None:
    runs = 0
    for seed in count():
        if seed >= SEEDS_MIN and runs >= RUNS_MIN:
            break
        runs += sum(sweep(each, seed) for each in SCENARIOS)
