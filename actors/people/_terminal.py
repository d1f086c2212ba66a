"""`Terminal`: the person at this process's terminal, who looks on and is asked."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Condition
from typing import Any, TextIO

import trio

from actors._events import (
    ChildEnd,
    ContextChanged,
    Event,
    ModelHappened,
    RunEnd,
    RunStart,
    TextDelta,
    ThinkEnd,
    ThinkStart,
    ToolEnd,
    ToolStart,
)
from protocol import NoHumanError, Question

from ._human import Human
from ._keyboard import aread_typed, forget_typed, read_typed
from ._question import choices_of, read_line
from ._reporter import Reporter
from ._rows import Rows
from ._screen import Screen, is_screen, plain
from ._shown import clean, one_line

_turn: trio.lowlevel.RunVar[trio.Lock] = trio.lowlevel.RunVar("_turn")


class Terminal(Reporter, Human):
    """Shows runs at a terminal, and asks the person there.

    At a terminal the living runs are painted as a tree, at most 5 times a second and 20
    rows high; what roots say and do, and every failure, stays in the scrollback. Where
    the output is no terminal, the same lines are written as plain text. Questions are
    put one after the other, with the names of the agents that lead to the one that
    asks; meanwhile the picture is away.

    Args:
        output: Where to write; the standard error of the moment when left out, so that
            a program's own output stays clean.
        input: Where answers come from; the standard input of the moment when left out.
    """

    def __init__(
        self, *, output: TextIO | None = None, input: TextIO | None = None
    ) -> None:
        self._output = output
        self._input = input
        self._rows = Rows()
        self._changed = Condition()
        self._screen: Screen | None = None
        self._waiting = 0

    def on_run_start(self, event: RunStart) -> None:
        """Show a row for the run."""
        self._tell(event)

    def on_think_start(self, event: ThinkStart) -> None:
        """Show that the model is waited on."""
        self._tell(event)

    def on_text(self, event: TextDelta) -> None:
        """Show the text as it comes."""
        self._tell(event)

    def on_think_end(self, event: ThinkEnd) -> None:
        """Write what a root said, and count what it cost."""
        self._tell(event)

    def on_tool_start(self, event: ToolStart) -> None:
        """Show the call."""
        self._tell(event)

    def on_tool_end(self, event: ToolEnd) -> None:
        """Write the result of a root's call."""
        self._tell(event)

    def on_context_change(self, event: ContextChanged) -> None:
        """Write what changed in a root's context."""
        self._tell(event)

    def on_model_event(self, event: ModelHappened) -> None:
        """Show what keeps the model."""
        self._tell(event)

    def on_run_end(self, event: RunEnd) -> None:
        """Take the row away; write how a root ended, or why a run failed."""
        self._tell(event)

    def on_child_end(self, event: ChildEnd) -> None:
        """Take the row away, if the end of its run was not told."""
        self._tell(event)

    def _tell(self, event: Event) -> None:
        with self._changed:
            lines = self._rows.apply(event, time.monotonic())
            over = not self._rows.living
            if self._screen is None and is_screen(self._stream()):
                self._screen = Screen(self._stream(), self._rows, self._changed)
            screen = self._screen
            if screen is not None:
                screen.update(lines)
            else:
                for line in lines:
                    self._write(plain(line))
        if screen is not None and over:
            screen.rest()

    def ask(self, question: Question) -> Any:
        """Ask the person, and return the answer in the type that is asked for.

        An answer that does not fit is asked for again. Blocks until there is one.

        Raises:
            NoHumanError: the input is closed, or cannot be read.
        """
        with self._put(question):
            while True:
                self._hint(question)
                line = read_typed(self._keyboard())
                with suppress(_Unfit):
                    return self._answer(question, line)

    async def aask(self, question: Question) -> Any:
        """The same, waiting as a task does; questions of one trio run stand in line.

        Cancelled, the question is withdrawn. Where the input is no terminal, a thread
        may go on reading and lose one line.

        Raises:
            NoHumanError: the input is closed, or cannot be read.
        """
        self._waiting += 1
        try:
            async with _turn_of_this_run():
                return await self._aask_now(question)
        finally:
            self._waiting -= 1

    async def _aask_now(self, question: Question) -> Any:
        with self._put(question):
            while True:
                self._hint(question)
                line = await aread_typed(self._keyboard())
                with suppress(_Unfit):
                    return self._answer(question, line)

    @contextmanager
    def _put(self, question: Question) -> Generator[None]:
        screen = self._screen
        if screen is not None:
            screen.hold_still()
        try:
            self._write(self._asked(question))
            forget_typed(self._keyboard())
            yield
        finally:
            if screen is not None:
                screen.go_on()

    def _asked(self, question: Question) -> str:
        with self._changed:
            row = self._rows.nearest(question.path)
            who = question.state_id if row is None else row.who
        more = f" ({self._waiting - 1} more wait)" if self._waiting > 1 else ""
        return f"? {clean(who)} asks{more}\n  {clean(question.prompt)}"

    def _hint(self, question: Question) -> None:
        choices = clean(" / ".join(choices_of(question)))
        self._write(f"  [{choices}] > " if choices else "  > ", end="")

    def _answer(self, question: Question, line: str) -> Any:
        if not line:
            raise NoHumanError(
                f"nobody answers {one_line(question.prompt, 80)!r}, the input is "
                f"closed: run at a terminal, or give the agent human=Inbox()"
            )
        try:
            return read_line(question, line)
        except ValueError as problem:
            self._write(f"  {problem}")
            raise _Unfit from problem

    def _write(self, text: str, end: str = "\n") -> None:
        print(text, file=self._stream(), end=end, flush=True)

    def _stream(self) -> TextIO:
        return sys.stderr if self._output is None else self._output

    def _keyboard(self) -> TextIO | None:
        return sys.stdin if self._input is None else self._input


class _Unfit(Exception):
    """What was typed is no answer; it has been said why."""


def _turn_of_this_run() -> trio.Lock:
    """One question at a time: two would take each other's lines."""
    try:
        return _turn.get()
    except LookupError:
        lock = trio.Lock()
        _turn.set(lock)
        return lock
