"""How many at once, against a provider that is a few lines of arithmetic."""

import heapq
import random
from collections.abc import Callable, Iterator
from itertools import count, pairwise

import pytest

from actors._slots import Slots

SIZE = 7

# What a provider does with a request: seconds until it ends, and whether it is refused.
Provider = Callable[[float, int], tuple[float, bool]]


class Fleet:
    """So many agents that ask again as soon as they can, on a clock of its own."""

    def __init__(self, provider: Provider, agents: int = 200) -> None:
        self.slots = Slots(0.0)
        self.now = 0.0
        self.answers = 0
        self.refusals = 0
        self._provider = provider
        self._ready = agents
        self._order = count()
        self._events: list[tuple[float, int, float | None, bool]] = []

    def run(self, until: float) -> Iterator[int | None]:
        """Go on until then; the limit at each answer."""
        while self.now < until:
            self._start_all()
            self.now, _, started, refused = heapq.heappop(self._events)
            if started is None:
                self._ready += 1
            elif refused:
                self.refusals += 1
                self.slots.refused(started, self.now)
                self._push(self.slots.usual_s / 2, None, refused=False)
            else:
                self.answers += 1
                self._ready += 1
                self.slots.answered(started, self.now, SIZE)
                yield self.slots.limit

    def join(self, agents: int) -> None:
        """Let more of them ask."""
        self._ready += agents

    def pace(self, seconds: float) -> float:
        """Answers a second, from now on for so long."""
        before = self.answers
        for _ in self.run(self.now + seconds):
            pass
        return (self.answers - before) / seconds

    def _start_all(self) -> None:
        while self._ready and not self.slots.full:
            self._ready -= 1
            self.slots.enter(self.now)
            after_s, refused = self._provider(self.now, self.slots.running)
            self._push(after_s, self.now, refused=refused)

    def _push(self, after_s: float, started: float | None, *, refused: bool) -> None:
        event = (self.now + after_s, next(self._order), started, refused)
        heapq.heappush(self._events, event)


def limits(fleet: Fleet, seconds: float) -> list[int]:
    """Every limit that was there in so many seconds; none is 1,000,000."""
    return [limit or 1_000_000 for limit in fleet.run(fleet.now + seconds)]


def by_chance(share: float, seed: int = 5, *, at_once: bool = False) -> Provider:
    draw = random.Random(seed)

    def provider(now: float, running: int) -> tuple[float, bool]:
        refused = draw.random() < share
        return 0.002 if refused and at_once else draw.uniform(0.9, 1.1), refused

    return provider


class Full:
    """Refuses whatever is more than it takes, at once or as late as it answers."""

    def __init__(self, takes: int, refuses_after_s: float = 0.005) -> None:
        self.takes = takes
        self._after_s = refuses_after_s
        self._ends: list[float] = []
        self._draw = random.Random(1)

    def __call__(self, now: float, running: int) -> tuple[float, bool]:
        self._ends = [end for end in self._ends if end > now]
        if len(self._ends) >= self.takes:
            return self._after_s, True
        took_s = self._draw.uniform(0.9, 1.1)
        self._ends.append(now + took_s)
        return took_s, False


class Queue:
    """Works on so many at once and lets the others stand in a queue."""

    def __init__(self, works_on: int, noise: float = 0.0) -> None:
        self._free = [0.0] * works_on
        self._noise = noise
        self._draw = random.Random(2)

    def __call__(self, now: float, running: int) -> tuple[float, bool]:
        begins = max(now, heapq.heappop(self._free))
        ends = begins + self._draw.lognormvariate(0.0, self._noise)
        heapq.heappush(self._free, ends)
        return ends - now, False


def test_there_is_no_limit_without_a_reason() -> None:
    fleet = Fleet(by_chance(0.0), agents=1000)
    assert fleet.pace(20.0) > 900
    assert fleet.slots.limit is None
    assert not fleet.slots.full


@pytest.mark.parametrize("seed", range(5))
def test_refusals_by_chance_set_no_limit(seed: int) -> None:
    fleet = Fleet(by_chance(0.05, seed))
    assert set(limits(fleet, 40.0)) == {1_000_000}


