"""What a docstring says about a function and each of its arguments.

1. The description is what stands before the first section.
2. Three ways to write about arguments are read: Google's `Args:` with indented names,
   numpydoc's underlined `Parameters`, and fields, `:param name: text`.
3. A docstring that follows none of them is a description, and nothing else.
"""

import inspect
import itertools
import re
from collections.abc import Sequence

import attrs

_ARGUMENTS = frozenset({"args", "arguments", "parameters", "params"})
_SECTIONS = _ARGUMENTS | {
    "attributes", "example", "examples", "keyword args", "keyword arguments", "note",
    "notes", "other parameters", "raises", "references", "return", "returns",
    "see also", "warning", "warnings", "warns", "yield", "yields",
}  # fmt: skip

_UNDERLINE = re.compile(r"-{3,}\s*$")
_FIELD = re.compile(r":(\w+)[^:]*:")
_GOOGLE_ITEM = re.compile(r"(?P<names>\w+)\s*(\(.*?\))?\s*:(?P<text>.*)")
_NUMPY_ITEM = re.compile(r"(?P<names>\w+(\s*,\s*\w+)*)\s*(:.*)?$(?P<text>)")
_FIELD_ITEM = re.compile(r":(param|arg|argument)\s[^:]*?(?P<names>\w+)\s*:(?P<text>.*)")


@attrs.frozen
class Docstring:
    """A docstring, read."""

    description: str
    """What the function does: all that stands before the first section."""
    arguments: dict[str, str]
    """What each argument means, by name, on one line; only those it speaks of."""


def read_docstring(text: str | None) -> Docstring:
    """Read a docstring as Python keeps it, indented as it stands in the source."""
    lines = inspect.cleandoc(text or "").splitlines()
    heads = [i for i in range(len(lines)) if _is_head(lines, i)]
    arguments: dict[str, str] = {}
    for head, end in itertools.pairwise([*heads, len(lines)]):
        arguments |= _arguments_in(lines[head:end])
    description = "\n".join(lines[: heads[0]] if heads else lines)
    return Docstring(description.strip(), arguments)


def _is_head(lines: Sequence[str], number: int) -> bool:
    """Whether a section begins on this line."""
    line = lines[number].rstrip()
    if not line or line[0].isspace():
        return False
    below = lines[number + 1] if number + 1 < len(lines) else ""
    if _UNDERLINE.match(below) or _FIELD.match(line):
        return True
    return line.endswith(":") and line[:-1].strip().lower() in _SECTIONS


def _arguments_in(section: Sequence[str]) -> dict[str, str]:
    """Give what a section says about arguments; nothing if it is about others."""
    head = section[0].rstrip()
    if _FIELD.match(head):
        return _items(section, _FIELD_ITEM)
    if head.rstrip(":").strip().lower() not in _ARGUMENTS:
        return {}
    if head.endswith(":"):
        return _items(section[1:], _GOOGLE_ITEM)
    return _items(section[2:], _NUMPY_ITEM)


def _items(lines: Sequence[str], item: re.Pattern[str]) -> dict[str, str]:
    """Read items that begin at the first one's indent and go on deeper than that."""
    filled = [line for line in lines if line.strip()]
    base = _indent(filled[0]) if filled else 0
    told: dict[str, list[str]] = {}
    names: list[str] = []
    for line in filled:
        begun = item.match(line.strip()) if _indent(line) == base else None
        if begun:
            names = re.split(r"\s*,\s*", begun["names"])
            told |= {name: [] for name in names}
        for name in names:
            told[name] += (begun["text"] if begun else line).split()
    return {name: " ".join(words) for name, words in told.items() if words}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
