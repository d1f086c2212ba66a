"""The page of the documentation: what was measured, where, and by which command."""

import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import attrs

from ._chart import chart
from ._contest import ONCE_OVER_S, Cells
from ._peers import OURS, ROOT, Peer
from ._rows import Row
from ._words import ahead, notes, said, verdict

PAGES = ROOT / "docs" / "pages"
FOLDER = "benchmarks"
"""Beside the page: its pictures."""

INTRODUCTION = f"""\
---
hide: [toc] # the first column of the table links to the sections, and needs the room
---

# Benchmarks

<!-- Written by `python -m benchmarks.compare --write`: a change by hand is lost. -->

The same work in {OURS} and in its peers, side by side in one run. Each peer has an
environment of its own, is used through its documented interface, and plays the same
script: the same questions, calls, results and answers, with no network. Each cell is a
process of its own, which does one unit of the work before it is measured; the peers do
a row right after one another, so load on the machine hits all alike. What counts is the
ratio to bare trio, in brackets: less is better.

Bare trio, asyncio, pykka and Erlang keep a conversation by hand, as a list. They record
no history, check and limit nothing, and restore nothing, so they are a floor and not a
choice: what stands between them and a row of {OURS} is what these things cost.
"""


@attrs.frozen(kw_only=True)
class Setting:
    """Where and how a run was made."""

    command: str
    machine: str
    versions: Mapping[str, str]
    """What each peer runs on, by its name."""
    rounds: int
    limit_s: float
    on: str
    """The day."""


def setting_of(
    command: str, versions: Mapping[str, str], rounds: int, limit_s: float
) -> Setting:
    """The setting of a run that is made here and today."""
    return Setting(
        command=command,
        machine=_machine(),
        versions=versions,
        rounds=rounds,
        limit_s=limit_s,
        on=datetime.now(UTC).date().isoformat(),
    )


def _machine() -> str:
    model = re.search(r"^model name\s*: (.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s+(\d+)", _read("/proc/meminfo"), re.MULTILINE)
    name = model[1].strip() if model else platform.machine()
    size = f", {round(int(memory[1]) / 2**20)} GiB" if memory else ""
    return f"{os.cpu_count()} × {name}{size}, {platform.system()}"


def _read(place: str) -> str:
    try:
        return Path(place).read_text("utf-8")
    except OSError:
        return ""


def write(
    cells: Cells,
    rows: Sequence[Row],
    peers: Sequence[Peer],
    setting: Setting,
    pages: Path = PAGES,
) -> Path:
    """Write the page and its pictures; pictures of rows that are gone are removed.

    Returns:
        The page.
    """
    folder = pages / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for picture in folder.glob("*.svg"):
        picture.unlink()
    for row in rows:
        (folder / f"{row.id}.svg").write_text(chart(row, cells[row.id]), "utf-8")
    page = pages / f"{FOLDER}.md"
    page.write_text(text(cells, rows, peers, setting), "utf-8")
    return page


def text(
    cells: Cells, rows: Sequence[Row], peers: Sequence[Peer], setting: Setting
) -> str:
    """The page."""
    parts = [
        INTRODUCTION,
        _how(setting),
        _peers(peers, setting),
        _summary(cells, rows, peers),
        *(_section(cells, row) for row in rows),
    ]
    return "\n".join(parts)


def _how(setting: Setting) -> str:
    rounds = f"{setting.rounds} rounds" if setting.rounds > 1 else "one round"
    return (
        f"```sh\n{setting.command}\n```\n\n"
        f"made this page on {setting.on}, on {setting.machine}, in {rounds}: ratios "
        "are medians, a figure is its ratio times the median of bare trio, and a cell "
        f"whose process took over {ONCE_OVER_S:g} s was measured once. Unless a row "
        "says otherwise figures are microseconds of the CPU, of all threads of the "
        f"process. A cell that took over {setting.limit_s:g} s says so; one that would "
        "have taken minutes did fewer units of the same work, and a note says how "
        "many.\n"
    )


def _peers(peers: Sequence[Peer], setting: Setting) -> str:
    lines = [
        f"| {peer.name} | {setting.versions.get(peer.name, '')} | {peer.what} |"
        for peer in peers
    ]
    head = ["| peer | version | what does the work |", "|---|---|---|"]
    return "\n".join([*head, *lines, ""])


def _summary(cells: Cells, rows: Sequence[Row], peers: Sequence[Peer]) -> str:
    head = " | ".join(peer.name for peer in peers)
    lines = [f"| row | {head} |", f"|---|{'---:|' * len(peers)}"]
    for row in rows:
        texts = [_narrow(said(peer.name, cells[row.id][peer.name])) for peer in peers]
        unit = "" if row.unit == "µs" else f", {row.unit}"
        name = f"[{row.title}](#{_anchor(row)}){unit}"
        lines.append(f"| {name} | {' | '.join(texts)} |")
    behind = [
        f"- {row.title}: {', '.join(ahead(cells[row.id]))}"
        for row in rows
        if ahead(cells[row.id])
    ]
    told = f"Where {OURS} does not lead, and who takes less:\n"
    if not behind:
        told = f"{OURS} leads all rows."
    return "\n".join(["## All rows\n", *lines, "", told, *behind, ""])


def _narrow(text: str) -> str:
    return text.replace(" (", "<br>(").replace("× ", "×\u202f")


def _section(cells: Cells, row: Row) -> str:
    of_row = cells[row.id]
    listed = [f"- {name}: {note}" for name, note in notes(row, of_row).items()]
    picture = f"{FOLDER}/{row.id}.svg"
    return "\n".join(
        [
            f"## {row.title} {{: #{_anchor(row)} }}\n",
            f"{row.what} {verdict(of_row)}\n",
            f"![{row.title}: the figures of the table above]({picture})",
            *(["", *listed] if listed else []),
            "",
        ]
    )


def _anchor(row: Row) -> str:
    return row.id.replace("_", "-")
