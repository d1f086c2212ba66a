"""The live part of a terminal: a line for each run, as many as fit."""

from itertools import islice

from rich.console import Console
from rich.text import Text

from ._rows import Row, Rows, preorder
from ._shown import count_text, time_text, usage_text

ROWS_MAX = 20
"""A repaint of 200 rows takes 65 ms, one of these 5."""

_TAIL_LINES_MAX = 8
_DEPTH_MAX = 8
_NAME_WIDTH_MAX = 44
_WITH_NUMBERS_MIN = 50
"""A terminal that is narrower shows who does what, and no numbers."""


def picture(rows: Rows, now: float, console: Console) -> Text:
    """Draw the living runs in the order of the tree, oldest first.

    Args:
        rows: What is known of them.
        now: The time, on the clock that the rows were told.
        console: Where it will be shown; its size bounds the picture.
    """
    width, height = console.size
    lines = _tail(rows, console, width)
    room = max(1, min(ROWS_MAX, height - len(lines) - 3))
    crowd = len(rows.living) > 1 or rows.done + rows.failed > 0
    if crowd:
        lines.append(_sums(rows, now, width))
    shown = list(islice(preorder(rows.roots.values()), room))
    lines += [_line(row, now, width) for row in shown]
    hidden = len(rows.living) - len(shown)
    if hidden:
        lines.append(Text(f"  … and {hidden:,} more", style="dim"))
    return Text("\n").join(lines)


def _tail(rows: Rows, console: Console, width: int) -> list[Text]:
    """The end of what a lone root is saying."""
    if len(rows.roots) != 1:
        return []
    (root,) = rows.roots.values()
    if not root.text:
        return []
    return list(Text(root.text).wrap(console, width))[-_TAIL_LINES_MAX:]


def _sums(rows: Rows, now: float, width: int) -> Text:
    parts = [
        time_text(now - rows.since),
        f"{len(rows.living):,} running",
        f"{rows.done:,} done",
    ]
    if rows.failed:
        parts.append(f"{rows.failed:,} failed")
    parts.append(usage_text(rows.usage))
    line = Text(" · ".join(parts), style="bold")
    line.truncate(width, overflow="ellipsis")
    return line


def _line(row: Row, now: float, width: int) -> Text:
    numbers = ""
    if width >= _WITH_NUMBERS_MIN:
        tokens = count_text(row.usage.total_tokens)
        numbers = f" {row.turns:>4} {tokens:>6} {time_text(now - row.started):>7}"
    room = width - len(numbers) - 1
    name_width = min(_NAME_WIDTH_MAX, room // 2)
    indent = "  " * min(row.depth, _DEPTH_MAX)
    style = "yellow" if row.calls else "cyan" if row.thinking else "dim"
    name = Text.assemble(
        indent, ("● ", style), (row.name, "bold"), " ", (row.prompt, "dim")
    )
    name.truncate(name_width, overflow="ellipsis", pad=True)
    doing = Text(row.doing, style=style)
    doing.truncate(room - name_width, overflow="ellipsis", pad=True)
    return Text.assemble(name, " ", doing, (numbers, "dim"))
