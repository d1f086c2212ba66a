"""The report as one file: rows, histories and the page that draws them.

1. The file is whole in itself: nothing is loaded from anywhere, now or later.
2. What agents said is data: it is never read as markup, here or in the page.
3. Histories are packed in chunks that the page unpacks when one is asked for, so that
   10,000 of them are a few megabytes.
"""

import zlib
from base64 import b64encode
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from actors import Store
from protocol import Usage
from protocol._entry import NO_USAGE

from ._clock import Clock
from ._tree import Line, Row, read_rows

CHUNK_AGENTS = 100
"""Histories packed together: they share words, and one click unpacks them all."""

_encode = msgspec.json.Encoder().encode


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
    packed: list[list[Line]] = []
    for row in read_rows(store, roots):
        rows.append(row)
        packed.append(row.lines)
        row.lines = []
        if len(packed) == CHUNK_AGENTS:
            chunks.append(_packed(packed))
            packed = []
    chunks.append(_packed(packed))
    beside = path.with_name(f".{path.name}.new")
    with beside.open("wb") as file:
        file.writelines(_page(title, _data(title, rows), chunks))
    beside.replace(path)
    return len(rows)


def _packed(histories: list[list[Line]]) -> bytes:
    return b64encode(zlib.compress(_encode(histories), 6))


def _page(title: str, data: bytes, chunks: list[bytes]) -> Iterable[bytes]:
    here = files("actors.report")
    markup = here.joinpath("page.html").read_text("utf-8")
    before, after = markup.split("<!-- data -->")
    safe = title.replace("&", "&amp;").replace("<", "&lt;")
    style = here.joinpath("page.css").read_text("utf-8")
    yield before.replace("<!-- title -->", safe).replace("/* style */", style).encode()
    yield b'<script type="application/json" id="data">'
    yield data.replace(b"<", b"\\u003c")  # no text can end the element
    yield b"</script>\n"
    for number, chunk in enumerate(chunks):
        yield f'<script type="text/plain" id="h{number}">'.encode()
        yield chunk
        yield b"</script>\n"
    script = here.joinpath("page.js").read_text("utf-8")
    yield after.replace("/* script */", script).encode()


class _Names:
    """Words by number: each stands in the file once."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}

    def number(self, word: str) -> int:
        return self.words.setdefault(word, len(self.words))


def _data(title: str, rows: list[Row]) -> bytes:
    """Everything but the histories, as JSON."""
    clock = Clock(run for row in rows for run in row.runs)
    names, places = _Names(), {row.id: place for place, row in enumerate(rows)}
    agents = [_agent(row, clock, names, places) for row in rows]
    return _encode(
        {
            "title": title,
            "chunk": CHUNK_AGENTS,
            "length": _ms(clock.length),
            "pieces": [[p.start, p.end, _ms(p.at)] for p in clock.pieces],
            "agents": agents,
            "words": list(names.words),
        }
    )


def _agent(
    row: Row, clock: Clock, names: _Names, places: dict[str, int]
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
