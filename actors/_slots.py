"""How many requests may be on their way at once, learned from refusals and from delay.

There is no limit until there is a reason. What a window shows decides: it lasts as long
as a request usually takes, and has as many outcomes as there are slots. The first of
these that holds is done:

1. *More refusals than chance explains: too many are sent.* The limit becomes what was
   on its way without being refused, on average. When nothing at all was answered, the
   provider is out, which says nothing of how many it takes: the limit is halved.
2. *Replies take TOO_LONG times what they need: they stand in a queue.* The limit
   becomes what fills the provider and no queue, but half of what it was at least.
3. *The limit was reached and nothing was too much: it grows.* It doubles while nothing
   is known; up to twice of what it last fell to, it grows by an eighth, after a rest of
   some windows, which doubles when growing was too much and halves when it was not, and
   is longest when replies take almost too long. Many refusals right after the limit
   grew take it back at once.

Each fall is a trial. If as many are refused with fewer on their way, it was chance; if
replies are no shorter, the provider is slow today and not crowded. Then the limit is
what it was, and more is borne until a fall was right, or refusals are few again.

Sources. What is on its way, times the least delay by the delay now, is what fills a
path without a queue: Little's law, as BBR applies it (Cardwell et al. 2016). Delay as
the sign of a queue: see `_delay`. To rise slowly, more so near where it was too much,
and to fall at once: Chiu and Jain 1989, and CUBIC (RFC 9438).
"""

from __future__ import annotations

from math import inf

import attrs

from ._delay import Delay

CHANCE = 0.1
"""Share of refusals that is taken for chance: providers refuse a few requests at any
load, and sending less would not make them fewer."""

CHANCE_MAX = 0.35
"""Share that a trial may find to be chance; beyond, fewer are sent whatever comes."""

BORNE = 1.5
"""Times what it was a mistake to fall for, this is borne from then on: each mistake
makes the next one rarer."""

CHANCE_COUNT = 2
"""Refusals in a window that never matter. At 5 % by chance, one window of 20 in 400 has
more than both bounds allow."""

SURGE = 0.2
SURGE_COUNT = 4
"""Both bounds right after the limit grew, where the window is not over: they are twice
as wide, as it is looked at with each refusal."""

WINDOW_MIN = 20
"""Outcomes in a window, at least, unless there is a limit and nothing was refused: a
share of fewer is noise."""

WINDOW_MIN_S = 0.001
"""What a window lasts, at least: a model that needs less is no server."""

TOO_LONG = 1.8
"""Times as long as they need that replies may take. Those of one size already differ by
up to this in their tokens."""

LONG = 0.75
"""Share of what is too long; above it the limit grows as slowly as it can."""

NO_BETTER = 0.85
"""Times the delay before a fall, above which the fall was a mistake. It leaves at most
ROOM / TOO_LONG of those on their way, and a queue shrinks with them."""

ROOM = 1.3
"""Slots for each request that a provider without a queue works on: it should never wait
for us."""

CROWD_MIN = 4
"""Delay alone never leaves fewer slots: the queue would be too short to matter."""

REST_MAX = 16
"""Windows between two growths, at most; each costs a few refusals where it fails."""

USUAL_S = 1.0
"""What a request is taken to need before the first was answered."""


@attrs.frozen
class _Trial:
    """A fall that may turn out to be a mistake."""

    before: int | None
    """The limit to go back to then."""
    most: float
    """What made it fall is a mistake above this."""
    of_delay: bool
    """Whether that is the stretch of replies, and not the share of refusals."""


