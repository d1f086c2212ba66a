"""The person at the terminal, who looks on and is asked."""

import io
import os
import re
import subprocess
import sys
import threading
from typing import Any

import pytest
import trio
import trio.testing

from actors import Message, NoHumanError, Question, State, Terminal, ToolError
from actors._events import RunEnd, RunStart
from actors.people import _screen
from actors.people._dispatch import Dispatch
from actors.people._question import APPROVAL
from actors.testing import check_reporter
from actors.testing._story import story

WAIT_S = 10.0
NOW = State(messages=[Message.user("Read it")]).snapshot()
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Paper(io.StringIO):
    """An output that says it is a terminal."""

    def isatty(self) -> bool:
        return True

    @property
    def text(self) -> str:
        return ESCAPES.sub("", self.getvalue())


@pytest.fixture(autouse=True)
def usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "25")


def tell(terminal: Terminal, *events: Any) -> None:
    for event in events:
        getattr(terminal, event.hook)(event)


def start(*path: str) -> RunStart:
    return RunStart(path=path, snapshot=NOW, agent=path[-1])


def end(*path: str, error: BaseException | None = None) -> RunEnd:
    return RunEnd(path=path, snapshot=NOW, error=error)


def question(number: int = 1, returns: Any = APPROVAL, **changes: Any) -> Question:
    return Question(
        id=f"q{number}",
        state_id="state-1",
        prompt=f"Allow write({number})?",
        returns=returns,
        **changes,
    )


def test_it_passes_the_kit_for_reporters_as_text_and_as_a_picture() -> None:
    check_reporter(lambda: Terminal(output=io.StringIO()))
    check_reporter(lambda: Terminal(output=Paper()))


def test_without_a_terminal_it_writes_plain_lines() -> None:
    output = io.StringIO()
    tell(Terminal(output=output), *story())
    assert output.getvalue().splitlines() == [
        "[lead [1]] 429, again in 2 s",
        "[lead [1]] Let me",
        "  look [bold]",
        "[lead [1] ▸ agent] failed: ToolError: the disk is [red]full (0:00)",
        "[lead [1]] read(part=1) error: the disk is [red]full",
        f"[lead [1]] write(text='{'x' * 54}… (5,007 characters)) denied: not allowed",
        "[lead [1]] context: compact",
        "[lead [1]] Done.",
        "[lead [1]] 2 turns · 0 requests · 0 tokens · 0:00",
    ]


@pytest.mark.parametrize("kind", ["dumb", "unknown"])
def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", kind)
    output = Paper()
    tell(Terminal(output=output), *story())
    assert output.getvalue() == output.text


