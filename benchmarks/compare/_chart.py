"""A row as a bar chart: one SVG file, on a scale of powers of ten.

It brings its own ground and its own colours for light and dark, so that it can be read
on any page that shows it as a picture.
"""

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from xml.sax.saxutils import escape

from ._contest import Cell
from ._peers import BASE, OURS
from ._rows import Row
from ._words import figure, ratio

WIDTH, LEFT, RIGHT = 760, 120, 160
TOP, LINE, BAR, BOTTOM = 40, 26, 16, 30
MIDDLE = 12  # from the top of a bar to where its text stands
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.quiet { fill: #59636e }
.ground { fill: #ffffff }
.grid { stroke: #d1d9e0 }
.bar { fill: #818b98 }
.ours { fill: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .quiet { fill: #9198a1 }
  .ground { fill: #151b23 }
  .grid { stroke: #3d444d }
  .bar { fill: #656c76 }
  .ours { fill: #4493f8 }
}
"""


def chart(row: Row, cells: Mapping[str, Cell]) -> str:
    """Draw a row: the least on top, what has no figure below."""
    drawn = sorted(
        ((name, cell) for name, cell in cells.items() if _can_be_drawn(cell)),
        key=lambda pair: pair[1].each,
    )
    silent = [(name, cell) for name, cell in cells.items() if not _can_be_drawn(cell)]
    height = TOP + LINE * len(cells) + BOTTOM
    low, high = _bounds([cell.each for _, cell in drawn])
    parts = [
        f'<text class="title" x="12" y="24">{escape(_title(row))}</text>',
        *_grid(low, high, TOP + LINE * len(cells)),
    ]
    for place, (name, cell) in enumerate([*drawn, *silent]):
        at = _at(cell.each, low, high) if _can_be_drawn(cell) else float(LEFT)
        parts += _bar(name, cell, TOP + LINE * place, at)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img">\n'
        f"<title>{escape(_title(row))}</title>\n<style>{STYLE}</style>\n"
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="6"/>\n'
        f"{body}\n</svg>\n"
    )


def _title(row: Row) -> str:
    kind = {"cpu": " of CPU", "wall": " of wall time", "memory": ""}[row.measure]
    return f"{row.title}: {row.unit}{kind} for {row.each}"


def _can_be_drawn(cell: Cell) -> bool:
    """Whether it has a place on a scale of powers of ten."""
    return cell.missing is None and cell.each > 0


def _bounds(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten around all values, a free one at the low end."""
    if not values:
        return 0, 1
    low = floor(log10(min(values))) - 1
    return low, max(ceil(log10(max(values))), low + 1)


def _at(value: float, low: int, high: int) -> float:
    share = (log10(value) - low) / (high - low)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _grid(low: int, high: int, bottom: int) -> list[str]:
    lines: list[str] = []
    for power in range(low, high + 1):
        x = _at(10.0**power, low, high)
        lines.append(
            f'<line class="grid" x1="{x:.1f}" y1="{TOP - 4}" x2="{x:.1f}" '
            f'y2="{bottom}"/>'
            f'<text class="quiet" x="{x:.1f}" y="{bottom + 18}" '
            f'text-anchor="middle">{_power(power)}</text>'
        )
    return lines


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:.{-power}f}"


def _bar(name: str, cell: Cell, top: int, at: float) -> list[str]:
    kind = "ours" if name == OURS else "bar"
    middle = top + MIDDLE
    weight = ' class="title"' if name == OURS else ""
    label = f'<text{weight} x="{LEFT - 8}" y="{middle}" text-anchor="end">'
    lines = [f"{label}{escape(name)}</text>"]
    if not _can_be_drawn(cell):
        text = cell.missing.text if cell.missing else figure(cell.each)
        return [
            *lines,
            f'<text class="quiet" x="{LEFT + 8}" y="{middle}">{escape(text)}</text>',
        ]
    beside = ""
    if cell.ratio is not None and name != BASE:
        beside = f" ({ratio(cell.ratio)})"
    return [
        *lines,
        _box(f'class="{kind}" x="{LEFT}" y="{top}"', at - LEFT, BAR),
        f'<text x="{at + 8:.1f}" y="{middle}">{figure(cell.each)}{beside}</text>',
    ]


def _box(attributes: str, width: float, height: float) -> str:
    return f'<rect {attributes} width="{width:.1f}" height="{height}" rx="2"/>'
