"""The tasks of a fleet: one JSON object a line.

1. A line that is no task is named with its number and its fault, and the rest runs.
2. Each id stands for one State; a line that repeats one is the line at fault.
3. Empty lines are nothing. A member that no task has is a fault: mistyped, it would be
   lost in silence.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeGuard

import attrs
import msgspec

from protocol._ids import check_state_id
from protocol._json import freeze

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_decode = msgspec.json.Decoder().decode


@attrs.frozen(kw_only=True)
class Task:
    """One line: what one State starts from."""

    id: str
    """The State's id, in the store and in the results."""
    prompt: str
    """The first user message."""
    extra_data: dict[str, Any] | None = None
    """The State's extra data."""


_MEMBERS = tuple(field.name for field in attrs.fields(Task))


@attrs.frozen
class BadLine:
    """A line that is no task."""

    number: int
    """Counted from 1."""
    fault: str
    """What is wrong with it, in one clause."""


@attrs.frozen
class Tasks:
    """What a file of tasks holds."""

    tasks: list[Task]
    """The good lines, in order."""
    bad: list[BadLine]
    """The others, in order."""


def read_tasks(path: Path) -> Tasks:
    """Read a file of tasks.

    Raises:
        OSError: the file cannot be read.
    """
    found = Tasks([], [])
    lines: dict[str, int] = {}
    for number, line in _lines(path):
        try:
            task = _task(line, lines)
        except (TypeError, ValueError, RecursionError) as fault:
            found.bad.append(BadLine(number, _told(fault)))
            continue
        lines[task.id] = number
        found.tasks.append(task)
    return found


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            text = line.removeprefix(_BYTE_ORDER_MARK).strip()
            if text:
                yield number, text


def _task(line: bytes, lines: Mapping[str, int]) -> Task:
    """The task of a line; ``lines`` has the ids before it."""
    found: object = _decode(line)
    if not _is_object(found):
        raise TypeError(f"a task is an object, not {found!r:.60}")
    for name in ("id", "prompt"):
        if name not in found:
            raise ValueError(f'there is no "{name}"')
    for name in found:
        if name not in _MEMBERS:
            raise ValueError(
                f'a task has no "{name:.60}": there are {", ".join(_MEMBERS)}; what is '
                f"yours stands in extra_data"
            )
    state_id, prompt = check_state_id(found["id"]), found["prompt"]
    extra_data = found.get("extra_data")
    if not isinstance(prompt, str) or not prompt:
        raise TypeError(f'"prompt" is a text, not {prompt!r:.60}')
    if extra_data is not None and not _is_object(extra_data):
        raise TypeError(f'"extra_data" is an object, not {extra_data!r:.60}')
    freeze(extra_data, "extra_data")
    if state_id in lines:
        raise ValueError(f"id {state_id!r} stands on line {lines[state_id]} too")
    return Task(id=state_id, prompt=prompt, extra_data=extra_data)


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _told(fault: Exception) -> str:
    if isinstance(fault, msgspec.DecodeError):
        return f"not JSON: {fault}"
    if isinstance(fault, UnicodeDecodeError):
        return "not JSON: not UTF-8"
    if isinstance(fault, RecursionError):
        return "not JSON that can be kept: nested too deeply"
    return str(fault)
