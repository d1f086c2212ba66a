"""How much may start in a minute."""

from bisect import bisect_left

import pytest

from actors._pace import Pace


@pytest.mark.parametrize("per_minute", [0.5, 1.0, 7.0, 60.0, 600.0])
def test_no_minute_holds_more_than_its_allowance(per_minute: float) -> None:
    pace = Pace(per_minute, now=100.0)
    now = 100.0
    starts: list[float] = []
    while now < 100.0 + 60 * 20:
        at = pace.ready_at(1.0, now)
        if at > now:
            now = at + 1e-9
            continue
        pace.take(1.0, now)
        starts.append(now)
    for number, start in enumerate(starts):
        within = bisect_left(starts, start + 60 - 1e-6) - number
        assert within <= max(1.0, per_minute)
    assert len(starts) >= 0.85 * per_minute * 20


def test_what_was_not_needed_is_given_back() -> None:
    pace = Pace(600.0, now=0.0)
    pace.take(60.0, 0.0)
    assert pace.ready_at(1.0, 0.0) > 0.0
    pace.take(-60.0, 0.0)
    assert pace.ready_at(60.0, 0.0) == 0.0
    pace.take(-1000.0, 0.0)
    assert pace.ready_at(60.0, 0.0) == 0.0


def test_a_need_beyond_the_allowance_waits_for_a_full_bucket_only() -> None:
    pace = Pace(600.0, now=0.0)
    assert pace.ready_at(1e9, 0.0) == 0.0
    pace.take(1e3, 0.0)
    assert 0.0 < pace.ready_at(1e9, 0.0) < 600.0
