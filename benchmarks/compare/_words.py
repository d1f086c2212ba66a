"""How a figure, a cell and who leads are said."""

from collections.abc import Mapping

from ._contest import Cell
from ._peers import BASE, BY_HAND, OURS
from ._rows import Row


def figure(value: float) -> str:
    """Three digits, or all of those in front of the point."""
    for digits in (2, 1):
        if round(value, digits) < 10 ** (3 - digits):
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"


def ratio(value: float) -> str:
    """How many times what bare trio takes."""
    return f"× {figure(value)}"


def said(peer: str, cell: Cell) -> str:
    """What stands in a peer's cell."""
    if cell.missing is not None:
        return cell.missing.text
    if cell.ratio is None or peer == BASE:
        return figure(cell.each)
    return f"{figure(cell.each)} ({ratio(cell.ratio)})"


def ahead(cells: Mapping[str, Cell]) -> list[str]:
    """The peers that take less than ours, the one that takes least first."""
    ours = cells.get(OURS)
    if ours is None or ours.missing is not None:
        return []
    faster = [
        (cell.each, name)
        for name, cell in cells.items()
        if cell.missing is None and cell.each < ours.each
    ]
    return [name for _, name in sorted(faster)]


def verdict(cells: Mapping[str, Cell]) -> str:
    """Who leads, in a sentence."""
    ours = cells.get(OURS)
    if ours is None or ours.missing is not None:
        return f"{OURS} was not measured."
    leaders = ahead(cells)
    if not leaders:
        return f"{OURS} leads."
    first, *rest = [f"{name} {_share(cells, name)}" for name in leaders]
    listed = ", ".join([first.replace(" ", " takes ", 1), *rest])
    led = " but for what is by hand" if set(leaders) <= BY_HAND else ""
    return f"{OURS} {'leads' if led else 'does not lead'}{led}: {listed} of its cost."


def _share(cells: Mapping[str, Cell], name: str) -> str:
    return figure(cells[name].each / cells[OURS].each)


def notes(row: Row, cells: Mapping[str, Cell]) -> dict[str, str]:
    """What a reader has to know about a cell, for each peer that has something."""
    asked = cells[OURS].count if OURS in cells else row.count
    found: dict[str, str] = {}
    for name, cell in cells.items():
        if cell.missing is not None:
            parts = [cell.missing.why and f"{cell.missing.text}: {cell.missing.why}"]
        else:
            fewer = "" if cell.count == asked else f"measured at {cell.count:,}"
            parts = [cell.note, fewer]
        if any(parts):
            found[name] = "; ".join(filter(None, parts))
    return found