@pytest.mark.parametrize("seed", range(5))
def test_refusals_that_come_before_any_answer_cost_next_to_nothing(seed: int) -> None:
    fleet = Fleet(by_chance(0.05, seed, at_once=True))
    assert fleet.pace(40.0) > 0.95 * 200 / (1 + 0.05 / 2)


@pytest.mark.parametrize("seed", range(5))
def test_among_few_requests_a_few_refusals_are_chance(seed: int) -> None:
    fleet = Fleet(by_chance(0.05, seed), agents=20)
    assert fleet.pace(100.0) > 0.97 * 20 * (1 - 0.05) / (1 + 0.05 / 2)


@pytest.mark.parametrize("share", [0.12, 0.2, 0.3])
def test_more_refusals_are_found_to_be_chance_when_fewer_are_sent(share: float) -> None:
    fleet = Fleet(by_chance(share))
    fleet.pace(10.0)
    # Who is refused waits for half a request, and so long nothing else is sent.
    ideal = 200 * (1 - share) / (1 + share / 2)
    assert fleet.pace(40.0) > 0.9 * ideal


def test_when_almost_all_are_refused_few_are_sent() -> None:
    fleet = Fleet(by_chance(0.9, at_once=True))
    fleet.pace(60.0)
    assert (fleet.slots.limit or 1000) < 40


@pytest.mark.parametrize("refuses_after_s", [0.005, 1.0], ids=["at once", "late"])
@pytest.mark.parametrize("takes", [3, 12, 100])
def test_what_the_provider_takes_is_found_soon_and_kept(
    takes: int, refuses_after_s: float
) -> None:
    fleet = Fleet(Full(takes, refuses_after_s), agents=400)
    fleet.pace(10.0)
    later = limits(fleet, 100.0)
    assert takes * 0.8 <= min(later)
    assert max(later) <= takes * 1.4 + 2
    assert fleet.pace(100.0) >= 0.95 * takes


def test_looking_for_more_costs_few_refusals() -> None:
    fleet = Fleet(Full(100), agents=400)
    fleet.pace(30.0)
    before = fleet.refusals
    assert fleet.pace(100.0) > 95
    assert fleet.refusals - before < 0.02 * 100 * 100


def test_a_provider_that_takes_less_and_then_more_is_followed() -> None:
    provider = Full(100)
    fleet = Fleet(provider, agents=400)
    fleet.pace(30.0)
    provider.takes = 30
    fleet.pace(20.0)
    assert fleet.pace(40.0) > 27
    assert (fleet.slots.limit or 1000) <= 36
    provider.takes = 100
    fleet.pace(200.0)
    assert fleet.pace(50.0) > 90


