"""How much at once, and how much in a minute."""

import random
from bisect import bisect_left

import pytest

from actors._pace import Pace, Slots


def outcomes(
    slots: Slots, answered: int, refused: int, *, reached: bool = True
) -> None:
    slots.running = slots.limit or 0
    assert slots.full or not reached or slots.limit is None
    for number in range(answered + refused):
        if number < refused:
            slots.refused()
        else:
            slots.answered()


def test_there_is_no_limit_before_the_first_refusal() -> None:
    slots = Slots()
    slots.running = 100_000
    for _ in range(1000):
        slots.answered()
    assert slots.limit is None
    assert not slots.full


def test_the_first_refusal_keeps_what_is_on_its_way() -> None:
    slots = Slots()
    slots.running = 40
    slots.refused()
    assert slots.limit == 40
    assert slots.full
    alone = Slots()
    alone.running = 1
    alone.refused()
    assert alone.limit == 16


def test_a_window_of_refusals_halves_the_limit() -> None:
    slots = Slots()
    slots.limit = 40
    for limit in (20, 10):
        outcomes(slots, 0, slots.limit)
        assert slots.limit == limit
    outcomes(slots, 0, 1000)
    assert slots.limit == 1


def test_a_window_with_few_refusals_grows_the_limit_when_it_was_reached() -> None:
    slots = Slots()
    slots.limit = 40
    for limit, refused in ((80, 0), (160, 5), (80, 160), (88, 2), (110, 0)):
        outcomes(slots, slots.limit - refused, refused)
        assert slots.limit == limit
    slots.running = 5
    assert not slots.full
    for _ in range(110):
        slots.answered()
    assert slots.limit == 110  # nobody wanted more


def test_random_refusals_of_one_in_twenty_do_not_starve_a_fleet() -> None:
    draw = random.Random(3)
    slots = Slots()
    slots.running = slots.limit = 64
    for _ in range(20_000):
        slots.running = slots.limit or 0
        assert slots.full
        if draw.random() < 0.05:
            slots.refused()
        else:
            slots.answered()
    assert slots.limit is not None
    assert slots.limit > 64


def test_a_limit_finds_what_the_provider_takes() -> None:
    takes = 12
    slots = Slots()
    slots.running = slots.limit = 400
    seen: list[int] = []
    for _ in range(600):
        limit = slots.limit or 0
        refused = max(0, limit - takes)
        outcomes(slots, limit - refused, refused)
        seen.append(slots.limit or 0)
    later = seen[100:]
    assert takes - 2 <= min(later)
    assert max(later) <= takes * 1.5


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
