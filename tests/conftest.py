"""The guards around every test, and the settings of Hypothesis."""

import inspect
import signal
from collections.abc import Iterator

import hypothesis
import pytest
import trio

from actors._sync import from_plain
from tests import ran
from tests.leaks import leaving_no_task, no_leaks

SLOW_TIMEOUT_S = 900

# Whoever starts the tests in the background of a script has Ctrl+C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run: a red test must be red again on the next try.
hypothesis.settings.register_profile(
    "deterministic", derandomize=True, database=None, deadline=None
)
hypothesis.settings.load_profile("deterministic")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ran.note_found(items)
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_TIMEOUT_S))
        # The `nursery` fixture holds background tasks by design.
        if inspect.iscoroutinefunction(item.obj) and "nursery" not in item.fixturenames:
            item.obj = leaving_no_task(item.obj)


def pytest_collection_finish(session: pytest.Session) -> None:
    ran.note_chosen(session)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    ran.note_report(report)


@pytest.fixture(scope="session", autouse=True)
def plain_side() -> None:
    """Start the process's one trio thread for plain code: no test's leak."""
    from_plain(trio.lowlevel.checkpoint)


@pytest.fixture(autouse=True)
def leak_guard() -> Iterator[None]:
    with no_leaks():
        yield
