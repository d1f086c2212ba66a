"""Histories with every kind of entry and block in them, as golden files hold them.

Files of a released version are never written again. A change of a form gets an
upcast and new files beside the old ones: `python -m tests.protocol.golden NAME`.
"""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import structs

from protocol._codec import encode_entry, to_json
from protocol._content import (
    AnnotationBlock,
    AudioBlock,
    ContentBlock,
    DataBlock,
    DocumentBlock,
    ErrorBlock,
    ImageBlock,
    RawBlock,
    ReasoningBlock,
    RemoteToolCallBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    VideoBlock,
)
from protocol._entries import (
    AgentInfo,
    ContextChange,
    ContextChangeEntry,
    ErrorEntry,
    Exchange,
    ExchangeEntry,
    ExtraDataEntry,
    HistoryEntry,
    MessageEntry,
    ModelEvent,
    ModelEventEntry,
    ModelReplyEntry,
    ModelRequestEntry,
    Reply,
    RunStartEntry,
    StopEntry,
    ToolResultEntry,
)
from protocol._graph_entries import (
    Goto,
    GraphEnd,
    GraphEndEntry,
    GraphStart,
    GraphStartEntry,
    GraphUpdate,
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
from protocol._json import FrozenDict, FrozenList, freeze
from protocol._media import AnnotationRef, MediaRef
from protocol._message import Message
from protocol._records import CHAIN_START, checksum_of, seal
from protocol._stops import (
    Question,
    StoppedByBudget,
    StoppedByFinish,
    StoppedByLimit,
    StoppedByPermission,
    StoppedByQuestion,
    StoppedByUntil,
)
from protocol._usage import TokenUsages, Usage
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

DATA = Path(__file__).parent.parent / "data"

JSON_VALUE: Any = freeze(
    {
        "integers": [0, -1, 2**53 + 1, 2**64 - 1, 2**64, -(2**63) - 1, 10**40],
        "floats": [0.1, 1.0, -0.0, 1e308, 5e-324],
        "others": [None, True, False, "", "Grüße, 世界 🎭", {"": {}, "a": []}],
    }
)
MEDIA = MediaRef(
    kind="data", data_base64="aGVsbG8=", mime_type="image/png", size_bytes=5, width=1
)
LINK = MediaRef(kind="url", url="https://example.org/a.pdf", filename="a.pdf", page=2)
SOURCE = AnnotationRef(url="https://example.org", page=1, index=0, title="Example")
SEARCH = ToolCallBlock(id="call-1", name="search", args=JSON_VALUE, model_id="0")
CLOCK = ToolCallBlock(id="call-2", name="clock", tool_type="function")
SPENT = Usage(
    input_tokens=120, output_tokens=30, cache_read_tokens=1000, requests=1, cost=0.0125
).for_model("openai/large") + Usage(requests=1, cost=0.5).for_model("local/small")


def message(number: int, *content: ContentBlock, **fields: Any) -> Message:
    return Message(
        content=content,
        message_id=f"golden-{number}",
        **{"role": "user", "timestamp": 1.7e9 + number, **fields},
    )


QUESTION = message(
    1,
    TextBlock(text="What is it? Grüße 🎭", annotations=(SOURCE,)),
    ImageBlock(media=MEDIA, alt_text="a dot", bbox=(0.0, 0.5, 1.0, 2.5)),
    metadata={"from": "a test", "numbers": JSON_VALUE},
)
CALLS = message(
    2,
    ReasoningBlock(summary="I look it up", details=[{"signature": "xyz"}]),
    TextBlock(text="One moment."),
    SEARCH,
    CLOCK,
    role="assistant",
    reasoning="I look it up",
    tools_calls=[{"id": "0", "function": {"name": "search", "arguments": "{}"}}],
    usages=TokenUsages(30, 120, 150, reasoning_tokens=10, audio_tokens=None),
    raw={"id": "resp-1", "value": JSON_VALUE},
    tokens=1150,
    stop_reason="tool_calls",
)
ANSWER = message(
    3,
    TextBlock(text="It is noon."),
    AnnotationBlock(kind="citation", refs=(SOURCE,), spans=((0, 2), (3, 5))),
    role="assistant",
    parsed_content=JSON_VALUE,
    stop_reason="stop",
)
REST = message(
    4,
    AudioBlock(media=MEDIA, transcript="hello", sample_rate=16_000, channels=1),
    VideoBlock(media=LINK, thumbnail=MEDIA),
    DocumentBlock(media=LINK, text="text", pages=(1, 2), excerpt="te"),
    DataBlock(mime_type="application/x", data_base64="AAECAw==", media=LINK),
    RemoteToolCallBlock(id="remote-1", name="web", args={"q": "x"}, tool_type="web"),
    ErrorBlock(message="no luck", code="E1", data=JSON_VALUE),
    RawBlock(provider="anthropic", data=JSON_VALUE),
)
RESULTS = message(
    5,
    ToolResultBlock(call_id="old-1", output=JSON_VALUE, name="search"),
    ToolResultBlock(
        call_id="old-2",
        output=(TextBlock(text="a"), ImageBlock(media=MEDIA)),
        is_error=True,
        status="failed",
    ),
    role="tool",
    delta=True,
)
ASKED = Question(
    id="q-1",
    state_id="child-1",
    path=("root-1", "child-1"),
    call=CLOCK,
    prompt="May I?",
    returns=FrozenDict({"type": "boolean"}),
)


def contents() -> list[HistoryEntry]:
    return [
        RunStartEntry(
            content=AgentInfo(
                name="helper",
                model="openai/large",
                system_sha256="0" * 64,
                tools=("clock", "search"),
                mcp_servers=("files",),
            ),
            parent_id="parent-1",
            parent_call_id="call-0",
        ),
        MessageEntry(message=QUESTION),
        ModelRequestEntry(content="openai/large"),
        ModelEventEntry(
            content=ModelEvent(kind="retry", message="again", data=JSON_VALUE)
        ),
        ModelReplyEntry(
            content=Reply(
                message=CALLS,
                usage=SPENT,
                context_tokens=1150,
                stop_reason="tool_calls",
                model="openai/large",
            )
        ),
        MessageEntry(message=message(6, TextBlock(text="[notice] be quick"))),
        QuestionEntry(content=ASKED),
        AnswerEntry(content=Answer(question_id="q-1", value=True)),
        QuestionEntry(content=structs.replace(ASKED, id="q-2")),
        AnswerEntry(content=Answer(question_id="q-2", answered=False)),
        CallStartEntry(content="root-1.clock", call=CLOCK),
        ToolResultEntry(
            content="noon", call=CLOCK, outcome="done", child_ids=("a", "b"),
            usage=SPENT,
        ),
        ToolResultEntry(
            content=(TextBlock(text="no net"), ImageBlock(media=LINK)),
            call=SEARCH,
            outcome="interrupted",
            error=KeyboardInterrupt(),
            message_id="golden-7",
        ),
        ErrorEntry(content="OSError: no net", error=OSError("no net"), call=SEARCH),
        ModelRequestEntry(content="openai/large"),
        ErrorEntry(content="RateLimitError: wait"),
        ModelRequestEntry(content="openai/large"),
        ModelReplyEntry(content=Reply(message=ANSWER)),
        ToolResultEntry(
            content="found", call=SEARCH, outcome="done", late=True, message_id=8
        ),
        ExchangeEntry(
            kind="ask", content=Exchange(question="Sure?", answer=True), usage=SPENT
        ),
        ExchangeEntry(kind="human", content=Exchange(question="?", answer=JSON_VALUE)),
        ContextChangeEntry(
            content=ContextChange(kind="clear_tool_results", cleared=("call-1",))
        ),
        ContextChangeEntry(
            content=ContextChange(kind="import", messages=(REST, RESULTS))
        ),
        ContextChangeEntry(
            content=ContextChange(
                kind="compact",
                summary="They asked the time.",
                kept=2,
                before_tokens=1150,
                after_tokens=80,
                usage=SPENT,
                message_id="golden-9",
            )
        ),
        ExtraDataEntry(content=FrozenDict({"a": JSON_VALUE, "b": 2**70})),
        ContextChangeEntry(content=ContextChange(kind="restore", restored_to=19)),
        ExtraDataEntry(content=FrozenDict({"c": 1.0}), removed=("a",)),
        StopEntry(content=StoppedByPermission(call=SEARCH, permission="ask first")),
        StopEntry(content=StoppedByUntil(name="done")),
        StopEntry(content=StoppedByLimit(turns=3)),
        StopEntry(content=StoppedByBudget(limit="requests", owner="root-1")),
        StopEntry(
            content=StoppedByQuestion(
                questions=(ASKED,)
            )
        ),
        ChildEndEntry(
            content=ChildEnd(
                child_id="c", name="helper", outcome="done", text="all is well"
            ),
            usage=SPENT,
            message_id="golden-9",
        ),
        StopEntry(),
        StopEntry(content=StoppedByFinish(answer=JSON_VALUE)),
    ]  # fmt: skip


def graph_contents() -> list[HistoryEntry]:
    given = GraphUpdate(fields=FrozenDict({"notes": JSON_VALUE}), messages=(ANSWER,))
    one, two = NodeTask("1-a", "a"), NodeTask("2-b", "b", given)
    ask = Interrupt("1-a:q", "a", JSON_VALUE)
    done = NodeEnd(
        task_id="2-b",
        node="b",
        outcome="done",
        updates=(given, GraphUpdate(fields=FrozenDict({"total": 7}))),
        goto=(Goto("b", given), Goto("__end__")),
    )
    return [
        RunStartEntry(content=AgentInfo(name="graph")),
        GraphStartEntry(
            content=GraphStart(
                messages=(QUESTION,),
                fields=FrozenDict({"total": 10, "notes": None}),
                tasks=(one, two),
            )
        ),
        NodeStartEntry(content=one, child_id="child-1"),
        NodeStartEntry(content=two),
        NodeEndEntry(content=done, usage=SPENT, child_ids=("child-2",)),
        NodeEndEntry(
            content=NodeEnd(task_id="1-a", node="a", outcome="interrupted", text="q")
        ),
        InterruptEntry(content=(ask,)),
        GraphStartEntry(
            content=GraphStart(goes_on=True, answers=FrozenDict({ask.id: JSON_VALUE}))
        ),
        NodeStartEntry(content=one),
        TrimEntry(content=Trim(kept=(0,), upto=1, summary="So far."), usage=SPENT),
        NodeEndEntry(
            content=NodeEnd(task_id="1-a", node="a", outcome="done", completes=True)
        ),
        StepEndEntry(
            content=StepEnd(
                fields=FrozenDict({"total": 17, "notes": JSON_VALUE}),
                tasks=(NodeTask("3-b", "b"),),
                joins=FrozenDict({"a+b": FrozenList(["a"])}),
            )
        ),
        InterruptEntry(content=(Interrupt("", "b"),), status="interrupted_after"),
        GraphStartEntry(content=GraphStart(goes_on=True)),
        GraphEndEntry(content=GraphEnd(status="stopped", text="enough")),
    ]


def child_contents() -> list[HistoryEntry]:
    first = ChildStart(child_id="c", name="helper", call_id="call-1")
    again = structs.replace(first, since=12)
    end = ChildEnd(child_id="c", name="helper", outcome="done", text="well", since=12)
    return [
        ChildStartEntry(content=first),
        ChildEndEntry(content=structs.replace(end, since=0), usage=SPENT),
        ChildStartEntry(content=again),
        ChildEndEntry(content=end, message_id="golden-10"),
    ]


BEGIN = datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)


def timed(entries: list[HistoryEntry]) -> list[HistoryEntry]:
    return [
        structs.replace(entry, turn=number // 4, at=BEGIN + timedelta(seconds=number))
        for number, entry in enumerate(entries)
    ]


ENTRIES = timed(contents())
GRAPH_ENTRIES = timed(graph_contents())
CHILD_ENTRIES = timed(child_contents())
BY_NAME = {
    "entries-1": ENTRIES,
    "graph-1": GRAPH_ENTRIES,
    "children-1": CHILD_ENTRIES,
}
"""What each file holds."""


def log_of(bodies: list[bytes]) -> bytes:
    records: list[bytes] = []
    checksum = CHAIN_START
    for body in bodies:
        records.append(seal(checksum, body))
        checksum = checksum_of(records[-1])
    return b"".join(records)


if __name__ == "__main__":
    name = sys.argv[1]
    written = BY_NAME[name]
    with (DATA / f"{name}.log").open("xb") as log:
        log.write(log_of([encode_entry(entry) for entry in written]))
    with (DATA / f"{name}.jsonl").open("x", encoding="utf-8") as lines:
        lines.writelines(f"{to_json(entry)}\n" for entry in written)
