"""The codec: what was recorded comes back equal, and nothing else comes back."""

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, get_args

import attrs
import msgspec
import pytest
from msgspec import structs

from protocol._codec import (
    UPCASTS,
    Fields,
    decode_entry,
    encode_entry,
    from_json,
    to_json,
)
from protocol._content import ContentBlock, TextBlock, ToolCallBlock
from protocol._entries import (
    ErrorEntry,
    ExtraDataEntry,
    HistoryEntry,
    MessageEntry,
    ModelReplyEntry,
    ModelRequestEntry,
    Reply,
    StopEntry,
    ToolResultEntry,
    UnknownEntry,
)
from protocol._errors import StoreDamaged
from protocol._fold import replay
from protocol._graph_value import GraphThread
from protocol._json import FrozenDict, FrozenList
from protocol._message import Message
from protocol._records import scan
from protocol._snapshot import snapshot_of, value_of
from protocol._stops import Stopped
from protocol._usage import Usage
from tests.protocol.golden import BY_NAME, DATA, ENTRIES, JSON_VALUE, log_of

GOLDEN = {
    "graph-1": "cf1a045cd4279836becae1f59741f839870c21b56f1ce5738b404e2d3b3f1cb7",
    "entries-1": "432d1b250126b067a252e2951399ca43cf2e9b21b53517df669029924b6da908",
}
"""The files of each version, and the digest of what their history means."""

ALL = [entry for entries in BY_NAME.values() for entry in entries]
BODIES = [encode_entry(entry) for entry in ENTRIES]
LOG = log_of(BODIES)

Way = Callable[[HistoryEntry], HistoryEntry | UnknownEntry]
WAYS: list[Way] = [
    lambda entry: decode_entry(encode_entry(entry)),
    lambda entry: from_json(to_json(entry)),
]
both_ways = pytest.mark.parametrize("way", WAYS, ids=["bytes", "json"])


def pack(value: object) -> bytes:
    return msgspec.msgpack.encode(value)


def unpack(data: bytes) -> Any:
    return msgspec.msgpack.decode(data)


def plain(entry: HistoryEntry) -> HistoryEntry:
    """The entry as it is in another process: without its exception object."""
    if isinstance(entry, ToolResultEntry | ErrorEntry):
        return structs.replace(entry, error=None)
    return entry


