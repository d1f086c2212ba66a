"""What a terminal knows of the runs: a row for each that lives, and lines to keep.

1. Any event may be missing. A row begins with a run or with its first think, and ends
   with its own end or with that of anything above it.
2. Nothing here grows with the number of ended runs, or looks at all living ones.
3. Only roots tell what they say and do in lines; below them, only failures.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import attrs

from actors._events import (
    ChildEnd,
    ContextChanged,
    Event,
    ModelHappened,
    RunEnd,
    RunStart,
    TextDelta,
    ThinkEnd,
    ThinkStart,
    ToolEnd,
    ToolStart,
)
from protocol import StateSnapshot, Usage

from ._shown import (
    call_text,
    clean,
    content_text,
    one_line,
    time_text,
    usage_text,
)

Path: TypeAlias = tuple[str, ...]

LineKind: TypeAlias = Literal["said", "call", "failed", "note", "end"]

_TEXT_CHARACTERS_MAX = 2000
"""Of text that is still coming: more than the part of a screen that shows it."""

_ARGS_CHARACTERS_MAX = 60

_NAMES_MAX = 6
"""Of a path: where it begins, and where it ends."""

_NOTHING_SPENT = Usage()


@attrs.frozen
class Line:
    """A line for the scrollback."""

    kind: LineKind
    who: str
    text: str


@attrs.define(eq=False)
class Row:
    """A run that lives."""

    path: Path
    name: str
    started: float
    """When its first event came, in seconds of the clock of `Rows.apply`."""
    prompt: str = ""
    parent: "Row | None" = None
    depth: int = 0
    """How many rows stand above it."""
    children: dict[Path, "Row"] = attrs.field(factory=dict[Path, "Row"])
    turns: int = 0
    usage: Usage = _NOTHING_SPENT
    thinking: bool = False
    calls: dict[str, str] = attrs.field(factory=dict[str, str])
    """The calls that run, by id, as text."""
    note: str = ""
    """What keeps the model from answering."""
    text: str = ""
    """The end of the reply that is coming."""

    @property
    def who(self) -> str:
        """Names from the root down to this run."""
        names: list[str] = []
        row: Row | None = self
        while row is not None:
            names.append(row.name)
            row = row.parent
        names.reverse()
        if len(names) > _NAMES_MAX:
            names = [*names[:2], "…", *names[3 - _NAMES_MAX :]]
        return " ▸ ".join(names)

    @property
    def doing(self) -> str:
        """What goes on, in a few words."""
        if self.calls:
            first, *more = self.calls.values()
            return f"{first} and {len(more)} more" if more else first
        if not self.thinking:
            return ""
        return self.note or ("writing" if self.text else "thinking")


class Rows:
    """All runs that a terminal was told of."""

    def __init__(self) -> None:
        self.roots: dict[Path, Row] = {}
        self.living: dict[Path, Row] = {}
        self.done = 0
        self.failed = 0
        self.usage = _NOTHING_SPENT
        """What all thinks cost since no run was living."""
        self.since = 0.0
        """When the first of the runs started."""

    def apply(self, event: Event, now: float) -> list[Line]:
        """Take an event in, and return the lines that it adds to the scrollback."""
        match event:
            case RunStart():
                self._begin(event.path, now, event.agent, event.snapshot)
            case ThinkStart():
                row = self._begin(event.path, now, None, event.snapshot)
                row.thinking, row.note, row.text = True, "", ""
                row.calls.clear()  # all have ended, told or not
            case RunEnd():
                return self._end(event.path, event.error, event.snapshot, now)
            case ChildEnd():
                self._lost(_child_path(event))
            case _:
                row_or_none = self._row_of(event.path)
                if row_or_none is not None:
                    return self._change(row_or_none, event)
        return []

    def _change(self, row: Row, event: Event) -> list[Line]:
        match event:
            case TextDelta():
                row.note = ""
                row.text = (row.text + clean(event.text))[-_TEXT_CHARACTERS_MAX:]
            case ThinkEnd():
                row.thinking, row.note, row.text = False, "", ""
                row.turns += 1
                row.usage += event.reply.usage
                self.usage += event.reply.usage
                return self._told(row, "said", clean(event.reply.text).strip())
            case ToolStart():
                row.calls[event.call.id] = call_text(event.call, _ARGS_CHARACTERS_MAX)
            case ToolEnd():
                return self._result(row, event)
            case ModelHappened():
                text = event.event.message or event.event.kind
                row.note = one_line(text)
                return self._told(row, "note", row.note)
            case ContextChanged():
                return self._told(row, "note", f"context: {event.change.kind}")
            case _:
                pass
        return []

    def _result(self, row: Row, event: ToolEnd) -> list[Line]:
        result = event.result
        called = row.calls.pop(result.call.id, None)
        if called is None:
            called = call_text(result.call, _ARGS_CHARACTERS_MAX)
        said = one_line(content_text(result.content))
        if not result.is_error:
            return self._told(row, "call", f"{called} → {said}")
        return self._told(row, "failed", f"{called} {result.outcome}: {said}")

    def _told(self, row: Row, kind: LineKind, text: str) -> list[Line]:
        """A line of a root, unless it is one of several: their lines would mix."""
        if not text or row.parent is not None or len(self.roots) > 1:
            return []
        return [Line(kind, row.name, text)]

    def _row_of(self, path: Path) -> Row | None:
        """The row of a run, or of the run whose call the path ends in."""
        return self.living.get(path) or self.living.get(path[:-1])

    def _begin(
        self, path: Path, now: float, name: str | None, snapshot: StateSnapshot
    ) -> Row:
        row = self.living.get(path)
        if row is None:
            if not self.living:
                self._forget(now)
            row = Row(path, one_line(name or "agent", 40), now)
            row.prompt = _prompt_of(snapshot)
            row.parent = self.nearest(path[:-1])
            self.living[path] = row
            if row.parent is None:
                self.roots[path] = row
            else:
                row.parent.children[path] = row
                row.depth = row.parent.depth + 1
        return row

    def _forget(self, now: float) -> None:
        """Count from here: nothing was living, so this is another tree."""
        self.done = self.failed = 0
        self.usage = _NOTHING_SPENT
        self.since = now

    def nearest(self, path: Path) -> Row | None:
        """The row that is nearest to the end of a path, seen from the root."""
        for length in range(len(path), 0, -1):
            row = self.living.get(path[:length])
            if row is not None:
                return row
        return None

    def _end(
        self,
        path: Path,
        error: BaseException | None,
        snapshot: StateSnapshot,
        now: float,
    ) -> list[Line]:
        row = self.living.get(path)
        if row is None:
            return []
        crowded = len(self.roots) > 1
        self._lost(path)
        if error is not None:
            self.done -= 1
            self.failed += 1
            problem = one_line(f"failed: {type(error).__name__}: {error}")
            return [
                Line("failed", row.who, f"{problem} ({time_text(now - row.started)})")
            ]
        if row.parent is not None:
            return []
        label = f"{row.prompt}: " if crowded and row.prompt else ""
        turns = "1 turn" if row.turns == 1 else f"{row.turns} turns"
        spent = f"{usage_text(snapshot.usage)} · {time_text(now - row.started)}"
        return [Line("end", row.who, f"{label}{turns} · {spent}")]

    def _lost(self, path: Path) -> None:
        """Take the row away, with all below it whose end was not told."""
        row = self.living.get(path)
        if row is None:
            return
        family = self.roots if row.parent is None else row.parent.children
        del family[path]
        for each in list(preorder([row])):
            del self.living[each.path]
            self.done += 1


def preorder(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows and all below them, each before its children, in start order.

    Looks at no more rows than are taken from it, and a level more.
    """
    waiting = [iter(rows)]
    while waiting:
        row = next(waiting[-1], None)
        if row is None:
            waiting.pop()
            continue
        yield row
        waiting.append(iter(row.children.values()))


def _child_path(event: ChildEnd) -> Path:
    """A child's own path, whether its event names the child or the owner."""
    if event.path[-1] == event.child_id:
        return event.path
    return (*event.path, event.child_id)


def _prompt_of(snapshot: StateSnapshot) -> str:
    """The beginning of what the run was asked last."""
    for message in reversed(snapshot.messages):
        if message.role == "user" and not message.is_notice:
            return one_line(message.text(), 60)
    return ""
