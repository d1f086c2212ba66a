"""Measure, print the table and, if asked to, write the page.

A row or a peer that cannot be measured is told in its cell, and the run goes on. The
exit code is 1 when a program failed.
"""

import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console

from ._cells import Missing, Outcome, absent, measure, version_of
from ._contest import Cells, cells_of, contest
from ._page import setting_of, write
from ._peers import (
    BASE,
    OURS,
    PEERS,
    NotInstalledError,
    Peer,
    envs_folder,
    here,
    installed,
    surroundings,
)
from ._rows import ROWS, Row
from ._table import show

WIDE = 240


class Programs:
    """The commands of the peers, and why there is none."""

    def __init__(self, limit_s: float, scale: float, *, smoke: bool) -> None:
        self.commands: dict[str, list[str]] = {}
        self.missing: dict[str, Missing] = {}
        self._limit_s = limit_s
        self._scale = scale
        self._smoke = smoke
        self._env = surroundings()

    def prepare(self, peers: Iterable[Peer], envs: Path, console: Console) -> None:
        """Find or make the environment of each peer."""
        for peer in peers:
            if self._smoke:
                self.commands[peer.name] = here(peer)
                continue
            console.print(f"environment of {peer.name}")
            try:
                self.commands[peer.name] = installed(peer, envs)
            except NotInstalledError as error:
                self.missing[peer.name] = absent(str(error))

    def versions(self) -> dict[str, str]:
        """What each runs on."""
        return {
            name: version_of(command, self._limit_s, self._env)
            for name, command in self.commands.items()
        }

    def run(self, row: Row, peer: Peer) -> Outcome:
        """Have a peer do a row."""
        if peer.name in self.missing:
            return self.missing[peer.name]
        count = row.smoke if self._smoke else row.count_of(peer.name, self._scale)
        command = self.commands[peer.name]
        return measure(command, row, count, self._limit_s, self._env)


Some = TypeVar("Some")


def pick(some: Mapping[str, Some], wanted: str | None, what: str) -> list[Some]:
    """Those that are named, in their own order; all when none is.

    Raises:
        click.BadParameter: there is none of such a name.
    """
    if wanted is None:
        return list(some.values())
    asked = [name.strip() for name in wanted.split(",")]
    if unknown := [name for name in asked if name not in some]:
        text = f"no {what} {unknown[0]!r}: there are {', '.join(some)}"
        raise click.BadParameter(text, param_hint=f"--{what}s")
    return [each for name, each in some.items() if name in asked]


def has_failed(cells: Cells) -> list[str]:
    """What went wrong, a line for each cell."""
    return [
        f"{row}, {peer}: {cell.missing.why}"
        for row, of_row in cells.items()
        for peer, cell in of_row.items()
        if cell.missing is not None and cell.missing.failed
    ]


@click.command()
@click.option("--rows", help="Only these, with commas between.")
@click.option("--peers", help="Only these, with commas between.")
@click.option("--scale", default=1.0, help="Times the usual number of units.")
@click.option("--rounds", default=3, help="How often all is measured.")
@click.option("--limit-s", default=120.0, help="Seconds that a cell may take.")
@click.option("--envs", type=Path, help="Folder of the environments.")
@click.option("--write", "writes", is_flag=True, help="Write the page of the docs.")
@click.option("--smoke", is_flag=True, help="A few units, ours and trio, as they are.")
def main(
    *,
    rows: str | None,
    peers: str | None,
    scale: float,
    rounds: int,
    limit_s: float,
    envs: Path | None,
    writes: bool,
    smoke: bool,
) -> None:
    """Do the same work in this library and in its peers, side by side."""
    if smoke:
        peers, rounds = peers or f"{OURS},{BASE}", 1
    some_rows = pick({row.id: row for row in ROWS}, rows, "row")
    some_peers = pick({peer.name: peer for peer in PEERS}, peers, "peer")
    progress = Console(stderr=True)
    programs = Programs(limit_s, scale, smoke=smoke)
    programs.prepare(some_peers, envs or envs_folder(), progress)
    results = contest(some_rows, some_peers, rounds, programs.run, progress.print)
    cells = cells_of(results, some_rows, some_peers)
    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    show(cells, some_rows, some_peers, console)
    if writes:
        command = shlex.join(["python", "-m", "benchmarks.compare", *sys.argv[1:]])
        setting = setting_of(command, programs.versions(), rounds, limit_s)
        console.print(f"written: {write(cells, some_rows, some_peers, setting)}")
    failed = has_failed(cells)
    for line in failed:
        console.print(f"failed: {line}", style="red", markup=False)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
