"""Observers that are quick, slow, blocked or broken; the runs notice nothing."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import trio
import trio.testing

from actors import Reporter, State
from actors._events import Event, RunEnd, RunStart, TextDelta, ToolEnd
from actors.people import _dispatch
from actors.people._dispatch import CAPACITY, Dispatch
from actors.testing._story import story

WAIT_S = 10.0
"""Longer than any machine stalls: a test that waits so long has failed."""


def text(number: int) -> TextDelta:
    return TextDelta(path=("root",), text=str(number))


class Listener(Reporter):
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def on_text(self, event: TextDelta) -> None:
        self.told.append(event.text)


class Blocked(Listener):
    """Holds each event until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Semaphore(0)
        self.let_go = threading.Semaphore(0)

    def on_text(self, event: TextDelta) -> None:
        self.entered.release()
        assert self.let_go.acquire(timeout=WAIT_S)
        super().on_text(event)


class Broken(Reporter):
    """Raises in every hook."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("on_"):
            return super().__getattribute__(name)

        def fail(_: Event) -> None:
            raise self.error

        return fail


@contextmanager
def impatient() -> Iterator[None]:
    """A sender that never waits: what finds no room is dropped at once."""
    patience = _dispatch.PATIENCE_S
    _dispatch.PATIENCE_S = 0.0
    try:
        yield
    finally:
        _dispatch.PATIENCE_S = patience


async def test_events_come_in_order_and_all_of_them_to_a_quick_reporter() -> None:
    listener = Listener()
    dispatch = Dispatch(listener)
    for number in range(CAPACITY):
        dispatch.put(text(number))
    await dispatch.aclose()
    assert listener.told == [str(number) for number in range(CAPACITY)]
    assert dispatch.statistics().shown == CAPACITY
    assert dispatch.statistics().dropped == 0


async def test_hooks_run_in_one_thread_that_is_not_the_senders() -> None:
    threads: set[threading.Thread] = set()

    class Names(Reporter):
        def on_text(self, event: TextDelta) -> None:
            threads.add(threading.current_thread())

    dispatch = Dispatch(Names())
    for number in range(3):
        dispatch.put(text(number))
    await dispatch.aclose()
    (thread,) = threads
    assert thread.daemon
    assert thread.name == "reporter Names"
    assert thread is not threading.current_thread()
    thread.join(WAIT_S)
    assert not thread.is_alive()


async def test_a_reporter_that_wants_no_such_event_costs_no_thread() -> None:
    dispatch = Dispatch(Reporter())
    assert not dispatch.wants(TextDelta)
    for event in story():
        dispatch.put(event)
    assert dispatch._thread is None
    await dispatch.aclose()
    listening = Dispatch(Listener())
    assert listening.wants(TextDelta)
    assert not listening.wants(RunStart)


async def test_a_blocked_reporter_stalls_nobody_and_its_drops_are_counted() -> None:
    blocked = Blocked()
    dispatch = Dispatch(blocked)
    dispatch.put(text(0))
    assert blocked.entered.acquire(timeout=WAIT_S)
    for number in range(1, 10_000):
        dispatch.put(text(number))  # returns although nothing can be shown
    statistics = dispatch.statistics()
    assert statistics.in_hook == "on_text"
    assert statistics.waiting == statistics.peak == CAPACITY
    assert statistics.dropped == 10_000 - 1 - CAPACITY
    blocked.let_go.release(1 + CAPACITY)
    await dispatch.aclose()
    assert blocked.told == [str(number) for number in range(1 + CAPACITY)]
    assert dispatch.statistics().dropped == 10_000 - 1 - CAPACITY


async def test_a_slow_reporter_misses_events_and_sees_the_others_in_order() -> None:
    slow = Blocked()
    dispatch = Dispatch(slow, capacity=2)
    with impatient():
        for number in range(12):
            dispatch.put(text(number))
            if number % 3 == 0:  # a third as quick as its sender
                assert slow.entered.acquire(timeout=WAIT_S)
                slow.let_go.release()
        slow.let_go.release(12)
        await dispatch.aclose()
    statistics = dispatch.statistics()
    numbers = [int(each) for each in slow.told]
    assert numbers == sorted(set(numbers))
    assert statistics.shown == len(numbers)
    assert statistics.shown + statistics.dropped == 12
    assert statistics.dropped > 0
    assert statistics.peak <= 2


async def test_the_end_of_a_run_takes_the_place_of_the_last_event_that_is_none() -> (
    None
):
    class Ends(Blocked):
        def on_run_end(self, event: RunEnd) -> None:
            self.told.append(event.path[0])

    def end(name: str) -> RunEnd:
        return RunEnd(path=(name,), snapshot=State().snapshot())

    blocked = Ends()
    dispatch = Dispatch(blocked, capacity=3)
    dispatch.put(text(0))
    assert blocked.entered.acquire(timeout=WAIT_S)
    with impatient():
        for event in (
            text(1),
            end("a"),
            text(2),
            end("b"),
            text(3),
            end("c"),
            end("d"),
        ):
            dispatch.put(event)
    blocked.let_go.release()
    await dispatch.aclose()
    assert blocked.told == ["0", "a", "b", "c"]
    # Dropped: 3 and d found no room; 2 and 1 made room for b and c.
    assert dispatch.statistics().dropped == 4
    assert dispatch.statistics().peak == 3


async def test_after_it_has_caught_up_a_reporter_misses_nothing_again() -> None:
    blocked = Blocked()
    dispatch = Dispatch(blocked, capacity=1)
    for number in range(3):
        dispatch.put(text(number))
        if number == 0:
            assert blocked.entered.acquire(timeout=WAIT_S)
    assert dispatch.statistics().dropped == 1
    blocked.let_go.release(2)
    assert blocked.entered.acquire(timeout=WAIT_S)
    with dispatch._changed:
        assert dispatch._changed.wait_for(
            lambda: not dispatch._queue or dispatch._patient, WAIT_S
        )
    blocked.let_go.release()
    dispatch.put(text(3))
    assert blocked.entered.acquire(timeout=WAIT_S)
    await dispatch.aclose()
    assert blocked.told == ["0", "1", "3"]


async def test_a_quick_reporter_loses_nothing_of_a_burst() -> None:
    # 20 times what may wait, faster than Python hands the processor over. The patience
    # is longer here than in earnest, for machines that have other things to do.
    listener = Listener()
    patience, _dispatch.PATIENCE_S = _dispatch.PATIENCE_S, WAIT_S
    try:
        dispatch = Dispatch(listener)
        for number in range(20 * CAPACITY):
            dispatch.put(text(number))
    finally:
        _dispatch.PATIENCE_S = patience
    await dispatch.aclose()
    assert listener.told == [str(number) for number in range(20 * CAPACITY)]
    assert dispatch.statistics().peak <= CAPACITY


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(3)])
async def test_a_reporter_that_raises_is_counted_and_logged_once(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    dispatch = Dispatch(Broken(error))
    events = story()
    with caplog.at_level(logging.WARNING):
        for event in events:
            dispatch.put(event)
        await dispatch.aclose()
    statistics = dispatch.statistics()
    assert statistics.failed == statistics.shown == len(events)
    (record,) = caplog.records
    assert record.getMessage() == (
        "Broken.on_run_start raised; more of it is only counted"
    )
    assert record.exc_info is not None
    assert record.exc_info[1] is error


async def test_events_from_many_threads_stay_in_each_threads_order() -> None:
    listener = Listener()
    dispatch = Dispatch(listener, capacity=1000)

    def tell(thread: int) -> None:
        for number in range(50):
            dispatch.put(text(1000 * thread + number))

    threads = [threading.Thread(target=tell, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    await dispatch.aclose()
    told = [int(each) for each in listener.told]
    assert len(told) == 400
    for thread in range(8):
        own = [each for each in told if each // 1000 == thread]
        assert own == sorted(own)


async def test_a_hook_may_tell_events_itself() -> None:
    class Echo(Listener):
        def on_run_start(self, event: RunStart) -> None:
            for number in range(5):
                dispatch.put(text(number))

    echo = Echo()
    dispatch = Dispatch(echo, capacity=2)
    dispatch.put(story()[0])
    await dispatch.aclose()
    statistics = dispatch.statistics()
    assert echo.told == ["0", "1"][: len(echo.told)]
    assert statistics.shown + statistics.dropped == 6


async def test_closing_flushes_and_closing_again_changes_nothing() -> None:
    listener = Listener()
    dispatch = Dispatch(listener)
    await dispatch.aclose()
    dispatch = Dispatch(listener)
    dispatch.put(text(1))
    await dispatch.aclose()
    await dispatch.aclose()
    assert listener.told == ["1"]


async def test_an_event_after_the_end_is_dropped_and_counted() -> None:
    listener = Listener()
    dispatch = Dispatch(listener)
    dispatch.put(text(1))
    await dispatch.aclose()
    dispatch.put(text(2))
    assert listener.told == ["1"]
    assert dispatch.statistics().dropped == 1


async def test_closing_waits_for_a_hook_that_is_at_work() -> None:
    blocked = Blocked()
    dispatch = Dispatch(blocked)
    dispatch.put(text(1))
    assert blocked.entered.acquire(timeout=WAIT_S)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(dispatch.aclose)
        await trio.testing.wait_all_tasks_blocked()
        blocked.let_go.release()
    assert blocked.told == ["1"]


async def test_closing_gives_up_a_hook_that_never_returns_and_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_dispatch, "FLUSH_S", 0.01)
    blocked = Blocked()
    dispatch = Dispatch(blocked)
    for number in range(3):
        dispatch.put(text(number))
    assert blocked.entered.acquire(timeout=WAIT_S)
    thread = dispatch._thread
    assert thread is not None
    await dispatch.aclose()
    assert dispatch.statistics().in_hook == "on_text"
    assert dispatch.statistics().dropped == 2
    blocked.let_go.release()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert blocked.told == ["0"]


async def test_closing_flushes_also_when_cancelled() -> None:
    blocked = Blocked()
    dispatch = Dispatch(blocked)
    for number in range(2):
        dispatch.put(text(number))
    assert blocked.entered.acquire(timeout=WAIT_S)
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(dispatch.aclose)
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
            blocked.let_go.release(2)
    assert blocked.told == ["0", "1"]


async def test_without_a_thread_to_start_events_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_thread(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    listener = Listener()
    dispatch = Dispatch(listener)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        dispatch.put(text(1))
    assert dispatch.statistics().dropped == 1
    dispatch.put(text(2))
    await dispatch.aclose()
    assert listener.told == ["2"]


def test_an_async_hook_is_refused_when_its_class_is_made() -> None:
    with pytest.raises(TypeError, match=r"Late.on_tool_end is async, and nobody"):

        class Late(Reporter):
            async def on_tool_end(  # type: ignore[override] # the fault that is meant
                self, event: ToolEnd
            ) -> None:
                """Never awaited."""


async def test_every_hook_of_the_base_class_takes_its_event() -> None:
    reporter = Reporter()
    hooks = {event.hook for event in story()}
    assert hooks == {name for name in vars(Reporter) if name.startswith("on_")}
    for event in story():
        assert getattr(reporter, event.hook)(event) is None
