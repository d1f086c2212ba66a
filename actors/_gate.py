"""The gate: how many requests of one model key are on their way at once.

1. There is one gate for each key in a trio run, shared by all its agents.
2. Unlimited until refusals or delays say how many the provider takes: see `_slots`.
3. After a Retry-After nobody sends before it is over, and then not all at once.
4. Who waits, for a turn or before another try, holds no slot and leaves at a cancel.
5. Turns come in the order of arrival, but who was refused by chance goes first: it came
   earlier. After a Retry-After it does not: one request would test all the pauses.
6. An answer ends the wait before another try for the longest waiting one, when nobody
   is in the row: the provider has room for just one more.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from math import inf
from typing import TYPE_CHECKING

import attrs
import trio

from protocol import ModelEvent, ProviderError, RateLimitError
from protocol._turn_rules import check_reply

from ._delay import size_of
from ._pace import Pace
from ._slots import Slots

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol import Reply

    from .models._model import Model, OnEvent, OnText, Request

CHANCE_WAIT = 0.1
"""The wait before the second try, in times of what a request takes: one refusal is
chance, and then waiting gains nothing."""

USUAL_MIN_S = 0.05
USUAL_MAX_S = 1.0
"""What a request counts as taking, for waits: no refusal that comes at once is answered
by a hail of tries, and no model that thinks for minutes makes others wait for one."""

BACK_OFF_MAX_S = 30.0
"""The longest wait before another try when the provider names none."""

BACK_OFF_GROWTH = 4.0
"""The wait before the third try is as long as a request takes; growing fast from there,
few tries are wasted on an overload that stays."""

SPREAD = 0.1
"""After a pause those who waited start over this share of it, one by one: all at once
they would be refused again."""

SPREAD_MAX_S = 5.0
"""A long pause is spread over no more: the limit finds out the rest."""

TOKENS_WEIGHT = 0.2
"""Of the next reply in what is usual: about the last five say what one will need."""

_gates: trio.lowlevel.RunVar[dict[str, Gate]] = trio.lowlevel.RunVar("actors.gates")


async def respond(
    model: Model,
    request: Request,
    on_text: OnText | None,
    on_event: OnEvent,
    may_start: Callable[[], None] | None = None,
) -> Reply:
    """Ask the model through the gate of its key, and again after what may pass.

    A failure may pass when the provider refused for now (429), failed itself (5xx), or
    the error says so (`transient`); once text was shown, nothing is asked again. Each
    further try is told to `on_event` (kind `retry`), and so is a wait because of a
    Retry-After that somebody else got (kind `wait`).

    When nobody has to wait there is no checkpoint beside those of `model.arespond`. A
    cancel ends any wait and any request at once and frees the slot.

    ``may_start`` is called when nothing stands between the request and the model any
    more, once; what it raises goes to the caller, and the model is not asked.

    Raises:
        ProviderError: The failure of the last try.
        TypeError: The model answered with what could not be recorded.
    """
    gate = gate_for(model)
    shown = None if on_text is None else _Shown(on_text)
    tries = 0
    goes_first = False
    while True:
        started = gate.enter_nowait()
        if started is None:
            started = await gate.enter(None if tries else on_event, goes_first)
        try:
            if may_start is not None and not tries:
                may_start()
            reply = await model.arespond(request, shown, on_event)
            check_reply(reply)
        except BaseException as error:
            # One handler: each that a Cancelled passes costs as much as a commit.
            gate.failed(started, error)
            if not isinstance(error, ProviderError):
                raise
            failure = error
        else:
            gate.answered(started, reply)
            return reply
        if not _may_pass(failure) or tries >= model.retries or (shown and shown.any):
            raise failure
        wait_s = gate.wait_s(failure, tries)
        tries += 1
        on_event(_retry(failure, tries, wait_s))
        goes_first = not failure.retry_after_s
        if goes_first:  # else the gate itself makes it wait
            await gate.back_off(wait_s)


def gate_for(model: Model) -> Gate:
    """Return the gate of the model's key in this trio run."""
    try:
        gates = _gates.get()
    except LookupError:
        gates = dict[str, Gate]()
        _gates.set(gates)
    key = model.key or model.name
    gate = gates.get(key)
    if gate is None:
        gate = gates[key] = Gate(key, model)
    return gate