def test_plain_lines_go_to_the_standard_error_of_the_moment(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tell(Terminal(), start("lead"), end("lead"))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "[lead] 0 turns · 0 requests · 0 tokens · 0:00\n"


@pytest.mark.slow
def test_plain_lines_need_no_rich() -> None:
    program = (
        "import sys\n"
        "from actors import Terminal\n"
        "from actors.testing._story import story\n"
        "terminal = Terminal()\n"
        "for event in story(): getattr(terminal, event.hook)(event)\n"
        "assert 'rich' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_run_that_is_over_at_once_leaves_lines_and_no_picture() -> None:
    output = Paper()
    tell(Terminal(output=output), *story())
    assert output.text.splitlines() == [
        "  lead [1] 429, again in 2 s",
        "Let me",
        "look [bold]",
        "  lead [1] ▸ agent failed: ToolError: the disk is [red]full (0:00)",
        "  lead [1] read(part=1) error: the disk is [red]full",
        f"  lead [1] write(text='{'x' * 54}… …",  # cut off at the terminal's width
        "  lead [1] context: compact",
        "Done.",
        "  lead [1] 2 turns · 0 requests · 0 tokens · 0:00",
    ]


class Painted(Paper):
    """Tells when a text was painted."""

    def __init__(self) -> None:
        super().__init__()
        self._came = threading.Condition()

    def write(self, text: str) -> int:
        with self._came:
            self._came.notify_all()
            return super().write(text)

    def wait_for(self, text: str) -> None:
        with self._came:
            assert self._came.wait_for(lambda: text in self.text, WAIT_S), self.text


def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_screen, "PAINTS_PER_S", 10_000)


def test_living_runs_are_painted_as_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    quickly(monkeypatch)
    output = Painted()
    terminal = Terminal(output=output)
    tell(terminal, start("lead"), *(start("lead", "c", f"a{n}") for n in range(200)))
    tell(terminal, end("lead", "c", "a0", error=ToolError("no")))
    output.wait_for("… and 180 more")
    output.wait_for("0:00 · 200 running · 0 done · 1 failed")
    output.wait_for("● lead Read it")
    output.wait_for("  ● a19 Read it")
    tell(terminal, end("lead"))
    last = output.text.splitlines()[-1]
    assert last == "  lead 0 turns · 0 requests · 0 tokens · 0:00"
    painter = terminal._screen and terminal._screen._painter
    if painter is not None:
        painter.join(WAIT_S)


def test_the_text_of_a_lone_root_is_painted_as_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quickly(monkeypatch)
    output = Painted()
    terminal = Terminal(output=output)
    events = story()
    tell(terminal, *events[:5])
    output.wait_for("look [bold]")
    output.wait_for("writing")
    tell(terminal, *events[5:])
    assert output.text.rstrip().endswith("2 turns · 0 requests · 0 tokens · 0:00")


def test_a_screen_that_is_small_is_not_overrun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("LINES", "5")
    quickly(monkeypatch)
    output = Painted()
    terminal = Terminal(output=output)
    tell(terminal, start("lead"), *(start("lead", "c", f"a{n}") for n in range(9)))
    output.wait_for("… and 8 more")
    tell(terminal, end("lead"))
    assert all(len(line) <= 20 for line in re.split(r"[\r\n]+", output.text))


def test_an_answer_is_read_in_the_type_that_is_asked_for() -> None:
    output = io.StringIO()
    terminal = Terminal(output=output, input=io.StringIO("seven\n7\n"))
    assert terminal.ask(question(returns={"type": "integer"})) == 7
    assert output.getvalue() == (
        "? state-1 asks\n  Allow write(1)?\n  >   type a JSON integer\n  > "
    )


def test_a_question_names_the_agents_that_lead_to_the_one_that_asks() -> None:
    output = io.StringIO()
    terminal = Terminal(output=output, input=io.StringIO("yes\n"))
    path = ("lead", "call", "writer")
    tell(terminal, start("lead"), start(*path))
    assert terminal.ask(question(path=path)) == "yes"
    assert output.getvalue() == (
        "? lead ▸ writer asks\n  Allow write(1)?\n  [yes / always / no] > "
    )


def test_a_question_holds_nothing_that_a_terminal_would_obey() -> None:
    output = io.StringIO()
    terminal = Terminal(output=output, input=io.StringIO("no\n"))
    asked = Question(id="q", state_id="s", prompt="Allow \x1b[2Kit?")
    assert terminal.ask(asked) == "no"
    assert "\x1b" not in output.getvalue()


def test_nobody_answers_when_the_input_is_closed() -> None:
    terminal = Terminal(output=io.StringIO(), input=io.StringIO())
    with pytest.raises(NoHumanError, match="the input is closed: run at a terminal"):
        terminal.ask(question())


async def test_questions_stand_in_line() -> None:
    output = io.StringIO()
    terminal = Terminal(output=output, input=io.StringIO("yes\nno\nalways\n"))
    answers: dict[int, str] = {}

    async def ask(number: int) -> None:
        answers[number] = await terminal.aask(question(number))

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(ask, number)
    assert sorted(answers.values()) == ["always", "no", "yes"]
    asked = [line for line in output.getvalue().splitlines() if "asks" in line]
    assert asked == [
        "? state-1 asks (2 more wait)",
        "  [yes / always / no] > ? state-1 asks (1 more wait)",
        "  [yes / always / no] > ? state-1 asks",
    ]


async def test_a_question_that_was_answered_badly_is_asked_again() -> None:
    output = io.StringIO()
    terminal = Terminal(output=output, input=io.StringIO("perhaps\ny\n"))
    assert await terminal.aask(question(returns={"type": "boolean"})) is True
    assert "type yes or no" in output.getvalue()


async def test_a_cancelled_question_makes_way_for_the_next() -> None:
    pty = pytest.importorskip("pty", reason="only POSIX has pseudo-terminals")
    keyboard, program = pty.openpty()
    with os.fdopen(program, "r", encoding="utf-8") as stream:
        terminal = Terminal(output=io.StringIO(), input=stream)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(terminal.aask, question(1))
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        async with trio.open_nursery() as nursery:
            answers: list[str] = []

            async def ask() -> None:
                answers.append(await terminal.aask(question(2)))

            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            os.write(keyboard, b"yes\n")
        assert answers == ["yes"]
        os.close(keyboard)


def test_while_it_asks_nothing_is_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    quickly(monkeypatch)
    output = Painted()
    painted: list[str] = []

    class Typing(io.StringIO):
        def readline(self, size: int = -1, /) -> str:
            tell(terminal, *story("other")[:-1])
            screen = terminal._screen
            assert screen is not None
            screen._paint_once()
            painted.append(output.text.split("asks")[1])
            return "yes\n"

    terminal = Terminal(output=output, input=Typing())
    tell(terminal, start("lead"))
    output.wait_for("● lead")
    assert terminal.ask(question()) == "yes"
    assert painted == ["\n  Allow write(1)?\n  [yes / always / no] > "]
    output.wait_for("2 running")
    tell(terminal, end("other"), end("lead"))


async def test_two_dispatches_may_share_it() -> None:
    output = io.StringIO()
    terminal = Terminal(output=output)
    dispatches = [Dispatch(terminal), Dispatch(terminal)]
    for number in range(50):
        for index, dispatch in enumerate(dispatches):
            dispatch.put(start(f"{index}-{number}"))
            dispatch.put(end(f"{index}-{number}"))
        for dispatch in dispatches:
            with dispatch._changed:
                assert dispatch._changed.wait_for(
                    lambda d=dispatch: not d._queue, WAIT_S
                )
    for dispatch in dispatches:
        await dispatch.aclose()
    lines = output.getvalue().splitlines()
    assert len(lines) == 100
    assert all(
        line.endswith("0 turns · 0 requests · 0 tokens · 0:00") for line in lines
    )
