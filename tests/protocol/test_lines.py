from typing import get_args

import pytest

from protocol import (
    AgentInfo,
    ContextChange,
    ContextChangeEntry,
    ErrorEntry,
    Exchange,
    ExchangeEntry,
    ExtraDataEntry,
    HistoryEntry,
    ImageBlock,
    MediaRef,
    Message,
    MessageEntry,
    ModelEvent,
    ModelEventEntry,
    ModelReplyEntry,
    ModelRequestEntry,
    Question,
    Reply,
    RunStartEntry,
    StopEntry,
    StoppedByLimit,
    TextBlock,
    ToolCallBlock,
    ToolResultEntry,
)
from protocol._graph_entries import (
    GraphEnd,
    GraphEndEntry,
    GraphStart,
    GraphStartEntry,
    Interrupt,
    InterruptEntry,
    NodeEnd,
    NodeEndEntry,
    NodeStartEntry,
    NodeTask,
    StepEnd,
    StepEndEntry,
    Trim,
    TrimEntry,
)
from protocol._lines import WIDTH, lines
from protocol._work_entries import (
    Answer,
    AnswerEntry,
    CallStartEntry,
    ChildEnd,
    ChildEndEntry,
    ChildStart,
    ChildStartEntry,
    QuestionEntry,
)

TASK, OTHER = NodeTask("1", "plan"), NodeTask("2", "write")
CALL = ToolCallBlock(id="a", name="search")
IMAGE = ImageBlock(media=MediaRef(kind="url", url="https://example.org"))
REPLY = Message(role="assistant", content=[TextBlock(text="let me see"), CALL])


def change(**fields: object) -> ContextChangeEntry:
    return ContextChangeEntry(content=ContextChange(**fields))


SAID: list[tuple[HistoryEntry, str, str]] = [
    (MessageEntry(message=Message.user("find\n it")), "user", "find it"),
    (MessageEntry(message=Message.notice("red")), "notice", "[notice] red"),
    (MessageEntry(message=Message.user("see", IMAGE)), "user", "see [image]"),
    (ModelRequestEntry(content="fake/one"), "model_request", "fake/one"),
    (
        ModelReplyEntry(content=Reply(message=REPLY)),
        "model_reply",
        "let me see search(a)",
    ),
    (
        ModelEventEntry(content=ModelEvent(kind="retry", message="busy")),
        "model_event",
        "retry: busy",
    ),
    (
        ToolResultEntry(content="found", call=CALL, outcome="done"),
        "tool_result",
        "search(a) done: found",
    ),
    (
        ToolResultEntry(content=(IMAGE,), call=CALL, outcome="error", late=True),
        "tool_result",
        "search(a) error late: [image]",
    ),
    (
        ExchangeEntry(kind="ask", content=Exchange(question="how many?", answer=3)),
        "ask",
        "how many? -> 3",
    ),
    (
        change(kind="import", messages=(REPLY,)),
        "context_change",
        "import of 1 messages",
    ),
    (
        change(kind="compact", summary="so far", kept=2),
        "context_change",
        "compact, 2 kept: so far",
    ),
    (
        change(kind="clear_tool_results", cleared=("a", "b")),
        "context_change",
        "cleared 2 results",
    ),
    (change(kind="restore", restored_to=3), "context_change", "restored to 3 entries"),
    (
        RunStartEntry(content=AgentInfo(name="helper", model="fake/one")),
        "run_start",
        "helper on fake/one",
    ),
    (RunStartEntry(content=AgentInfo()), "run_start", "- on -"),
    (StopEntry(content=None), "stop", "cleared"),
    (StopEntry(content=StoppedByLimit(3)), "stop", "StoppedByLimit(turns=3)"),
    (
        ExtraDataEntry(content={"n": 1}, removed=("m",)),
        "extra_data",
        "{'n': 1} -m",
    ),
    (ErrorEntry(content="ValueError: no"), "error", "ValueError: no"),
    (CallStartEntry(content="key", call=CALL), "call_start", "search(a) starts"),
    (
        ChildStartEntry(content=ChildStart(child_id="c", name="helper", call_id="a")),
        "child_start",
        "helper c starts",
    ),
    (
        ChildEndEntry(
            content=ChildEnd(child_id="c", name="helper", outcome="done", text="ok")
        ),
        "child_end",
        "helper c done: ok",
    ),
    (
        QuestionEntry(content=Question(id="q", state_id="s", prompt="may I?")),
        "question",
        "q: may I?",
    ),
    (AnswerEntry(content=Answer(question_id="q", value="yes")), "answer", "q: 'yes'"),
    (
        AnswerEntry(content=Answer(question_id="q", answered=False)),
        "answer",
        "q: closed without an answer",
    ),
    (
        GraphStartEntry(content=GraphStart(messages=(REPLY,), tasks=(TASK, OTHER))),
        "graph_start",
        "1 messages, plan, write",
    ),
    (
        GraphStartEntry(content=GraphStart(goes_on=True)),
        "graph_start",
        "0 messages, goes on",
    ),
    (NodeStartEntry(content=TASK), "node_start", "plan"),
    (
        NodeEndEntry(
            content=NodeEnd(task_id="1", node="plan", outcome="error", text="no")
        ),
        "node_end",
        "plan error no",
    ),
    (
        StepEndEntry(content=StepEnd(fields={"n": 1, "m": 2}, tasks=(OTHER,))),
        "step_end",
        "updated: n, m; next: write",
    ),
    (StepEndEntry(content=StepEnd()), "step_end", "updated: -; next: the end"),
    (
        InterruptEntry(content=(Interrupt("i", "plan", "sure?"),)),
        "interrupt",
        "interrupted_before i: 'sure?'",
    ),
    (GraphEndEntry(content=GraphEnd(status="completed")), "graph_end", "completed"),
    (
        TrimEntry(content=Trim(kept=(0, 2), upto=5, summary="so far")),
        "context_trim",
        "2 of 5 kept: so far",
    ),
    (TrimEntry(content=Trim()), "context_trim", "0 of 0 kept: -"),
]


def test_every_kind_of_entry_has_a_line() -> None:
    assert {type(entry) for entry, _, _ in SAID} == set(get_args(HistoryEntry))


@pytest.mark.parametrize(("entry", "kind", "said"), SAID)
def test_an_entry_is_one_line_of_turn_kind_and_text(
    entry: HistoryEntry, kind: str, said: str
) -> None:
    (line,) = lines([entry])
    assert line.split() == ["0", kind, *said.split()]


def test_a_long_text_is_shortened() -> None:
    (line,) = lines([MessageEntry(message=Message.user("x " * 500), turn=12)])
    assert line.startswith("  12  user            x x x")
    assert line.endswith("…")
    assert len(line) == len("  12  user            ") + WIDTH
