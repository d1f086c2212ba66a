"""Lines that a person types, read so that a cancelled wait takes none away."""

import os
from contextlib import suppress
from typing import TextIO

import trio


def read_typed(stream: TextIO | None) -> str:
    """The next line with its line feed; empty when there is none, or nobody to type.

    Blocks until a line is there.
    """
    if stream is None:  # a process without a console has no standard input
        return ""
    try:
        return stream.readline()
    except (OSError, ValueError):  # it cannot be read, or was closed
        return ""


async def aread_typed(stream: TextIO | None) -> str:
    """The same, waiting as a task does.

    Cancelled at a terminal, it has taken nothing. Elsewhere the thread that reads goes
    on until it has a line, which is lost.
    """
    if stream is not None and _is_posix_terminal(stream):
        # A terminal hands out whole lines, so what is readable does not block.
        await trio.lowlevel.wait_readable(stream.fileno())
        return read_typed(stream)
    limiter = trio.CapacityLimiter(1)
    return await trio.to_thread.run_sync(
        read_typed, stream, abandon_on_cancel=True, limiter=limiter
    )


def forget_typed(stream: TextIO | None) -> None:
    """Drop what was typed before the question was there: it cannot be an answer."""
    if stream is None or not _is_posix_terminal(stream):
        return
    import termios

    with suppress(termios.error):
        termios.tcflush(stream.fileno(), termios.TCIFLUSH)


def _is_posix_terminal(stream: TextIO) -> bool:
    try:
        return os.name == "posix" and os.isatty(stream.fileno())
    except (OSError, ValueError):  # it has no descriptor, or is closed
        return False
