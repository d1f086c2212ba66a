from typing import Any

import pytest

from actors import MemoryStore, Message, State
from actors._inside import send
from actors.cli._results import note_end
from actors.report._status import status_of
from protocol import RunCancelled, StoppedByLimit, ToolCall
from protocol._commands import CloseCall, Fail, Receive, Request, SetStop
from protocol._entries import Reply


def asking() -> State:
    state = State(id="a", messages=[Message.user("Go")])
    send(state, Request("fake/m"))
    return state


def calling() -> State:
    state = asking()
    call = ToolCall(id="c1", name="look", args={})
    send(state, Receive(Reply(message=Message(role="assistant", content=(call,)))))
    return state


def test_a_stop_says_whether_the_run_came_to_its_end() -> None:
    state = State(id="a")
    send(state, SetStop(StoppedByLimit(turns=3)))
    assert status_of(state, None) == ("stopped", "stopped by limit")
    state.finish("done")
    assert status_of(state, None) == ("done", "stopped by finish")


@pytest.mark.parametrize("make", [asking, calling])
def test_what_a_process_left_in_mid_turn_is_cut_off(make: object) -> None:
    assert callable(make)
    assert status_of(make(), None)[0] == "cut off"
    assert status_of(State(id="a", messages=[Message.user("Go")]), None)[0] == "cut off"


@pytest.mark.parametrize(
    ("error", "status"),
    [(ValueError("no"), "failed"), (RunCancelled("enough"), "cancelled")],
)
def test_a_request_that_was_taken_back_says_how(error: Exception, status: str) -> None:
    state = asking()
    send(state, Fail(error))
    assert status_of(state, None) == (status, f"{type(error).__name__}: {error}")


@pytest.mark.parametrize(
    ("outcome", "status"), [("interrupted", "cancelled"), ("aborted", "failed")]
)
def test_a_call_that_ended_a_run_says_how(outcome: Any, status: str) -> None:
    state = calling()
    (call,) = state.pending_calls
    send(state, CloseCall(call, "gone", outcome))
    assert status_of(state, None)[0] == status


@pytest.mark.parametrize(("outcome", "status"), [("error", "failed"), ("done", "done")])
def test_the_call_of_a_child_says_what_its_history_does_not(
    outcome: str, status: str
) -> None:
    state = State(id="a", messages=[Message.user("Go")])
    assert status_of(state, outcome) == (status, f"its call ended {outcome}")


async def test_what_a_fleet_noted_counts() -> None:
    state = State(id="a", messages=[Message.user("Go")])
    await note_end(MemoryStore(), state, None, KeyError("lost"))
    assert status_of(state, None)[0] == "failed"
