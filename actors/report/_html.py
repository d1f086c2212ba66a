"""The report as one file: the rows of a tree, and the histories behind them.

1. Histories are packed in chunks that the page unpacks when one is asked for, so that
   10,000 of them are a few megabytes.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from actors import Store
from protocol import Usage
from protocol._entry import NO_USAGE

from ._clock import Clock
from ._once import Once
from ._page import encode, packed, write_page
from ._tree import Line, Row, read_rows

CHUNK_AGENTS = 100
"""Histories packed together: they share words, and one click unpacks them all."""


def write_report(
    store: Store, roots: Iterable[str], path: Path, *, title: str = "callboard"
) -> int:
    """Write what the States at and below some roots did, as one HTML file.

    Args:
        store: Where the States are.
        roots: Their ids, in the order in which they are shown.
        path: The file; one that is there is replaced whole.
        title: What the page is called.

    Returns:
        How many States it shows.

    Raises:
        TypeError: the store works only asynchronously.
        OSError: the store cannot be read, or the file not written.
    """
    rows: list[Row] = []
    chunks: list[bytes] = []
    together: list[list[Line]] = []
    for row in read_rows(store, roots):
        rows.append(row)
        together.append(row.lines)
        row.lines = []
        if len(together) == CHUNK_AGENTS:
            chunks.append(packed(together))
            together = []
    chunks.append(packed(together))
    write_page(path, "tree", title, _data(title, rows), chunks)
    return len(rows)


def _data(title: str, rows: list[Row]) -> bytes:
    """Everything but the histories, as JSON."""
    clock = Clock(run for row in rows for run in row.runs)
    names, places = Once[str](), {row.id: place for place, row in enumerate(rows)}
    agents = [_agent(row, clock, names, places) for row in rows]
    return encode(
        {
            "title": title,
            "chunk": CHUNK_AGENTS,
            "length": _ms(clock.length),
            "pieces": [[p.start, p.end, _ms(p.at)] for p in clock.pieces],
            "agents": agents,
            "words": names.values,
        }
    )


def _agent(
    row: Row, clock: Clock, names: Once[str], places: dict[str, int]
) -> dict[str, Any]:
    spans: list[int] = []
    for span in sorted(row.spans, key=lambda span: span.start):
        start = clock.place(span.start)
        child = places.get(span.child_ids[0], -1) if span.child_ids else -1
        kind, outcome = names.number(span.kind), names.number(span.outcome)
        label = names.number(span.label[:200])
        end = clock.place(span.end)
        spans += [kind, _ms(start), _ms(end - start), label, outcome, child]
    return {
        "id": row.id,
        "up": -1 if row.parent is None else row.parent,
        "name": names.number(row.name),
        "status": names.number(row.status),
        "why": row.why,
        "title": row.title,
        "turns": row.turns,
        "own": [[names.number(name), *_counts(u)] for name, u in row.own.items()],
        "total": _counts(row.total),
        "runs": [
            [_ms(clock.place(start)), _ms(clock.place(end))] for start, end in row.runs
        ],
        "spans": spans,
    }


def _counts(usage: Usage) -> list[float | None]:
    if usage == NO_USAGE:
        return []
    return [
        usage.requests,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens + usage.cache_write_tokens,
        usage.cost,
    ]


def _ms(seconds: float) -> int:
    """Thousandths: finer than anything that is drawn."""
    return round(seconds * 1000)
