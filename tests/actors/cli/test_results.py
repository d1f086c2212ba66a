import json
from pathlib import Path

import pytest

from actors import MemoryStore, Message, State
from actors._inside import send
from actors.cli._results import Result, Spool, note_end, read_result
from protocol import StoppedByLimit
from protocol._commands import SetStop, StartRun
from protocol._entries import AgentInfo


def started() -> State:
    state = State(id="a", messages=[Message.user("Go")])
    send(state, StartRun(AgentInfo(), None, None))
    return state


def test_a_run_that_has_not_ended_has_no_result() -> None:
    assert read_result(State(id="a", messages=[Message.user("Go")])) is None
    state = started()
    assert read_result(state) is None
    send(state, SetStop(StoppedByLimit(turns=3)))
    send(state, SetStop(None))
    assert read_result(state) is None


def test_a_message_after_the_end_makes_it_go_on() -> None:
    state = started()
    send(state, SetStop(StoppedByLimit(turns=3)))
    result = read_result(state)
    assert result is not None
    assert (result.status, result.stopped) == ("stopped", "limit")
    state.add_message(Message.user("Go on"))
    assert read_result(state) is None


def test_a_finished_state_is_done_whatever_came_after() -> None:
    state = started()
    state.finish({"n": 1})
    state.add_message(Message.user("Too late"))
    result = read_result(state)
    assert result is not None
    assert (result.status, result.answer) == ("done", {"n": 1})


async def test_a_failure_is_noted_and_read_again_from_the_store() -> None:
    store, state = MemoryStore(), started()
    result = await note_end(store, state, None, KeyError("lost"))
    assert (result.status, result.error) == ("failed", "KeyError: 'lost'")
    assert read_result(await store.aload("a")) == result


async def test_what_a_history_shows_by_itself_is_not_noted() -> None:
    store, state = MemoryStore(), started()
    state.finish("it")
    before = state.history
    result = await note_end(store, state, "it", None)
    assert result.status == "done"
    assert state.history == before


def test_lines_come_in_the_order_asked_for_and_the_latest_counts(
    tmp_path: Path,
) -> None:
    out = tmp_path / "results.jsonl"
    with Spool() as spool:
        spool.put(Result(id="b", status="failed"))
        spool.put(Result(id="a", status="done", answer="x" * 1000))
        spool.put(Result(id="b", status="done"))
        spool.write_to(out, ["a", "b", "c"])
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    expected = [("a", "done"), ("b", "done"), ("c", "cancelled")]
    assert [(row["id"], row["status"]) for row in rows] == expected
    assert list(tmp_path.iterdir()) == [out]


def test_results_that_cannot_be_written_leave_those_before(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    out.write_text("before")
    (tmp_path / ".results.jsonl.new").mkdir()
    with Spool() as spool, pytest.raises(OSError, match="directory"):
        spool.write_to(out, ["a"])
    assert out.read_text() == "before"
