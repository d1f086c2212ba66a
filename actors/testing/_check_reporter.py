"""`check_reporter`: what every Reporter must bear, the conformance kit."""

import threading
from collections.abc import Callable, Iterable

from actors._events import Event
from actors.people import Reporter

from ._maker import check_maker
from ._story import story


def check_reporter(make_reporter: Callable[[], Reporter]) -> None:
    """Check that a reporter bears whatever a tree of runs may tell it.

    It is told a story of two runs in which every hook occurs: whole; with each event
    missing once, as when the queue was full; each event alone; and two such trees at
    once from two threads. No hook may raise, and no thread that would keep the process
    alive may be left.

    Args:
        make_reporter: Called without arguments, some forty times, for a new reporter.

    Raises:
        AssertionError: naming the hook, what it raised, and what it had been told.
        TypeError: ``make_reporter`` makes nothing.
    """
    check_maker("check_reporter", make_reporter)
    before = {each for each in threading.enumerate() if not each.daemon}
    events = story()
    _tell(make_reporter(), events, "in a whole story")
    for index, event in enumerate(events):
        rest = (*events[:index], *events[index + 1 :])
        _tell(make_reporter(), rest, f"when {event.hook} was dropped before")
        _tell(make_reporter(), [event], "when nothing came before")
    _tell_twice(make_reporter())
    left = {each for each in threading.enumerate() if not each.daemon} - before
    assert not left, f"threads are left that are no daemons: {left!r}"


def _tell(reporter: Reporter, events: Iterable[Event], when: str) -> None:
    for event in events:
        hook = f"{type(reporter).__name__}.{event.hook}"
        try:
            getattr(reporter, event.hook)(event)
        except Exception as error:
            raise AssertionError(
                f"{hook} raised {error!r} {when}: {event!r}"
            ) from error


def _tell_twice(reporter: Reporter) -> None:
    """Tell two trees at once, from this thread and another one."""
    faults: list[AssertionError] = []

    def tell_other() -> None:
        try:
            _tell(reporter, story("other"), "in one of two trees")
        except AssertionError as fault:
            faults.append(fault)

    thread = threading.Thread(target=tell_other)
    thread.start()
    try:
        _tell(reporter, story(), "in one of two trees")
    finally:
        thread.join()
    for fault in faults:
        raise fault
