"""Lines that a person types, at a real terminal and elsewhere."""

import io
import os
import threading
from collections.abc import Iterator
from typing import TextIO

import pytest
import trio
import trio.testing

from actors.people._keyboard import aread_typed, forget_typed, read_typed

pty = pytest.importorskip("pty", reason="only POSIX has pseudo-terminals")


@pytest.fixture
def tty() -> Iterator[tuple[int, TextIO]]:
    """The keyboard's end of a terminal, and the program's."""
    keyboard, program = pty.openpty()
    with os.fdopen(program, "r", encoding="utf-8") as stream:
        yield keyboard, stream
        os.close(keyboard)


def test_lines_come_one_by_one_and_nothing_at_the_end() -> None:
    stream = io.StringIO("yes\nno")
    assert [read_typed(stream) for _ in range(3)] == ["yes\n", "no", ""]


def test_an_input_that_cannot_be_read_has_no_line() -> None:
    closed = io.StringIO()
    closed.close()
    assert read_typed(None) == ""
    assert read_typed(closed) == ""


async def test_without_a_terminal_a_thread_reads() -> None:
    assert await aread_typed(io.StringIO("yes\n")) == "yes\n"
    assert await aread_typed(None) == ""


async def test_a_line_typed_at_a_terminal_is_read(tty: tuple[int, TextIO]) -> None:
    keyboard, stream = tty
    os.write(keyboard, b"first\nsecond\n")
    assert await aread_typed(stream) == "first\n"
    assert await aread_typed(stream) == "second\n"


async def test_a_cancelled_wait_takes_no_line(tty: tuple[int, TextIO]) -> None:
    keyboard, stream = tty
    threads = threading.active_count()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(aread_typed, stream)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert threading.active_count() == threads
    os.write(keyboard, b"late\n")
    assert await aread_typed(stream) == "late\n"


async def test_what_was_typed_before_the_question_is_no_answer(
    tty: tuple[int, TextIO],
) -> None:
    keyboard, stream = tty
    os.write(keyboard, b"yes\n")
    forget_typed(stream)
    os.write(keyboard, b"no\n")
    assert await aread_typed(stream) == "no\n"


def test_without_a_terminal_nothing_is_forgotten() -> None:
    stream = io.StringIO("yes\n")
    forget_typed(stream)
    forget_typed(None)
    assert read_typed(stream) == "yes\n"
