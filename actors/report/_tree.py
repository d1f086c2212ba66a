"""The States below some roots as rows, parents first; one State in memory at a time."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import attrs

from actors import State, Store, StoreDamaged
from protocol import HistoryEntry, Usage
from protocol._entry import NO_USAGE
from protocol._lines import said
from protocol._reading import own_usage

from ._status import status_of
from ._timeline import Span, spans_of

TEXT_CHARACTERS_MAX = 4_000
"""Of one entry: enough to see what was said; the store has it whole."""

TITLE_CHARACTERS_MAX = 100


class Line(NamedTuple):
    """One entry, for a person."""

    at: float
    """POSIX seconds."""
    turn: int
    kind: str
    text: str


@attrs.define(kw_only=True)
class Row:
    """One State of the tree."""

    id: str
    parent: int | None
    """The place of its parent among the rows."""
    name: str = "-"
    """The agent that ran it last."""
    status: str = "missing"
    """done, failed, stopped, cancelled, cut off, damaged or missing."""
    why: str = ""
    """How it ended, in words."""
    title: str = ""
    """The beginning of its prompt."""
    turns: int = 0
    own: dict[str, Usage] = attrs.field(factory=dict[str, Usage])
    """What its own requests used, by model."""
    total: Usage = NO_USAGE
    """What it and its subtree used."""
    runs: list[tuple[float, float]] = attrs.field(factory=list[tuple[float, float]])
    """Begin and end of each of its runs, POSIX seconds."""
    spans: list[Span] = attrs.field(factory=list[Span])
    lines: list[Line] = attrs.field(factory=list[Line])


def read_rows(store: Store, roots: Iterable[str]) -> Iterator[Row]:
    """A row for each State at and below the roots, each before its children.

    A State that is missing or damaged has a row that says so.

    Raises:
        TypeError: the store works only asynchronously.
        OSError: the store cannot be read.
    """
    place = 0
    for root in roots:
        waiting: list[tuple[str, int | None, str | None]] = [(root, None, None)]
        while waiting:
            state_id, parent, outcome = waiting.pop()
            row = Row(id=state_id, parent=parent)
            children = _fill(store, row, outcome)
            yield row
            waiting += [(child, place, how) for child, how in reversed(children)]
            place += 1


def _fill(store: Store, row: Row, outcome: str | None) -> list[tuple[str, str | None]]:
    """Read what a row says; give the children, each with how its call ended."""
    try:
        state = store.load(row.id)
    except LookupError:
        row.why = "the store has no such State"
        return []
    except (StoreDamaged, ValueError) as damage:
        row.status, row.why = "damaged", str(damage)
        return []
    history = state.history
    row.turns, row.total = state.turn, state.usage
    row.spans = spans_of(history)
    row.lines = [_line(entry) for entry in history]
    row.own, row.runs = dict(own_usage(history).by_model), _runs(history)
    row.title = _title(state)
    row.name = _agent_name(history)
    row.status, row.why = status_of(state, outcome)
    return _children(store, state, row.spans)


def _agent_name(history: Iterable[HistoryEntry]) -> str:
    name = "-"
    for entry in history:
        if entry.kind == "run_start":
            name = entry.content.name or "-"
    return name


def _title(state: State) -> str:
    text = state.messages[0].text() if state.messages else ""
    return " ".join(text[: 4 * TITLE_CHARACTERS_MAX].split())[:TITLE_CHARACTERS_MAX]


def _line(entry: HistoryEntry) -> Line:
    text = said(entry)
    if entry.kind == "model_reply":
        calls = [f"{call.name} {dict(call.args)}" for call in entry.content.tool_calls]
        text = "\n→ ".join([entry.content.text, *calls]).strip()
    if len(text) > TEXT_CHARACTERS_MAX:
        more = len(text) - TEXT_CHARACTERS_MAX
        text = f"{text[:TEXT_CHARACTERS_MAX]}… ({more:,} more characters)"
    return Line(entry.at.timestamp(), entry.turn, entry.kind, text)


def _runs(history: Iterable[HistoryEntry]) -> list[tuple[float, float]]:
    """Begin and end of each run; what people add between two belongs to neither."""
    runs: list[tuple[float, float]] = []
    for entry in history:
        at = entry.at.timestamp()
        if entry.kind in ("run_start", "graph_start"):
            runs.append((at, at))
        elif runs and entry.kind not in ("user", "notice", "answer", "extra_data"):
            runs[-1] = runs[-1][0], at
    return runs


def _children(
    store: Store, state: State, spans: Iterable[Span]
) -> list[tuple[str, str | None]]:
    """The children of a State in order, each with how its call ended."""
    found: dict[str, str | None] = {}
    for span in sorted(spans, key=lambda span: span.start):
        found |= dict.fromkeys(span.child_ids, span.outcome)
    for entry in state.history:
        if entry.kind == "child_end":
            found.setdefault(entry.content.child_id, entry.content.outcome)
        elif entry.kind == "node_start" and entry.child_id is not None:
            found.setdefault(entry.child_id, None)
    if state.phase == "calling":  # the entries that name these were never written
        for saved in store.list(parent=state.id, limit=10_000):
            found.setdefault(saved.id, None)
    return list(found.items())