@pytest.mark.parametrize("noise", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("works_on", [8, 20, 50])
def test_a_queue_is_kept_short_and_the_provider_busy(
    works_on: int, noise: float
) -> None:
    fleet = Fleet(Queue(works_on, noise))
    ideal = works_on / 2.718281828 ** (noise**2 / 2)
    fleet.pace(300.0)
    before, later = fleet.answers, limits(fleet, 150.0)
    assert sorted(later)[len(later) // 2] <= 2.5 * works_on
    assert max(later) <= 3.2 * works_on
    assert (fleet.answers - before) / 150.0 >= 0.88 * ideal


def test_a_crowd_is_halved_at_most_and_only_until_the_queue_is_gone() -> None:
    fleet = Fleet(Queue(20))
    falls = [b for a, b in pairwise(limits(fleet, 60.0)) if b < a]
    assert falls[:2] == [100, 50]
    assert len(falls) == 3


def test_a_slow_provider_is_not_taken_for_a_crowded_one() -> None:
    slow = 1.0
    fleet = Fleet(lambda now, running: (slow, False))
    fleet.pace(20.0)
    slow = 4.0
    fleet.pace(60.0)
    assert fleet.slots.limit is None
    assert fleet.pace(40.0) == pytest.approx(50, rel=0.1)


def test_replies_that_vary_by_themselves_set_no_limit() -> None:
    draw = random.Random(4)
    fleet = Fleet(lambda now, running: (draw.lognormvariate(0.0, 0.3), False))
    assert set(limits(fleet, 100.0)) == {1_000_000}


@pytest.mark.parametrize("widest", [5.0, 20.0])
def test_replies_that_vary_widely_are_taken_for_a_queue_once_at_most(
    widest: float,
) -> None:
    draw = random.Random(4)
    fleet = Fleet(lambda now, running: (draw.uniform(1.0, widest), False))
    changes = [pair for pair in pairwise(limits(fleet, 400.0)) if pair[0] != pair[1]]
    assert len(changes) <= 2
    assert fleet.slots.limit is None


@pytest.mark.parametrize("share", [1.0, 0.9])
def test_a_bad_minute_is_soon_forgotten(share: float) -> None:
    draw = random.Random(6)

    def provider(now: float, running: int) -> tuple[float, bool]:
        is_bad = 20 < now < 80 and draw.random() < share
        return (0.01, True) if is_bad else (draw.uniform(0.9, 1.1), False)

    fleet = Fleet(provider)
    fleet.pace(80.0)
    assert (fleet.slots.limit or 1000) < 10
    fleet.pace(40.0)
    assert fleet.pace(20.0) > 180


def test_after_an_outage_what_the_provider_takes_is_found_again_soon() -> None:
    provider = Full(100)
    fleet = Fleet(provider, agents=400)
    fleet.pace(30.0)
    provider.takes = 0
    fleet.pace(10.0)
    assert fleet.slots.limit == 1
    provider.takes = 100
    fleet.pace(20.0)
    assert fleet.pace(10.0) > 85


def test_one_refusal_takes_no_growth_back_and_many_do_so_at_once() -> None:
    fleet = Fleet(Full(12), agents=400)
    fleet.pace(30.0)
    slots, before = fleet.slots, fleet.slots.limit
    grown = next(limit for limit in fleet.run(200.0) if limit != before)
    seen: list[int | None] = []
    for _ in range(8):
        slots.enter(fleet.now)
        slots.refused(fleet.now, fleet.now)
        seen.append(slots.limit)
    assert (before, grown) == (12, 13)
    assert (seen[0], seen[-1]) == (13, 12)


def test_time_with_nothing_on_its_way_is_left_out() -> None:
    slots = Slots(0.0)
    for _ in range(40):
        slots.enter(1000.0)
    for _ in range(20):
        slots.refused(1000.0, 1000.0)
    for _ in range(20):
        slots.answered(1000.0, 1001.0, SIZE)
    assert slots.limit == 20


def test_a_limit_that_nobody_reaches_does_not_grow() -> None:
    fleet = Fleet(Full(12), agents=400)
    fleet.pace(30.0)
    slots, limit = fleet.slots, fleet.slots.limit
    assert limit is not None
    alone = slots.running
    for number in range(300):
        for _ in range(2 if alone > 1 else 1):
            slots.leave(fleet.now + number)
            slots.enter(fleet.now + number)
        slots.answered(fleet.now + number, fleet.now + number + 1, SIZE)
        slots.enter(fleet.now + number + 1)
    assert slots.limit == limit


def test_what_was_sent_before_a_fall_brings_no_second_one() -> None:
    slots = Slots(0.0)
    for _ in range(200):
        slots.enter(0.0)
    seen: set[int | None] = set()
    for number in range(200):
        if number % 2:
            slots.refused(0.0, 1.0)
        else:
            slots.answered(0.0, 1.0, SIZE)
        seen.add(slots.limit)
    assert seen == {None, 150}  # of 200 were 50 refused when it fell


def test_a_model_that_needs_no_time_gets_no_limit() -> None:
    slots = Slots(0.0)
    for number in range(1000):
        slots.enter(0.0)
        if number % 2:
            slots.refused(0.0, 0.0)
        else:
            slots.answered(0.0, 0.0, SIZE)
    assert slots.limit is None


def test_delay_alone_never_leaves_fewer_than_a_handful() -> None:
    fleet = Fleet(Queue(1), agents=1)
    fleet.pace(200.0)
    fleet.join(11)
    later = limits(fleet, 2000.0)
    assert min(later) == 4
    assert later[-1] <= 8
