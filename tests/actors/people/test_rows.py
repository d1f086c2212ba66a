"""What a terminal knows of the runs, however many events it misses."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors import Message, State, ToolCall, ToolError, ToolResultEntry, Usage
from actors._events import (
    ChildEnd,
    Event,
    RunEnd,
    RunStart,
    ThinkStart,
    ToolEnd,
    ToolStart,
)
from actors.people._rows import Line, Path, Row, Rows, preorder
from actors.testing._story import story

NOW = State(messages=[Message.user("Read it")]).snapshot()


def start(*path: str, name: str | None = None) -> RunStart:
    return RunStart(path=path, snapshot=NOW, agent=name or path[-1])


def end(*path: str, error: BaseException | None = None) -> RunEnd:
    return RunEnd(path=path, snapshot=NOW, error=error)


def told(rows: Rows, events: list[Event]) -> list[Line]:
    return [line for now, event in enumerate(events) for line in rows.apply(event, now)]


def names(rows: Rows) -> list[str]:
    return ["  " * row.depth + row.name for row in preorder(rows.roots.values())]


def test_a_whole_story_leaves_its_lines_and_no_row() -> None:
    rows = Rows()
    lines = told(rows, list(story()))
    assert [(line.kind, line.who, line.text) for line in lines] == [
        ("note", "lead [1]", "429, again in 2 s"),
        ("said", "lead [1]", "Let me\nlook [bold]"),
        (
            "failed",
            "lead [1] ▸ agent",
            "failed: ToolError: the disk is [red]full (0:02)",
        ),
        ("failed", "lead [1]", "read(part=1) error: the disk is [red]full"),
        ("failed", "lead [1]", WRITTEN),
        ("note", "lead [1]", "context: compact"),
        ("said", "lead [1]", "Done."),
        ("end", "lead [1]", "2 turns · 0 requests · 0 tokens · 0:17"),
    ]
    assert not rows.living
    assert not rows.roots
    assert (rows.done, rows.failed) == (1, 1)
    assert rows.usage.requests == 2


WRITTEN = f"write(text='{'x' * 54}… (5,007 characters)) denied: not allowed"


def test_a_row_says_what_its_run_does() -> None:
    rows = Rows()
    doing: list[str] = []
    for event in story():
        rows.apply(event, 0.0)
        doing += [row.doing for row in rows.roots.values()]
    changes = [
        doing[0],
        *(after for before, after in pairwise(doing) if after != before),
    ]
    assert changes == [
        "",
        "thinking",
        "429, again in 2 s",
        "writing",
        "",
        "read(part=1)",
        "",
        "thinking",
        "",
    ]


def test_what_a_root_called_is_written_with_its_result() -> None:
    rows = Rows()
    call = ToolCall(id="1", name="read", args={"path": "a"})
    result = ToolResultEntry(content="two\nlines", call=call, outcome="done")
    lines = told(
        rows,
        [
            start("lead"),
            ToolStart(path=("lead", "1"), snapshot=NOW, call=call),
            ToolEnd(path=("lead", "1"), snapshot=NOW, result=result),
        ],
    )
    assert lines == [Line("call", "lead", "read(path='a') → two lines")]


def test_a_child_that_ends_well_leaves_no_line() -> None:
    rows = Rows()
    assert (
        told(rows, [start("lead"), start("lead", "c", "a"), end("lead", "c", "a")])
        == []
    )
    assert names(rows) == ["lead"]
    assert rows.done == 1


@pytest.mark.parametrize("path", [("lead",), ("lead", "c", "a")])
def test_an_end_that_only_the_owner_tells_takes_the_row_away(path: Path) -> None:
    # Whether the path of the event names the owner or the child itself.
    rows = Rows()
    told(rows, [start("lead"), start("lead", "a"), start("lead", "c", "a")])
    event = ChildEnd(path=path, child_id="a", outcome="done", usage=Usage())
    rows.apply(event, 0.0)
    assert len(rows.living) == 2


def test_a_run_that_nobody_asked_anything_has_no_prompt() -> None:
    rows = Rows()
    rows.apply(RunStart(path=("lead",), snapshot=State().snapshot(), agent=None), 0.0)
    (row,) = rows.living.values()
    assert (row.name, row.prompt) == ("agent", "")


def test_the_prompt_is_the_last_thing_the_user_said() -> None:
    said = [
        Message.user("Read it"),
        Message.text_message("It is short", role="assistant"),
    ]
    state = State(messages=[Message.user("Hello"), *said])
    rows = Rows()
    rows.apply(RunStart(path=("a",), snapshot=state.snapshot(), agent="a"), 0.0)
    assert [row.prompt for row in rows.living.values()] == ["Read it"]


def test_several_calls_at_once_are_shown_as_the_first_and_a_number() -> None:
    row = Row(path=("a",), name="a", started=0.0)
    row.calls = {"1": "read()", "2": "write()", "3": "list()"}
    assert row.doing == "read() and 2 more"


def test_rows_stand_in_the_order_of_the_tree() -> None:
    rows = Rows()
    told(
        rows,
        [
            start("lead"),
            start("lead", "call-1", "a"),
            start("other"),
            start("lead", "call-2", "b"),
            start("lead", "call-1", "a", "call-3", "c"),
        ],
    )
    assert names(rows) == ["lead", "  a", "    c", "  b", "other"]


def test_a_run_whose_start_was_missed_stands_below_the_nearest_one_that_is_known() -> (
    None
):
    rows = Rows()
    missed = ("lead", "call-1", "a", "call-2", "b")
    told(rows, [start("lead"), ThinkStart(path=missed, snapshot=NOW)])
    assert names(rows) == ["lead", "  agent"]
    assert next(iter(rows.roots.values())).prompt == "Read it"


def test_a_run_whose_end_was_missed_goes_with_the_one_above_it() -> None:
    rows = Rows()
    told(rows, [start("lead"), start("lead", "c", "a"), start("lead", "d", "b")])
    told(rows, [end("lead", "d", "b", error=ToolError("no")), end("lead")])
    assert not rows.living
    assert (rows.done, rows.failed) == (2, 1)


def test_what_comes_late_brings_no_ended_run_back() -> None:
    rows = Rows()
    late = next(event for event in story() if isinstance(event, ToolEnd))
    told(rows, [start("root"), end("root"), late, end("root")])
    assert not rows.living
    assert rows.done == 1


def test_of_several_roots_only_their_ends_are_written() -> None:
    rows = Rows()
    lines = told(rows, [start("other", name="second"), *story(), end("other")])
    assert [(line.kind, line.who) for line in lines] == [
        ("failed", "lead [1] ▸ agent"),
        ("end", "lead [1]"),
        ("end", "second"),
    ]
    assert lines[1].text.startswith("Summarise [the] report ✓: 2 turns")


def test_counts_begin_again_with_the_next_tree() -> None:
    rows = Rows()
    told(rows, list(story()))
    rows.apply(start("next"), 100.0)
    assert (rows.done, rows.failed, rows.since) == (0, 0, 100.0)
    assert rows.usage.requests == 0


def test_a_long_path_is_shown_by_its_ends() -> None:
    rows = Rows()
    path: tuple[str, ...] = ()
    for depth in range(2000):
        path = (*path, f"agent-{depth}")
        rows.apply(start(*path), 0.0)
    row = rows.nearest(path)
    assert row is not None
    assert row.who == ("agent-0 ▸ agent-1 ▸ … ▸ agent-1997 ▸ agent-1998 ▸ agent-1999")
    rows.apply(end("agent-0"), 0.0)
    assert not rows.living


def test_a_picture_of_some_rows_looks_at_no_more() -> None:
    rows = Rows()
    rows.apply(start("lead"), 0.0)
    for number in range(10_000):
        rows.apply(start("lead", "c", f"a{number}"), 0.0)
    seen = preorder(rows.roots.values())
    assert [next(seen).name for _ in range(3)] == ["lead", "a0", "a1"]


EVENTS = (*story(), *story("other"))


@given(st.lists(st.sampled_from(range(len(EVENTS))), max_size=60))
def test_any_events_in_any_order_keep_the_rows_consistent(order: list[int]) -> None:
    rows = Rows()
    for now, index in enumerate(order):
        rows.apply(EVENTS[index], now)
        assert {row.path for row in preorder(rows.roots.values())} == set(rows.living)
        assert rows.done >= 0
    for name in ("root", "other"):
        for event in story(name):
            if isinstance(event, RunEnd):
                rows.apply(event, 0.0)
    assert not rows.living


@pytest.mark.parametrize("missing", range(len(story())))
def test_a_story_with_an_event_missing_leaves_no_row(missing: int) -> None:
    rows = Rows()
    events = list(story())
    lost = events.pop(missing)
    told(rows, events)
    # Only the end of the root itself cannot be told from anything else.
    assert bool(rows.living) == (isinstance(lost, RunEnd) and lost.path == ("root",))
