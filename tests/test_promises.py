"""Each test that guards a promise has run, in the part of the tests it belongs to."""

import re
from pathlib import Path

import pytest

from tests import ran

PAGE = Path(__file__).parent.parent / "docs" / "pages" / "promises.md"


def guards() -> set[str]:
    """The tests that the page of promises names."""
    return set(re.findall(r"`(test_\w+)`", PAGE.read_text("utf-8")))


@pytest.mark.parametrize("part", ["fast", pytest.param("slow", marks=pytest.mark.slow)])
def test_each_test_that_guards_a_promise_has_run_and_passed(part: str) -> None:
    named = guards()
    assert named
    if not named <= ran.found:
        pytest.skip("only some of the files were asked for")
    asked_for = named & ran.chosen
    assert not asked_for & ran.failed
    assert not asked_for - ran.passed, "chosen, and never ran to its end"


def test_every_promise_names_a_test() -> None:
    sections = PAGE.read_text("utf-8").split("\n### P")[1:]
    assert len(sections) == 14
    assert not [each.partition("\n")[0] for each in sections if "`test_" not in each]