@attrs.frozen(kw_only=True)
class GateStatistics:
    """A picture of a gate."""

    key: str
    """Whose requests go through it."""
    limit: int | None
    """Requests that may be on their way at once; None: any number."""
    running: int
    """Requests that are on their way."""
    waiting: int
    """Requests that wait for their turn; those before another try not counted."""
    paused_s: float
    """Seconds until the provider wants to be asked again; 0.0: now."""
    sent: int
    """Requests sent so far."""
    refused: int
    """Of these, those that were refused or failed in a way that may pass."""


class Gate:
    """What agents of one model key share; made by `gate_for` alone."""

    def __init__(self, key: str, model: Model) -> None:
        self._time = trio.lowlevel.current_clock().current_time
        now = self._time()
        requests, tokens = model.requests_per_minute, model.tokens_per_minute
        self.key = key
        self._slots = Slots(now)
        self._adapts_to_delay = model.adapts_to_delay
        self._requests = None if requests is None else Pace(requests, now)
        self._tokens = None if tokens is None else Pace(tokens, now)
        self._is_paced = requests is not None or tokens is not None
        self._usual_tokens = 0.0  # of one request, as seen lately
        self._open_at = -inf
        self._spread_s = 0.0  # not zero from a Retry-After to the first start after it
        self._gap_s = 0.0  # twice what lies between two starts, on average
        self._to_spread = 0  # of those who waited for the end of a pause, who still do
        self._first: OrderedDict[_Waiter, None] = OrderedDict()
        self._waiting: OrderedDict[_Waiter, None] = OrderedDict()
        self._backing_off: OrderedDict[_Waiter, None] = OrderedDict()
        self._sent = 0
        self._refused = 0

    def statistics(self) -> GateStatistics:
        """Return how it stands now."""
        return GateStatistics(
            key=self.key,
            limit=self._slots.limit,
            running=self._slots.running,
            waiting=len(self._waiting) + len(self._first),
            paused_s=max(0.0, self._open_at - self._time()),
            sent=self._sent,
            refused=self._refused,
        )

    def enter_nowait(self) -> float | None:
        """Take a slot if there is one and nobody waits; gives the time, else None."""
        now = self._time()
        slots = self._slots
        if slots.limit is not None or self._is_paced or self._open_at > now:
            if self._waiting or self._first or self._free_at(now) > now:
                return None
            self._take(now)
            return now
        # Nothing bounds anything, so nobody waits.
        slots.enter(now)
        self._sent += 1
        return now

    async def enter(self, on_event: OnEvent | None, goes_first: bool) -> float:
        """Take a slot in order, where `enter_nowait` gave none; gives the time.

        Args:
            on_event: Told of a wait for the provider, if anybody is to be told.
            goes_first: Whether only others of this kind go before it.
        """
        now = self._time()
        if self._spread_s and self._open_at > now and on_event is not None:
            on_event(_wait(self._open_at - now))
        waiter = _Waiter()
        row = self._first if goes_first else self._waiting
        row[waiter] = None
        try:
            while (at := self._turn_of(waiter)) > self._time():
                with trio.move_on_at(at):
                    await waiter.wait()
            now = self._time()
            self._take(now)
        finally:
            del row[waiter]
            self._wake()
        return now

    def answered(self, started: float, reply: Reply) -> None:
        """Give the slot back, after a reply to what was sent then."""
        now = self._time()
        size = size_of(reply) if self._adapts_to_delay else 0
        self._slots.answered(started, now, size)
        if self._tokens is not None:
            tokens = reply.usage.total_tokens
            self._tokens.take(tokens - self._usual_tokens, now)
            weight = TOKENS_WEIGHT if self._usual_tokens else 1.0
            self._usual_tokens += (tokens - self._usual_tokens) * weight
        if self._waiting or self._first:
            self._wake()
        elif self._backing_off:
            self._backing_off.popitem(last=False)[0].wake()

    def failed(self, started: float, error: BaseException) -> None:
        """Give the slot back, after whatever else came of what was sent then."""
        now = self._time()
        if isinstance(error, ProviderError) and _may_pass(error):
            self._refused += 1
            self._slots.refused(started, now)
            if error.retry_after_s:
                self._pause(error.retry_after_s, now)
        else:
            self._slots.leave(now)
        if self._waiting or self._first:
            self._wake()

    def _pause(self, pause_s: float, now: float) -> None:
        if now + pause_s > self._open_at:
            self._open_at = now + pause_s
            self._spread_s = min(SPREAD * pause_s, SPREAD_MAX_S)
            self._to_spread = 0

    def wait_s(self, error: ProviderError, tries: int) -> float:
        """Return how long to wait before another try, with jitter if it is ours."""
        if error.retry_after_s:
            return error.retry_after_s
        usual_s = min(max(self._slots.usual_s, USUAL_MIN_S), USUAL_MAX_S)
        times = BACK_OFF_GROWTH ** (tries - 1) if tries else CHANCE_WAIT
        return min(usual_s * times, BACK_OFF_MAX_S) * random.uniform(0.5, 1.0)

    async def back_off(self, wait_s: float) -> None:
        """Wait before another try, until an answer to somebody else ends it."""
        waiter = _Waiter()
        self._backing_off[waiter] = None
        try:
            with trio.move_on_after(wait_s):
                await waiter.wait()
        finally:
            self._backing_off.pop(waiter, None)

    def _free_at(self, now: float) -> float:
        """Return when a request may start that is the first in the row."""
        if self._slots.full:
            return inf
        at = self._open_at
        if self._requests is not None:
            at = max(at, self._requests.ready_at(1.0, now))
        if self._tokens is not None:
            at = max(at, self._tokens.ready_at(self._usual_tokens, now))
        return at

    def _turn_of(self, waiter: _Waiter) -> float:
        first = next(iter(self._first or self._waiting))
        return self._free_at(self._time()) if waiter is first else inf

    def _take(self, now: float) -> None:
        self._slots.enter(now)
        self._sent += 1
        if self._requests is not None:
            self._requests.take(1.0, now)
        if self._tokens is not None:
            self._tokens.take(self._usual_tokens, now)
        if self._spread_s:  # the first after a pause sets the pace for those behind
            self._to_spread = len(self._waiting) + len(self._first)
            self._gap_s = 2 * self._spread_s / max(1, self._to_spread)
            self._spread_s = 0.0
        if self._to_spread:
            self._to_spread -= 1
            self._open_at = now + random.uniform(0.0, self._gap_s)

    def _wake(self) -> None:
        for waiter in self._first or self._waiting:
            waiter.wake()
            return


class _Waiter:
    """Somebody in the row."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = trio.Event()

    async def wait(self) -> None:
        await self._event.wait()
        self._event = trio.Event()

    def wake(self) -> None:
        self._event.set()


class _Shown:
    """Shows text, and remembers that it did."""

    __slots__ = ("_on_text", "any")

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self.any = False

    def __call__(self, text: str) -> None:
        self.any = True
        self._on_text(text)


def _may_pass(error: ProviderError) -> bool:
    if error.transient or isinstance(error, RateLimitError):
        return True
    return (error.status or 0) >= 500


def _retry(error: ProviderError, tries: int, wait_s: float) -> ModelEvent:
    data = {"try": tries, "wait_s": round(wait_s, 3), "status": error.status}
    message = f"asking again within {wait_s:.1f} s: {error}"
    return ModelEvent(kind="retry", message=message, data=data)


def _wait(wait_s: float) -> ModelEvent:
    message = f"waiting {wait_s:.1f} s: the provider asked for a pause"
    return ModelEvent(kind="wait", message=message, data={"wait_s": round(wait_s, 3)})
