"""What no test may leave behind.

1. A test leaves as many living trio tasks as it found.
2. A test leaves no non-daemon thread behind.
3. A test leaves no file descriptor open.
"""

import functools
import gc
import os
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import trio

THREAD_END_TIMEOUT_S = 1.0
FD_FOLDER = Path("/proc/self/fd")


def leaving_no_task(
    test: Callable[..., Awaitable[None]],
) -> Callable[..., Awaitable[None]]:
    """Count inside the run: at its end trio itself has ended all tasks."""

    @functools.wraps(test)
    async def guarded(*args: object, **kwargs: object) -> None:
        before = trio.lowlevel.current_statistics().tasks_living
        await test(*args, **kwargs)
        after = trio.lowlevel.current_statistics().tasks_living
        assert after <= before, f"{after - before} trio tasks outlived the test"

    return guarded


@contextmanager
def no_leaks() -> Generator[None, None, None]:
    """Fail at the end when a thread or a descriptor of the block is left."""
    threads = set(threading.enumerate())
    descriptors = _open_descriptors()
    yield
    left = [each.name for each in threading.enumerate() if _lives(each, threads)]
    assert not left, f"threads outlived the test: {left!r}"
    if len(_open_descriptors()) > len(descriptors):
        gc.collect()  # what is only waiting for the collector is not a leak
    now = _open_descriptors()
    opened = [target for number, target in now.items() if number not in descriptors]
    assert len(now) <= len(descriptors), f"descriptors outlived the test: {opened!r}"


def _lives(thread: threading.Thread, before: set[threading.Thread]) -> bool:
    if thread.daemon or thread in before:
        return False
    thread.join(THREAD_END_TIMEOUT_S)
    return thread.is_alive()


def _open_descriptors() -> dict[str, str]:
    """Number and target of each open descriptor; empty where the system has no list."""
    found: dict[str, str] = {}
    if not FD_FOLDER.is_dir():
        return found
    for name in os.listdir(FD_FOLDER):  # noqa: PTH208 - one listing, no Path objects
        try:
            found[name] = os.readlink(FD_FOLDER / name)  # noqa: PTH115 - text is enough
        except OSError:
            continue  # the descriptor of the listing itself, closed by now
    return found
