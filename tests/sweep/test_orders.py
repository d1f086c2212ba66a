"""Orders in which tasks step, one after the other, instead of those of some seeds."""

import pytest

from actors.testing import search_schedules

from .invariants import INVARIANTS
from .people import an_answer_comes_through_the_state
from .runs import another_run_takes_over, two_thinks_of_one_state
from .scenarios import Scenario
from .subagents import fan_out_until_the_first
from .tools import a_failure_stops_its_siblings

CROWDED = (
    a_failure_stops_its_siblings,
    fan_out_until_the_first,
    an_answer_comes_through_the_state,
    two_thinks_of_one_state,
    another_run_takes_over,
)


def search(scenario: Scenario, runs_max: int) -> None:
    report = search_schedules(scenario, invariants=INVARIANTS, runs_max=runs_max)
    assert report.complete or report.runs == runs_max
    assert not report.violations, str(report.violations[0])


@pytest.mark.parametrize("scenario", CROWDED, ids=lambda each: each.__name__)
def test_no_order_of_steps_leaves_anything_in_disorder(scenario: Scenario) -> None:
    search(scenario, 8)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", CROWDED, ids=lambda each: each.__name__)
def test_none_of_500_orders_leaves_anything_in_disorder(scenario: Scenario) -> None:
    search(scenario, 500)
