"""Which tests were found, chosen and passed in this session, by name."""

import pytest

LAST = "test_promises.py"
"""Its tests look at what became of the others, and so run behind them."""

found: set[str] = set()
chosen: set[str] = set()
passed: set[str] = set()
failed: set[str] = set()


def name_of(nodeid: str) -> str:
    """A test's name, whatever its parameters are."""
    return nodeid.rpartition("::")[2].partition("[")[0]


def note_found(items: list[pytest.Item]) -> None:
    found.update(name_of(item.nodeid) for item in items)
    items.sort(key=lambda item: item.path.name == LAST)


def note_chosen(session: pytest.Session) -> None:
    chosen.update(name_of(item.nodeid) for item in session.items)


def note_report(report: pytest.TestReport) -> None:
    if report.failed:
        failed.add(name_of(report.nodeid))
    elif report.when == "call" and report.passed:
        passed.add(name_of(report.nodeid))
