"""Guards around every test, and the settings of Hypothesis.

1. A test leaves as many living trio tasks as it found.
2. A test leaves no non-daemon thread behind.
3. A test leaves no file descriptor open.
"""

import functools
import gc
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
import trio

SLOW_TIMEOUT_S = 900
THREAD_END_TIMEOUT_S = 1.0
FD_FOLDER = Path("/proc/self/fd")

# The same examples in every run: a red test must be red again on the next try.
hypothesis.settings.register_profile(
    "deterministic", derandomize=True, database=None, deadline=None
)
hypothesis.settings.load_profile("deterministic")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_TIMEOUT_S))
        if inspect.iscoroutinefunction(item.obj) and "nursery" not in item.fixturenames:
            item.obj = _leaving_no_task(item.obj)


def _leaving_no_task(
    test: Callable[..., Awaitable[None]],
) -> Callable[..., Awaitable[None]]:
    """The count is taken inside the run: after it trio itself has ended all tasks.

    The `nursery` fixture is exempt, for it holds background tasks by design.
    """

    @functools.wraps(test)
    async def guarded(*args: object, **kwargs: object) -> None:
        before = trio.lowlevel.current_statistics().tasks_living
        await test(*args, **kwargs)
        after = trio.lowlevel.current_statistics().tasks_living
        assert after <= before, f"{after - before} trio tasks outlived the test"

    return guarded


@pytest.fixture(autouse=True)
def leak_guard() -> Iterator[None]:
    threads = set(threading.enumerate())
    descriptors = _open_descriptors()
    yield
    left = [thread.name for thread in threading.enumerate() if _lives(thread, threads)]
    assert not left, f"threads outlived the test: {left!r}"
    if len(_open_descriptors()) <= len(descriptors):
        return
    gc.collect()  # what is only waiting for the collector is not a leak
    opened = _open_descriptors().keys() - descriptors.keys()
    assert len(_open_descriptors()) <= len(descriptors), (
        "file descriptors outlived the test: "
        f"{[_open_descriptors().get(number) for number in sorted(opened)]!r}"
    )


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
