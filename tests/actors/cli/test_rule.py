import textwrap
import warnings

import pytest

from actors.cli._rule import Finding, examine

SOURCE = b'''"""A module."""

class Open:
    def long(self):
        """Says so."""
        def inner():
            return 1
        return inner

async def _private():
    pass'''


def test_the_rule_counts_lines_functions_and_classes() -> None:
    found = examine(SOURCE)
    assert found == Finding(
        lines=11,
        functions=3,
        classes=1,
        undocumented=2,  # Open and inner
        longest="long",
        longest_lines=5,
    )


def test_an_empty_file_has_no_lines_and_no_longest_function() -> None:
    assert examine(b"") == Finding()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (b"def :", "at line 1"),
        (b"x = '\xff'", "not Python"),
        (b"x = '\x00'", "null bytes"),
        (b"# coding: nonsense\n", "nonsense"),
        (b"(" * 5_000, "not Python"),
    ],
)
def test_what_is_not_python_is_a_finding_with_its_reason(
    source: bytes, reason: str
) -> None:
    found = examine(source)
    assert found.fault is not None
    assert reason in found.fault
    assert found == Finding(fault=found.fault)


def test_the_warnings_of_a_file_stay_its_own() -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        examine(textwrap.dedent(r"x = '\d'").encode())
    assert not shown
