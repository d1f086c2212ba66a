"""The table on the terminal."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from ._contest import Cells
from ._peers import OURS, Peer
from ._rows import Row
from ._words import ahead, said, verdict


def show(
    cells: Cells, rows: Sequence[Row], peers: Sequence[Peer], console: Console
) -> None:
    """Print what each peer came to, and in what ours does not lead."""
    table = Table(
        title="A unit of work, and how many times what bare trio takes",
        title_justify="left",
        box=box.SIMPLE,
    )
    table.add_column("row")
    table.add_column("unit")
    for peer in peers:
        style = "bold" if peer.name == OURS else ""
        table.add_column(peer.name, justify="right", overflow="fold", style=style)
    for row in rows:
        of_row = cells[row.id]
        texts = [said(peer.name, of_row[peer.name]) for peer in peers]
        table.add_row(row.title, f"{row.unit} {_measured(row)}", *texts)
    console.print(table)
    for row in rows:
        if ahead(cells[row.id]):
            console.print(f"{row.title}: {verdict(cells[row.id])}")


def _measured(row: Row) -> str:
    return {"cpu": "of CPU", "wall": "of time", "memory": ""}[row.measure]
