"""Whatever an agent is doing when it is cancelled, it leaves everything in order.

A failure prints the line that does that one run again.
"""

import pytest

from actors.testing import SweepReport, cancel_sweep

from .invariants import INVARIANTS
from .scenarios import SCENARIOS, Scenario

RUNS_MIN = 20_000


def sweep(scenario: Scenario, seeds: range) -> SweepReport:
    report = cancel_sweep(scenario, seeds=seeds, invariants=INVARIANTS)
    assert report.steps > 0
    assert not report.violations, str(report)
    return report


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_a_run_cancelled_at_any_step_leaves_everything_in_order(
    scenario: Scenario,
) -> None:
    sweep(scenario, range(1, 2))


@pytest.mark.slow
def test_20_000_runs_cancelled_at_every_step_leave_everything_in_order() -> None:
    assert sum(sweep(each, range(20)).runs for each in SCENARIOS) >= RUNS_MIN
