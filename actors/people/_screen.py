"""A screen that is repainted while runs live, and holds still while a person types.

1. At most `PAINTS_PER_S` repaints a second, by a thread that lives while runs do.
2. Lines for the scrollback come above the picture, in order, none lost.
3. When the last run has ended the picture is gone before the hook that says so returns.
"""

import atexit
import os
import sys
import time
from threading import Condition, RLock, Thread
from typing import TYPE_CHECKING, TextIO

from ._rows import Line, LineKind, Rows

if TYPE_CHECKING:
    from rich.live import Live

PAINTS_PER_S = 5
"""More is not read; a repaint costs some milliseconds."""

_STYLES: dict[LineKind, str] = {
    "said": "default",
    "call": "dim",
    "note": "dim yellow",
    "failed": "red",
    "end": "dim",
}


def is_screen(stream: TextIO) -> bool:
    """Whether a picture can be painted there."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def plain(line: Line) -> str:
    """A line as text, for a file or a pipe."""
    text = line.text.replace("\n", "\n  ")
    return f"[{line.who}] {text}"


class Screen:
    """Paints what `Rows` say, on one terminal.

    Args:
        stream: The terminal.
        rows: What is painted; changed only while ``changed`` is held.
        changed: Guards ``rows``; notified when they change.
    """

    def __init__(self, stream: TextIO, rows: Rows, changed: Condition) -> None:
        from rich.console import Console

        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self._rows = rows
        self._changed = changed
        self._lines: list[Line] = []
        self._held = False
        self._painter: Thread | None = None
        self._dirty = False
        # Whoever holds this writes to the terminal. It is taken before `changed`, so
        # that hooks never wait for a slow terminal.
        self._writing = RLock()
        self._live: Live | None = None
        atexit.register(self.rest)

    def update(self, lines: list[Line]) -> None:
        """Have the rows painted soon; ``lines`` go above them. Holds ``changed``."""
        self._lines += lines
        self._dirty = True
        if self._painter is None and self._rows.living:
            self._painter = Thread(target=self._paint, name="terminal", daemon=True)
            self._painter.start()
        self._changed.notify_all()

    def hold_still(self) -> None:
        """Take the picture away and paint nothing until `go_on`."""
        with self._writing:
            self._held = True
            self._stop_live()

    def go_on(self) -> None:
        """Paint again."""
        with self._writing:
            self._held = False
        with self._changed:
            self._dirty = True
            self._changed.notify_all()

    def rest(self) -> None:
        """Take the picture away, and write the lines that are left."""
        with self._writing:
            self._stop_live()
            with self._changed:
                lines, self._lines = self._lines, []
            self._print(lines)

    def _paint(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._dirty, timeout=1.0)
                self._dirty = False
                if not self._rows.living:
                    self._painter = None
                    return
            # Before the painting: a run that is over at once never flickers.
            time.sleep(1 / PAINTS_PER_S)
            self._paint_once()

    def _paint_once(self) -> None:
        from ._picture import picture

        with self._writing:
            if self._held:
                return
            with self._changed:
                if not self._rows.living:
                    return
                lines, self._lines = self._lines, []
                image = picture(self._rows, time.monotonic(), self._console)
            live = self._live or self._start_live()
            self._print(lines)
            live.update(image, refresh=True)

    def _start_live(self) -> "Live":
        from rich.live import Live

        self._live = Live(
            console=self._console,
            auto_refresh=False,
            transient=True,
            # A program whose output goes into a file keeps it there.
            redirect_stdout=sys.stdout.isatty(),
            vertical_overflow="crop",
        )
        self._live.start()
        return self._live

    def _stop_live(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _print(self, lines: list[Line]) -> None:
        from rich.text import Text

        for line in lines:
            if line.kind == "said":
                self._console.print(Text(line.text))
                continue
            text = Text.assemble(
                "  ", (line.who, "bold dim"), " ", (line.text, _STYLES[line.kind])
            )
            self._console.print(text, no_wrap=True, overflow="ellipsis")
