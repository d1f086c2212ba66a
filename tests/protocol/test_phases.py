"""Every cell of the phase table, against a table written by hand from the pages."""

from collections.abc import Callable

import pytest
import trio
import trio.testing

from actors import (
    AgentInfo,
    Exchange,
    Message,
    ModelEvent,
    Question,
    Reply,
    State,
    StoppedByLimit,
    ToolCall,
)
from protocol._commands import (
    AddMessage,
    AnswerQuestion,
    AnyCommand,
    Ask,
    ClearToolResults,
    CloseCall,
    Compact,
    EditExtraData,
    EndChild,
    Fail,
    Finish,
    Fork,
    Import,
    NoteEvent,
    NoteExchange,
    NoteStart,
    Receive,
    ReportLate,
    Request,
    Restore,
    SetStop,
    StartRun,
)
from protocol._phases import PHASES, TABLE, verdict
from protocol._snapshot import value_of
from protocol._value import PhaseName
from protocol._work_entries import Answer, ChildEnd

BY_HAND: dict[type[AnyCommand], str] = {
    #               idle   thinking calling
    AddMessage: "    apply  hold     hold",
    Import: "        apply  refuse   refuse",
    Finish: "        apply  apply    apply",
    SetStop: "       apply  apply    apply",
    Compact: "       apply  apply    refuse",
    ClearToolResults: "apply apply   refuse",
    EditExtraData: " apply  apply    apply",
    Restore: "       apply  refuse   refuse",
    Fork: "          apply  refuse   apply",
    StartRun: "      apply  apply    apply",
    Request: "       apply  wait     refuse",
    Receive: "       refuse apply    refuse",
    NoteEvent: "     apply  apply    apply",
    Fail: "          apply  apply    apply",
    CloseCall: "     refuse refuse   apply",
    ReportLate: "    apply  apply    apply",
    NoteExchange: "  apply  apply    apply",
    NoteStart: "     refuse refuse   apply",
    EndChild: "      apply  apply    apply",
    Ask: "           apply  apply    apply",
    AnswerQuestion: "apply  apply    apply",
}

OLD_CALL = ToolCall(id="old", name="search", args={})
OPEN_CALL = ToolCall(id="open", name="search", args={})
QUESTION = Question(id="q-1", state_id="s", call=OPEN_CALL, prompt="may it run?")
ASKED = Question(id="q-2", state_id="s", call=OPEN_CALL, prompt="and now?")


def reply(*calls: ToolCall) -> Receive:
    return Receive(reply=Reply(message=Message(role="assistant", content=calls)))


def close(call: ToolCall) -> CloseCall:
    return CloseCall(call=call, content="found", outcome="done")


def state_in(phase: PhaseName) -> State:
    """A State with a turn behind it and a question open, in this phase."""
    state = State(messages=[Message.user("find the bug")])
    turn = (Request(model="fake/one"), reply(OLD_CALL), close(OLD_CALL))
    for command in (*turn, Ask(question=QUESTION)):
        state._mailbox.send(command)
    if phase != "idle":
        state._mailbox.send(Request(model="fake/one"))
    if phase == "calling":
        state._mailbox.send(reply(OPEN_CALL))
    assert state.phase == phase
    return state


LEGAL: dict[type[AnyCommand], Callable[[State], AnyCommand]] = {
    AddMessage: lambda state: AddMessage(message=Message.user("and this")),
    Import: lambda state: Import(messages=(Message.user("from elsewhere"),)),
    Finish: lambda state: Finish(answer="done"),
    SetStop: lambda state: SetStop(stopped=StoppedByLimit(3)),
    Compact: lambda state: Compact(summary="so far"),
    ClearToolResults: lambda state: ClearToolResults(keep_last=0),
    EditExtraData: lambda state: EditExtraData(set={"a": 1}, removed=()),
    Restore: lambda state: Restore(then=value_of(State().snapshot())),
    Fork: lambda state: Fork(),
    StartRun: lambda state: StartRun(info=AgentInfo(name="one")),
    Request: lambda state: Request(model="fake/one"),
    Receive: lambda state: reply(),
    NoteEvent: lambda state: NoteEvent(event=ModelEvent(kind="retry")),
    Fail: lambda state: Fail(error=RuntimeError("no answer")),
    CloseCall: lambda state: close(OPEN_CALL),
    ReportLate: lambda state: ReportLate(
        call=OLD_CALL, content="found more", outcome="done"
    ),
    NoteExchange: lambda state: NoteExchange(
        kind="ask", exchange=Exchange(question="which?", answer="this one")
    ),
    NoteStart: lambda state: NoteStart(call=OPEN_CALL, key="key-1"),
    EndChild: lambda state: EndChild(
        end=ChildEnd(child_id="child-1", name="helper", outcome="done", text="ok")
    ),
    Ask: lambda state: Ask(question=ASKED),
    AnswerQuestion: lambda state: AnswerQuestion(answer=Answer(question_id="q-1")),
}

CELLS = [
    pytest.param(kind, phase, row.split()[column], id=f"{kind.__name__}-{phase}")
    for kind, row in BY_HAND.items()
    for column, phase in enumerate(PHASES)
]


def test_the_table_has_a_row_for_each_command() -> None:
    assert set(TABLE) == set(BY_HAND) == set(LEGAL)


@pytest.mark.parametrize(("kind", "phase", "wanted"), CELLS)
def test_the_table_says_what_the_pages_say(
    kind: type[AnyCommand], phase: PhaseName, wanted: str
) -> None:
    assert verdict(kind, phase) == wanted


@pytest.mark.parametrize(("kind", "phase", "wanted"), CELLS)
def test_a_state_does_what_the_table_says(
    kind: type[AnyCommand], phase: PhaseName, wanted: str
) -> None:
    state = state_in(phase)
    command = LEGAL[kind](state)
    before = state.snapshot()
    if wanted in {"refuse", "wait"}:
        # One that may not wait is refused where a task would stand in the mailbox.
        with pytest.raises(ValueError):
            state._mailbox.send(command)
        assert state.snapshot() == before
        assert len(state.history) == len(before.history)
        return
    state._mailbox.send(command)
    recorded = 0 if kind is Fork else 1
    assert len(state.history) == len(before.history) + recorded
    if wanted == "hold":
        assert state.messages == before.messages
        assert len(state.held_messages) == len(before.held_messages) + 1


async def test_a_request_that_waits_begins_when_the_turn_closes() -> None:
    state = state_in("idle")
    state._mailbox.send(Request(model="fake/one"))
    before = len(state.history)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(state._mailbox.send_in_turn, Request(model="fake/two"))
        await trio.testing.wait_all_tasks_blocked()
        assert state.statistics().waiting == 1
        assert len(state.history) == before
        state._mailbox.send(reply())
    assert [entry.kind for entry in state.history[before:]] == [
        "model_reply",
        "model_request",
    ]
    assert state.phase == "thinking"


async def test_a_waiter_that_is_cancelled_leaves_and_nothing_is_recorded() -> None:
    state = state_in("idle")
    state._mailbox.send(Request(model="fake/one"))
    before = state.snapshot()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(state._mailbox.send_in_turn, Request(model="fake/two"))
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert state.statistics().waiting == 0
    state._mailbox.send(reply())
    assert len(state.history) == len(before.history) + 1
