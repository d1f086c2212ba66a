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
    EndGraph,
    EndNode,
    EndStep,
    Fail,
    Finish,
    Fork,
    Import,
    NoteEvent,
    NoteExchange,
    NoteStart,
    Pause,
    Receive,
    ReportLate,
    Request,
    Restore,
    SetStop,
    StartChild,
    StartGraph,
    StartNode,
    StartRun,
    TrimContext,
)
from protocol._graph_entries import (
    GraphEnd,
    GraphStart,
    Interrupt,
    NodeEnd,
    NodeTask,
    StepEnd,
    Trim,
)
from protocol._phases import COLUMNS, TABLE, Column, verdict
from protocol._snapshot import value_of
from protocol._value import PhaseName
from protocol._work_entries import Answer, ChildEnd, ChildStart

BY_HAND: dict[type[AnyCommand], str] = {
    #               idle   thinking calling  graph
    AddMessage: "    apply  hold     hold refuse",
    Import: "        apply  refuse   refuse refuse",
    Finish: "        apply  apply    apply apply",
    SetStop: "       apply  apply    apply apply",
    Compact: "       apply  apply    refuse refuse",
    ClearToolResults: "apply apply   refuse refuse",
    EditExtraData: " apply  apply    apply apply",
    Restore: "       apply  refuse   refuse apply",
    Fork: "          apply  refuse   apply apply",
    StartRun: "      apply  apply    apply apply",
    Request: "       apply  wait     refuse refuse",
    Receive: "       refuse apply    refuse refuse",
    NoteEvent: "     apply  apply    apply apply",
    Fail: "          apply  apply    apply apply",
    CloseCall: "     refuse refuse   apply refuse",
    ReportLate: "    apply  apply    apply refuse",
    NoteExchange: "  apply  apply    apply apply",
    NoteStart: "     refuse refuse   apply refuse",
    StartChild: "    apply  apply    apply apply",
    EndChild: "      apply  apply    apply apply",
    Ask: "           apply  apply    apply apply",
    AnswerQuestion: "apply  apply    apply apply",
    StartGraph: "    apply  refuse   refuse   apply",
    StartNode: "     refuse refuse   refuse   apply",
    EndNode: "       refuse refuse   refuse   apply",
    EndStep: "       refuse refuse   refuse   apply",
    Pause: "         refuse refuse   refuse   apply",
    EndGraph: "      refuse refuse   refuse   apply",
    TrimContext: "   refuse refuse   refuse   apply",
}

OLD_CALL = ToolCall(id="old", name="search", args={})
OPEN_CALL = ToolCall(id="open", name="search", args={})
QUESTION = Question(id="q-1", state_id="s", call=OPEN_CALL, prompt="may it run?")
ASKED = Question(id="q-2", state_id="s", call=OPEN_CALL, prompt="and now?")


def reply(*calls: ToolCall) -> Receive:
    return Receive(reply=Reply(message=Message(role="assistant", content=calls)))


def close(call: ToolCall) -> CloseCall:
    return CloseCall(call=call, content="found", outcome="done")


FIRST, SECOND = NodeTask("t-1", "one"), NodeTask("t-2", "two")


def end_of(task: NodeTask) -> EndNode:
    return EndNode(NodeEnd(task_id=task.id, node=task.node, outcome="done"))


def a_thread() -> State:
    """The thread of a graph in the middle of a run, with a question open."""
    state = State()
    start = StartGraph(GraphStart(tasks=(FIRST,)))
    for command in (start, StartNode(FIRST), Ask(question=QUESTION)):
        state._mailbox.send(command)
    return state


def state_in(column: Column) -> State:
    """A State with a turn behind it and a question open, in this phase."""
    return a_thread() if column == "graph" else conversation_in(column)


def conversation_in(phase: PhaseName) -> State:
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
    StartChild: lambda state: StartChild(
        ChildStart(child_id="child-1", name="helper", call_id="open")
    ),
    EndChild: lambda state: EndChild(
        end=ChildEnd(child_id="child-1", name="helper", outcome="done", text="ok")
    ),
    Ask: lambda state: Ask(question=ASKED),
    AnswerQuestion: lambda state: AnswerQuestion(
        answer=Answer(question_id="q-1", value="no")
    ),
    StartGraph: lambda state: StartGraph(GraphStart(tasks=(FIRST,))),
    StartNode: lambda state: StartNode(FIRST),
    EndNode: lambda state: end_of(FIRST),
    EndStep: lambda state: EndStep(StepEnd(tasks=(SECOND,))),
    Pause: lambda state: Pause(
        (Interrupt("i-1", "one", "sure?"),), "interrupted_after"
    ),
    EndGraph: lambda state: EndGraph(GraphEnd(status="completed")),
    TrimContext: lambda state: TrimContext(Trim(summary="so far")),
}

CELLS = [
    pytest.param(kind, name, row.split()[column], id=f"{kind.__name__}-{name}")
    for kind, row in BY_HAND.items()
    for column, name in enumerate(COLUMNS)
]


def test_the_table_has_a_row_for_each_command() -> None:
    assert set(TABLE) == set(BY_HAND) == set(LEGAL)


@pytest.mark.parametrize(("kind", "column", "wanted"), CELLS)
def test_the_table_says_what_the_pages_say(
    kind: type[AnyCommand], column: Column, wanted: str
) -> None:
    assert verdict(kind, column) == wanted


@pytest.mark.parametrize(("kind", "column", "wanted"), CELLS)
def test_a_state_does_what_the_table_says(
    kind: type[AnyCommand], column: Column, wanted: str
) -> None:
    state = state_in(column)
    if kind is EndStep and column == "graph":
        state._mailbox.send(end_of(FIRST))
    if kind is Restore and column == "graph":
        state._mailbox.send(EndGraph(GraphEnd(status="error")))
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