class Slots:
    """Sliding concurrency. Times are in seconds, on the clock that `now` is of."""

    __slots__ = (
        "_answered",
        "_at",
        "_before",
        "_calm",
        "_chance",
        "_compares_from",
        "_delay",
        "_fell_at",
        "_fell_to",
        "_filled_s",
        "_grew",
        "_idle_s",
        "_opened_at",
        "_reached",
        "_refused",
        "_rest",
        "_stretch",
        "_too_long",
        "_trial",
        "_weight",
        "limit",
        "running",
        "usual_s",
    )

    def __init__(self, now: float) -> None:
        self.limit: int | None = None
        self.running = 0
        self.usual_s = USUAL_S
        self._weight = 1.0  # of the next reply in what is usual
        self._delay = Delay()
        self._compares_from = inf
        self._chance = CHANCE
        self._stretch = 1.0
        self._too_long = TOO_LONG
        self._trial: _Trial | None = None
        self._before: int | None = None  # it grew from this one window ago
        self._fell_to: int | None = None
        self._fell_at = -inf
        self._grew = False  # since it fell
        self._rest = 0
        self._calm = 0
        self._at = now
        self._open_window()

    @property
    def full(self) -> bool:
        """Whether no request may start.

        Only asked for one that would: that it could not is a reason to grow.
        """
        if self.limit is None or self.running < self.limit:
            return False
        self._reached = True
        return True

    def enter(self, now: float) -> None:
        """Take a slot."""
        if not self.running:
            self._idle_s += now - self._at
        self.running += 1
        self._filled_s -= now

    def leave(self, now: float) -> None:
        """Give a slot back after what says nothing about the provider."""
        self._at = now
        self.running -= 1
        self._filled_s += now

    def answered(self, started: float, now: float, size: int) -> None:
        """Give a slot back after a reply; its size is as `_delay.size_of` says."""
        self.leave(now)
        took_s = now - started
        self.usual_s += (took_s - self.usual_s) * self._weight
        self._weight = 0.1  # so the last ten or so say what is usual
        if size:
            self._delay.add(size, took_s, counts=started > self._compares_from)
        if started > self._fell_at:  # else it was sent among more
            self._answered += 1
            if self._is_over():
                self._judge()

    def refused(self, started: float, now: float) -> None:
        """Give a slot back after a refusal."""
        self.leave(now)
        self._filled_s -= now - max(started, self._opened_at)
        if started <= self._fell_at:
            return
        self._refused += 1
        surge = SURGE_COUNT + SURGE * (self._answered + self._refused)
        if self._before is not None and self._refused > surge:
            self._fall(self._before)
        elif self._is_over():
            self._judge()

    def _open_window(self) -> None:
        self._opened_at = self._at
        self._answered = self._refused = 0
        self._reached = False
        self._idle_s = 0.0  # with nothing on its way
        # How long each was on its way in this window, summed without the refused: the
        # times when they left less the times when they entered. For those who have not
        # left, or entered before it opened, `_filled` puts in the missing time.
        self._filled_s = -self.running * self._at

    def _is_over(self) -> bool:
        seen = self._answered + self._refused
        if seen < WINDOW_MIN and (self._refused or self.limit is None):
            return False
        if seen < (self.running if self.limit is None else self.limit):
            return False
        return self._busy_s() >= max(self.usual_s, WINDOW_MIN_S)

    def _judge(self) -> None:
        seen = self._answered + self._refused
        share = self._refused / seen
        stretch = self._delay.stretch()
        if stretch is not None:
            self._stretch = stretch
        if share < CHANCE / 2:
            self._chance = CHANCE
        if self._was_mistake(share, stretch):
            return
        if self._refused > CHANCE_COUNT + self._chance * seen:
            self._send_fewer(seen, share)
        elif self._trial is None and not self._try_without_queue(stretch):
            self._grow()
        if stretch is not None or self._compares_from == inf:
            self._compare_anew()
        self._open_window()

    def _was_mistake(self, share: float, stretch: float | None) -> bool:
        """End the trial, if there is one that can end; take a mistake back."""
        trial = self._trial
        value = stretch if trial is not None and trial.of_delay else share
        if trial is None or value is None:
            return False
        self._trial = None
        if value <= trial.most:
            if trial.of_delay:
                self._too_long = TOO_LONG
            return False
        if trial.of_delay:
            self._too_long *= BORNE
            self._delay.forget()
        else:
            self._chance = BORNE * value
        self._set(trial.before)
        return True

    def _send_fewer(self, seen: int, share: float) -> None:
        before, filled = self.limit, self._filled()
        if not self._answered:
            self._fall(max(filled, (before or seen) / 2))
            self._fell_to = None
            self._rest = 0
            return
        self._fall(filled)
        if share <= CHANCE_MAX:
            self._trial = _Trial(before, share / 2, of_delay=False)

    def _try_without_queue(self, stretch: float | None) -> bool:
        """Fall to what works at once, if there is a queue."""
        if stretch is None or stretch <= self._too_long:
            return False
        before, filled = self.limit, self._filled()
        slots = max(CROWD_MIN, filled / stretch * ROOM, filled / 2)
        if slots >= filled:
            return False
        self._fall(slots)
        self._trial = _Trial(before, NO_BETTER * stretch, of_delay=True)
        return True

    def _grow(self) -> None:
        if self._before is not None:
            self._before = None
            self._rest = max(1, self._rest // 2)
        before = self.limit
        if before is None or not self._reached:
            return
        self._calm += 1
        is_long = self._stretch > LONG * self._too_long
        if not is_long and (self._fell_to is None or before >= 2 * self._fell_to):
            self._rest = 0
            self._set(2 * before)
        elif self._calm > (REST_MAX if is_long else self._rest):
            self._set(before + max(1, before // 8))
        else:
            return
        self._before = before
        self._grew = True

    def _fall(self, slots: float) -> None:
        limit = max(1, round(slots))
        assert self.limit is None or limit <= self.limit, "a fall is no rise"
        self._set(limit)
        self._fell_to = limit
        self._fell_at = self._at
        self._compare_anew()
        if self._grew:
            self._rest = min(2 * self._rest, REST_MAX)
        self._rest = max(1, self._rest)
        self._grew = False

    def _set(self, limit: int | None) -> None:
        self.limit = limit
        self._before = None
        self._trial = None
        self._calm = 0
        self._open_window()

    def _compare_anew(self) -> None:
        # Who was sent before may not have stood in the whole queue, or in a longer one.
        self._compares_from = self._at
        self._delay.begin()

    def _filled(self) -> float:
        """Return how many were on their way and not refused, on average.

        More than the limit are those who were sent before it fell.
        """
        filled = (self._filled_s + self.running * self._at) / self._busy_s()
        return filled if self.limit is None else min(filled, self.limit)

    def _busy_s(self) -> float:
        return self._at - self._opened_at - self._idle_s
