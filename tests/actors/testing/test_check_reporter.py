"""The kit for reporters finds what it is there to find."""

import threading
from typing import Any

import pytest

from actors import MemoryStore, Reporter
from actors._events import ChildEnd, RunStart, ToolEnd
from actors.testing import FakeModel, check_model, check_reporter, check_store


def test_a_reporter_that_does_nothing_passes() -> None:
    check_reporter(Reporter)


def test_a_kit_that_is_given_the_thing_itself_says_what_to_write() -> None:
    for kit, thing in (
        (check_reporter, Reporter()),
        (check_model, FakeModel()),
        (check_store, MemoryStore()),
    ):
        wrong: Any = thing
        with pytest.raises(TypeError, match=rf"write {kit.__name__}\(lambda: "):
            kit(wrong)


def test_a_hook_that_always_raises_is_named() -> None:
    class Broken(Reporter):
        def on_tool_end(self, event: ToolEnd) -> None:
            raise ValueError("no")

    with pytest.raises(AssertionError, match=r"Broken.on_tool_end raised ValueError"):
        check_reporter(Broken)


def test_a_reporter_that_needs_every_event_is_found() -> None:
    class Strict(Reporter):
        def __init__(self) -> None:
            self.known: set[str] = set()

        def on_run_start(self, event: RunStart) -> None:
            self.known.add(event.path[-1])

        def on_child_end(self, event: ChildEnd) -> None:
            assert event.child_id in self.known

    with pytest.raises(AssertionError, match="when on_run_start was dropped before"):
        check_reporter(Strict)


def test_a_reporter_that_bears_one_thread_only_is_found() -> None:
    class Single(Reporter):
        def __init__(self) -> None:
            self.thread: threading.Thread | None = None

        def on_run_start(self, event: Any) -> None:
            self.thread = self.thread or threading.current_thread()
            assert self.thread is threading.current_thread()

    with pytest.raises(AssertionError, match="in one of two trees"):
        check_reporter(Single)


def test_a_thread_that_keeps_the_process_alive_is_found() -> None:
    done = threading.Event()

    class Leaky(Reporter):
        def __init__(self) -> None:
            self.thread = threading.Thread(target=done.wait, args=(10,))
            self.thread.start()

    with pytest.raises(AssertionError, match="threads are left that are no daemons"):
        check_reporter(Leaky)
    done.set()
