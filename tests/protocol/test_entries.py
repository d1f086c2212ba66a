from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from msgspec import structs

from protocol import (
    Exchange,
    HistoryEntry,
    ImageBlock,
    MediaRef,
    Message,
    MessageEntry,
    ModelEvent,
    ModelRequestEntry,
    Question,
    Reply,
    StoppedByFinish,
    TextBlock,
    ToolCallBlock,
    ToolOutcomeKind,
    ToolResultEntry,
    UnknownEntry,
)
from protocol._json import FrozenDict
from protocol._work_entries import Answer

from .golden import BY_NAME, ENTRIES

CALL = ToolCallBlock(id="a", name="search")
IMAGE = ImageBlock(media=MediaRef(kind="url", url="https://example.org"))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.kind)
def test_entries_compare_without_their_times_and_exceptions(entry: Any) -> None:
    later = structs.replace(entry, at=datetime(2031, 1, 1, tzinfo=UTC))
    assert later == entry
    assert hash(later) == hash(entry)
    assert structs.replace(entry, turn=entry.turn + 1) != entry
    if hasattr(entry, "error"):
        assert structs.replace(entry, error=ValueError()) == entry


def test_entries_of_two_kinds_are_never_equal() -> None:
    kinds = {type(entry): entry for entries in BY_NAME.values() for entry in entries}
    assert set(kinds) == set(get_args(HistoryEntry))
    for kind, entry in kinds.items():
        assert [other for other in kinds.values() if other == entry] == [entry]
        assert entry != kind
        assert entry != entry.content


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.kind)
def test_an_entry_is_frozen(entry: Any) -> None:
    with pytest.raises(AttributeError):
        entry.turn = 5
    with pytest.raises(AttributeError):
        entry.kind = "other"


@pytest.mark.parametrize(
    ("message", "kind", "content"),
    [
        (Message.user("x"), "user", "x"),
        (Message.notice("x"), "notice", "[notice] x"),
        (Message.user("x", IMAGE), "user", (TextBlock(text="x"), IMAGE)),
    ],
)
def test_a_message_entry_reads_its_message(
    message: Message, kind: str, content: Any
) -> None:
    entry = MessageEntry(message=message)
    assert (entry.kind, entry.content) == (kind, content)


def test_a_reply_reads_its_message() -> None:
    content = [TextBlock(text="let me see"), CALL]
    reply = Reply(message=Message(role="assistant", content=content))
    assert (reply.text, reply.tool_calls, reply.cut_off) == (
        "let me see",
        (CALL,),
        False,
    )


@pytest.mark.parametrize("where", ["reply", "message"])
def test_a_reply_is_cut_off_when_it_or_its_message_says_so(where: str) -> None:
    message = Message(role="assistant", content=[])
    if where == "message":
        message = structs.replace(message, stop_reason="max_tokens")
        assert Reply(message=message).cut_off
    else:
        assert Reply(message=message, stop_reason="length").cut_off


@pytest.mark.parametrize("outcome", get_args(ToolOutcomeKind))
def test_every_outcome_but_done_is_an_error(outcome: ToolOutcomeKind) -> None:
    entry = ToolResultEntry(content="", call=CALL, outcome=outcome)
    assert entry.is_error == (outcome != "done")


FREEZING: dict[str, tuple[Any, str]] = {
    "an event": (lambda v: ModelEvent(kind="retry", data=v), "data"),
    "an exchange": (lambda v: Exchange(question="?", answer=v), "answer"),
    "a finish": (lambda v: StoppedByFinish(answer=v), "answer"),
    "an answer": (lambda v: Answer(question_id="q", value=v), "value"),
    "a question": (
        lambda v: Question(id="q", state_id="s", prompt="?", returns=v),
        "returns",
    ),
}


@pytest.mark.parametrize("case", FREEZING)
def test_json_is_frozen_as_it_is_recorded(case: str) -> None:
    make, field = FREEZING[case]
    given = {"list": [1, (2, 3)]}
    kept = getattr(make(given), field)
    given["list"].append(4)
    assert kept == {"list": [1, [2, 3]]}
    assert type(kept) is FrozenDict
    assert getattr(make(kept), field) is kept
    with pytest.raises(TypeError, match=r"list\[0\]"):
        make({"list": [{1}]})


def test_an_unknown_entry_keeps_its_bytes() -> None:
    entry = UnknownEntry(kind="of_2031", raw=b"\x80")
    assert entry == UnknownEntry(kind="of_2031", raw=b"\x80")
    assert entry != ModelRequestEntry(content="fake/one")