def digest(history: list[Any]) -> str:
    meaning = snapshot_of(replay(history))
    fields = [
        meaning.messages,
        meaning.pending_calls,
        meaning.held_messages,
        meaning.phase,
        meaning.turn,
        meaning.usage,
        meaning.extra_data,
        meaning.finished,
        meaning.answer,
        meaning.stopped,
        meaning.parent_id,
        meaning.parent_call_id,
    ]
    thread = value_of(meaning).open
    if type(thread) is GraphThread:
        told = {name: getattr(thread, name) for name in thread.__struct_fields__}
        del told["task_ids"]  # the tasks name them
        told |= {"done": [*thread.done], "children": dict(thread.children.items())}
        fields.append(told)
    text = json.dumps(msgspec.to_builtins(fields), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def blocks_in(value: object) -> Iterator[type]:
    if type(value) in get_args(ContentBlock):
        yield type(value)
    if isinstance(value, msgspec.Struct):
        value = [getattr(value, name) for name in value.__struct_fields__]
    if isinstance(value, list | tuple):
        for item in value:
            yield from blocks_in(item)


def test_the_golden_history_holds_every_kind_of_entry_stop_and_block() -> None:
    kinds = {type(entry) for entry in ALL}
    assert kinds == {*get_args(HistoryEntry)}
    stops = {type(entry.content) for entry in ENTRIES if type(entry) is StopEntry}
    assert stops == {*get_args(Stopped), type(None)}
    assert {*blocks_in(ENTRIES)} == {*get_args(ContentBlock)}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_history_reads_the_same_for_ever(name: str) -> None:
    read = scan((DATA / f"{name}.log").read_bytes())
    assert read.verdict == "clean"
    history = [decode_entry(body) for body in read.records]
    wanted = BY_NAME[name]
    assert history == wanted
    lines = (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()
    assert [from_json(line) for line in lines] == wanted
    assert digest(history) == GOLDEN[name]


@both_ways
@pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.kind)
def test_an_entry_comes_back_equal_down_to_its_bytes(
    way: Way, entry: HistoryEntry
) -> None:
    again = way(entry)
    assert again == entry
    assert not isinstance(again, UnknownEntry)
    assert again.at == entry.at
    assert encode_entry(again) == encode_entry(plain(entry))


@both_ways
def test_json_comes_back_frozen_all_the_way_down(way: Way) -> None:
    call = ToolCallBlock(id="1", name="f", args={"a": [{"b": 2**80}]})
    message = Message(
        role="assistant", content=(call,), raw={"a": [1]}, parsed_content=[[1]]
    )
    reply = way(ModelReplyEntry(content=Reply(message=message)))
    assert isinstance(reply, ModelReplyEntry)
    again = reply.content.message
    args = again.tool_calls[0].args
    assert type(args) is type(again.raw) is FrozenDict
    assert type(args["a"]) is type(again.parsed_content[0]) is FrozenList
    assert type(args["a"][0]) is FrozenDict
    extra = way(ExtraDataEntry(content=FrozenDict({"a": {"b": [2**80]}})))
    assert isinstance(extra, ExtraDataEntry)
    assert type(extra.content["a"]["b"]) is FrozenList


@both_ways
@pytest.mark.parametrize(
    "number",
    [sign * (1 << bits) + step for bits in (7, 8, 31, 32, 63, 64, 65, 127, 128, 500)
     for sign in (1, -1) for step in (-1, 0, 1)],
)  # fmt: skip
def test_integers_of_any_size_survive(way: Way, number: int) -> None:
    entry = ExtraDataEntry(content=FrozenDict({"n": [number], str(number): "key"}))
    again = way(entry)
    assert again == entry
    assert isinstance(again, ExtraDataEntry)
    assert type(again.content["n"][0]) is int


@both_ways
def test_a_counted_integer_of_any_size_survives_too(way: Way) -> None:
    message = Message.assistant("much")
    reply = Reply(message=message, usage=Usage(input_tokens=2**70, requests=1))
    entry = ModelReplyEntry(content=reply)
    assert way(entry) == entry


def test_a_time_before_1970_survives_beside_a_big_integer() -> None:
    at = datetime(1901, 1, 1, 1, 1, 1, 1, UTC)
    entry = ExtraDataEntry(at=at, content=FrozenDict({"n": 2**64}))
    again = decode_entry(encode_entry(entry))
    assert isinstance(again, ExtraDataEntry)
    assert (again.at, again) == (at, entry)


def test_an_exception_object_is_written_as_null() -> None:
    entry = ErrorEntry(content="ValueError: no", error=ValueError("no"))
    assert unpack(encode_entry(entry))["error"] is None
    assert json.loads(to_json(entry))["error"] is None
    assert decode_entry(encode_entry(entry)) == entry


@both_ways
def test_an_exception_that_msgspec_could_write_is_left_out_too(way: Way) -> None:
    @attrs.define(slots=False)
    class Told(Exception):
        reason: str

    entries = [
        ErrorEntry(content="Told: no", error=Told("no")),
        ToolResultEntry(
            content="no",
            call=ToolCallBlock(id="1", name="f"),
            outcome="interrupted",
            error=Told("no"),
        ),
    ]
    for entry in entries:
        assert way(entry) == entry
        assert way(entry).error is None  # type: ignore[union-attr] # both have it


def test_what_has_no_recorded_form_is_refused() -> None:
    message = Message(
        role="assistant", content=(TextBlock(text="x"),), parsed_content=object()
    )
    for encode in (encode_entry, to_json):
        with pytest.raises(TypeError, match="cannot encode an object"):
            encode(MessageEntry(message=message))


def test_json_is_one_line_that_begins_with_the_kind() -> None:
    line = to_json(ModelRequestEntry(turn=1, content="a/b\nc"))
    assert line.startswith('{"entry":"model_request","turn":1,')
    assert "\n" not in line


UNKNOWN = pack({"entry": "dream", "turn": 3, "at": "2031", "of": [1, {"sheep": None}]})
NEWER = pack({"entry": "message.2", "message": "in a form of its own"})


@pytest.mark.parametrize(
    ("data", "kind"), [(UNKNOWN, "dream"), (NEWER, "message.2")], ids=["kind", "form"]
)
def test_what_a_newer_version_wrote_is_kept_byte_for_byte(
    data: bytes, kind: str
) -> None:
    entry = decode_entry(data)
    assert entry == UnknownEntry(kind=kind, raw=data)
    assert encode_entry(entry) == data
    assert from_json(to_json(entry)) == entry
    with pytest.raises(ValueError, match=kind):
        replay([entry])  # type: ignore[list-item]  # a fold refuses it


def test_a_kind_of_a_newer_version_is_read_from_json_too() -> None:
    entry = from_json('{"entry":"dream","size":36893488147419103232}')
    assert isinstance(entry, UnknownEntry)
    assert entry.kind == "dream"
    assert unpack(entry.raw)["entry"] == "dream"
    assert decode_entry(entry.raw) == entry


def remark_to_second(fields: Fields) -> Fields:
    return {"entry": "remark.2", "text": fields["said"], "at": fields["at"]}


def second_to_message(fields: Fields) -> Fields:
    block = {"type": "text", "text": fields.pop("text")}
    message = {"role": "user", "content": [block], "message_id": "old"}
    return fields | {"entry": "message", "message": message}


@pytest.fixture
def upcasts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind of entry that this version no longer has, in two older forms."""
    monkeypatch.setitem(UPCASTS, "remark", remark_to_second)
    monkeypatch.setitem(UPCASTS, "remark.2", second_to_message)


@pytest.mark.usefixtures("upcasts")
def test_older_forms_are_brought_up_one_version_at_a_time() -> None:
    at = datetime(2020, 1, 2, tzinfo=UTC)
    first = {"entry": "remark", "said": "hello", "at": at}
    second = {"entry": "remark.2", "text": "hello", "at": at}
    for fields in (first, second):
        text = msgspec.json.encode(fields).decode()
        for entry in (decode_entry(pack(fields)), from_json(text)):
            assert entry == MessageEntry(message=Message.user("hello"))
            assert isinstance(entry, MessageEntry)
            assert entry.at == at


@pytest.mark.usefixtures("upcasts")
def test_an_old_entry_that_an_upcast_cannot_read_is_damage() -> None:
    with pytest.raises(StoreDamaged, match=r"a 'remark' entry of .* 'said'"):
        decode_entry(pack({"entry": "remark", "at": "2020"}))


def test_an_upcast_that_leads_nowhere_is_a_mistake_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(UPCASTS, "remark", lambda fields: fields)
    with pytest.raises(AssertionError, match="'remark' leads nowhere"):
        decode_entry(pack({"entry": "remark"}))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "an entry of 0 bytes: Input data was truncated"),
        (b"\xc1", "an entry of 1 bytes: .*malformed"),
        (pack([1, 2]), "an entry of 3 bytes: Expected `object`, got `array`"),
        (pack({}), "an entry of 1 bytes: it has kind None"),
        (pack({"entry": 7}), "it has kind 7"),
        (pack({"entry": "message"}), "a 'message' entry of .*field `message`"),
        (
            pack({"entry": "model_request", "content": 5}),
            r"a 'model_request' entry of .*Expected `str`, got `int`.*\$.content",
        ),
        (pack({"entry": "stop"}) + b"\0", "trailing"),
        (pack({"entry": "stop", "at": msgspec.msgpack.Ext(9, b"")}), "extension 9"),
        (b"\x81\xa5entry" + b"\x91" * 100_000, "recursion"),
    ],
)
def test_bytes_that_are_no_entry_are_damage_with_what_and_where(
    data: bytes, text: str
) -> None:
    with pytest.raises(StoreDamaged, match=text):
        decode_entry(data)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"entry":"message"}', '{"entry":"stop"', "NaN",
        '{"entry":"x","raw":5}', '{"entry":"x","raw":"?"}', '{"entry":"x","raw":""}',
        '{"entry":' + "[" * 100_000, '{"entry":"stop","at":"yesterday"}',
    ],
)  # fmt: skip
def test_a_text_that_is_no_entry_is_damage(text: str) -> None:
    with pytest.raises(StoreDamaged, match="cannot decode"):
        from_json(text)


def test_every_truncation_of_every_entry_is_damage() -> None:
    for body in BODIES:
        for size in range(len(body)):
            with pytest.raises(StoreDamaged):
                decode_entry(body[:size])


def mutate(data: bytes, draw: random.Random) -> bytes:
    """`data` with one to three changes: a bit, a byte, a cut, bytes more."""
    mutated = bytearray(data)
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(len(mutated))
        match draw.randrange(4):
            case 0:
                mutated[place] ^= 1 << draw.randrange(8)
            case 1:
                mutated[place] = draw.randrange(256)
            case 2:
                del mutated[place : place + draw.randint(1, 8)]
            case _:
                mutated[place:place] = draw.randbytes(draw.randint(1, 8))
        if not mutated:
            break
    return bytes(mutated)


@pytest.mark.parametrize("seed", range(10))
def test_mutated_bytes_decode_to_an_entry_or_are_damage_and_nothing_else(
    seed: int,
) -> None:
    draw = random.Random(seed)
    for number in range(300):
        data = mutate(draw.choice(BODIES), draw)
        try:
            entry = decode_entry(data)
        except StoreDamaged:
            continue
        except BaseException as error:
            raise AssertionError(f"seed={seed} number={number} {data!r}") from error
        if isinstance(entry, UnknownEntry):
            assert encode_entry(entry) == data, f"seed={seed} number={number}"


def mutations_found(seed: int, count: int) -> int:
    """Mutate the golden log so often; each time what is read is what was written.

    Returns how many of the mutations the codec alone would have taken for others.
    """
    draw = random.Random(seed)
    silent = 0
    for number in range(count):
        mutated = mutate(LOG, draw)
        read = scan(mutated)
        failure = f"mutations_found(seed={seed}) failed at number {number}"
        assert read.records == BODIES[: len(read.records)], failure
        whole = mutated == LOG[: read.end]
        assert (read.verdict == "clean") is whole, failure
        silent += decodes_unnoticed(mutate(draw.choice(BODIES), draw))
    return silent


def decodes_unnoticed(body: bytes) -> bool:
    try:
        return body not in BODIES and type(decode_entry(body)) is not UnknownEntry
    except StoreDamaged:
        return False


def test_mutated_records_never_read_as_other_entries_unnoticed() -> None:
    assert mutations_found(seed=1, count=1000) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_many_mutated_records_never_read_as_other_entries_unnoticed(seed: int) -> None:
    assert mutations_found(seed=1000 + seed, count=20_000) > 0


def test_the_sample_of_json_tells_numbers_apart() -> None:
    again = decode_entry(encode_entry(ExtraDataEntry(content=JSON_VALUE)))
    assert isinstance(again, ExtraDataEntry)
    assert json.dumps(again.content) == json.dumps(JSON_VALUE)
