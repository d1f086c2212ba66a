"""A graph as a picture: Mermaid text, and SVG made without any other library.

1. Both show the same: solid arrows are edges, dashed ones may be taken (conditions,
   `goto`); a join's arrows meet at a dot.
"""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import attrs

from protocol import END, START

from ._plan import Condition, Plan

WIDTH, HEIGHT = 150, 40
"""Pixels of a box: room for names of some twenty characters."""

GAP_X, GAP_Y = 40, 50
"""Pixels between boxes: enough for an arrow to be seen."""

LETTERS = 20
"""Characters of a name that fit into a box."""


TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
    'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
)
"""The head of an arrow."""


@attrs.frozen
class Arrow:
    """One way between two nodes."""

    source: str
    target: str
    label: str = ""
    is_sure: bool = True
    """Whether it is always taken."""


@attrs.frozen(kw_only=True)
class Picture:
    """A picture of a graph."""

    mermaid: str
    """The text that Mermaid draws."""
    svg: str
    """A whole SVG document."""

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.mermaid


def draw(plan: Plan) -> Picture:
    """The picture of a graph."""
    names = [START, *plan.nodes, END]
    arrows = list(_arrows(plan))
    return Picture(mermaid=_mermaid(names, arrows), svg=_svg(names, arrows))


def _arrows(plan: Plan) -> Iterator[Arrow]:
    for source, targets in plan.edges.items():
        for target in targets:
            yield Arrow(source, target)
    for join in plan.joins:
        for source in join.sources:
            yield Arrow(source, join.target, "all of " + ", ".join(join.sources))
    for source, conditions in plan.conditions.items():
        for condition in conditions:
            for said, target in _ways(plan, condition).items():
                yield Arrow(source, target, str(said), is_sure=False)
    for node in plan.nodes.values():
        for target in node.goto:
            yield Arrow(node.name, target, "goto", is_sure=False)


def _ways(plan: Plan, condition: Condition) -> Mapping[Any, str]:
    """What a condition may say, to the nodes that it means."""
    if condition.path_map is not None:
        return condition.path_map
    return {f"{condition.name}: {name}": name for name in [*plan.nodes, END]}


def _mermaid(names: list[str], arrows: list[Arrow]) -> str:
    ids = {name: f"n{number}" for number, name in enumerate(names)}
    lines = ["flowchart TD"]
    for name in names:
        if name in (START, END):
            lines.append(f"    {ids[name]}([{_plain(name)}])")
        else:
            lines.append(f'    {ids[name]}["{_quoted(name)}"]')
    for arrow in arrows:
        line = "-->" if arrow.is_sure else "-.->"
        label = f'|"{_quoted(arrow.label)}"|' if arrow.label else ""
        lines.append(f"    {ids[arrow.source]} {line}{label} {ids[arrow.target]}")
    return "\n".join(lines) + "\n"


def _plain(name: str) -> str:
    return "START" if name == START else "END" if name == END else name


def _quoted(text: str) -> str:
    return text.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;")


def _levels(names: list[str], arrows: list[Arrow]) -> dict[str, int]:
    """How far down each node stands: one below the first that leads to it."""
    level = {START: 0}
    todo = [START]
    while todo:
        source = todo.pop(0)
        for arrow in arrows:
            if arrow.source == source and arrow.target not in level:
                level[arrow.target] = level[source] + 1
                todo.append(arrow.target)
    lowest = max(level.values())
    for name in names:
        level.setdefault(name, lowest + 1)
    level[END] = max(lowest, *(n for name, n in level.items() if name != END)) + 1
    return level


def _places(names: list[str], arrows: list[Arrow]) -> dict[str, tuple[int, int]]:
    """The upper left corner of each box."""
    rows: dict[int, list[str]] = {}
    for name, level in _levels(names, arrows).items():
        rows.setdefault(level, []).append(name)
    widest = max(map(len, rows.values()))
    places: dict[str, tuple[int, int]] = {}
    for down, level in enumerate(sorted(rows)):
        row = rows[level]
        left = (widest - len(row)) * (WIDTH + GAP_X) // 2
        for along, name in enumerate(row):
            x = GAP_X + left + along * (WIDTH + GAP_X)
            places[name] = (x, GAP_Y + down * (HEIGHT + GAP_Y))
    return places


def _svg(names: list[str], arrows: list[Arrow]) -> str:
    places = _places(names, arrows)
    width = max(x for x, _ in places.values()) + WIDTH + GAP_X
    height = max(y for _, y in places.values()) + HEIGHT + GAP_Y
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="sans-serif" font-size="12">'
        ),
        TIP,
        *(_line(arrow, places) for arrow in arrows),
        *(_box(name, *places[name]) for name in names),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _line(arrow: Arrow, places: dict[str, tuple[int, int]]) -> str:
    (x1, y1), (x2, y2) = places[arrow.source], places[arrow.target]
    dashes = "" if arrow.is_sure else ' stroke-dasharray="5 4"'
    if y2 > y1:
        start, end, bend = (x1 + WIDTH // 2, y1 + HEIGHT), (x2 + WIDTH // 2, y2), 0
    else:  # up again, or to itself: around the right-hand side
        start = (x1 + WIDTH, y1 + HEIGHT // 2)
        end, bend = (x2 + WIDTH, y2 + HEIGHT // 3), GAP_X
    middle = ((start[0] + end[0]) // 2 + bend, (start[1] + end[1]) // 2)
    label = escape(arrow.label)
    return (
        f'<path d="M{start[0]} {start[1]}Q{middle[0]} {middle[1]} {end[0]} {end[1]}" '
        f'fill="none" stroke="black"{dashes} marker-end="url(#tip)"/>'
        f'<text x="{middle[0]}" y="{middle[1]}" fill="dimgray">{label}</text>'
    )


def _box(name: str, x: int, y: int) -> str:
    text = _plain(name)
    shown = text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"
    corner = HEIGHT // 2 if name in (START, END) else 4
    return (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="{corner}" '
        f'fill="white" stroke="black"/><text x="{x + WIDTH // 2}" '
        f'y="{y + HEIGHT // 2 + 4}" text-anchor="middle">{escape(shown)}'
        f"<title>{escape(text)}</title></text>"
    )
