"""Values by way of a rest are the same as those of a whole replay."""

from random import Random
from typing import Any
from zlib import crc32

import msgspec
import pytest

from protocol import HistoryEntry, Message, StoreDamaged
from protocol._codec import encode_entry
from protocol._commands import AddMessage, CloseCall, Compact, Receive, Request
from protocol._decide import step
from protocol._entries import (
    ExtraDataEntry,
    MessageEntry,
    ModelReplyEntry,
    ModelRequestEntry,
    Reply,
)
from protocol._entry import EPOCH
from protocol._fold import replay
from protocol._json import FrozenDict
from protocol._lazy import (
    REST_BYTES_MAX,
    _LazyItems,
    place_of_first,
    rest_in,
    rest_of,
    value_from_rest,
)
from protocol._snapshot import snapshot_of
from protocol._value import Value
from tests.model.generate import run_seed


def seen(value: Value) -> tuple[Any, ...]:
    snapshot = snapshot_of(value)
    return (
        value.turn,
        value.usage,
        value.answer,
        value.phase,
        value.facts,
        value.count,
        snapshot.messages,
        snapshot.history,
        value.held.read(),
        value.late.read(),
        value.pending,
        value.results.cleared,
        value.results.more,
        value.results.anchors,
        value.results.counted,
        value.results.places.read(),
        value.results.changed.read(),
    )


def by_way_of(history: list[HistoryEntry], cut: int) -> Value | None:
    rest = rest_in(rest_of(replay(history[:cut])))
    if rest is None:
        return None
    return value_from_rest(rest, [encode_entry(entry) for entry in history])


def compare(seed: int) -> int:
    """How many rests of the seed's history led to the same value."""
    history = list(run_seed(seed).pair.state.history)
    whole, random, found = replay(history), Random(seed), 0
    for cut in random.sample(range(len(history) + 1), min(len(history) + 1, 6)):
        value = by_way_of(history, cut)
        if value is not None:
            assert seen(value) == seen(whole), f"seed {seed}, cut {cut}"
            assert snapshot_of(value) == snapshot_of(whole)
            found += 1
    return found


def test_histories_by_way_of_a_rest_mean_the_same() -> None:
    assert sum(compare(seed) for seed in range(40)) > 30


@pytest.mark.slow
def test_3_000_histories_by_way_of_a_rest_mean_the_same() -> None:
    assert sum(compare(seed) for seed in range(1_000, 4_000)) > 3_000


def turns(count: int) -> list[HistoryEntry]:
    entries: list[HistoryEntry] = []
    for number in range(count):
        reply = Reply(message=Message.assistant(f"answer {number}"))
        entries.extend(
            [
                MessageEntry(message=Message.user(f"question {number}")),
                ModelRequestEntry(content="m"),
                ModelReplyEntry(content=reply),
            ]
        )
    return entries


def decoded(value: Value) -> bool:
    parent = value.history.parent
    return parent is None or list.__len__(parent.items) > 0


def test_a_turn_goes_on_without_decoding_what_came_before() -> None:
    history = turns(50)
    value = by_way_of(history, 120)
    assert value is not None
    reply = Reply(message=Message.assistant("more"))
    for command in (AddMessage(Message.user("x")), Request("m"), Receive(reply)):
        value = step(value, command, lambda: EPOCH)
    assert not decoded(value)
    assert (value.size, value.turn, value.count) == (153, 51, 102)
    expected = replay(history)
    for command in (
        AddMessage(value.messages.at(100)),
        Request("m"),
        Receive(reply),
    ):
        expected = step(expected, command, lambda: EPOCH)
    assert not decoded(value)
    assert seen(value) == seen(expected)
    assert decoded(value)


def test_a_compaction_and_a_fork_of_such_a_value_read_what_they_need() -> None:
    history = turns(30)
    value = by_way_of(history, 90)
    assert value is not None
    fork = value.branch()
    fork = step(fork, Compact("all of it"), lambda: EPOCH)
    texts = [message.text() for message in snapshot_of(fork).messages]
    assert texts[0] == "question 0"
    assert "all of it" in texts[1]
    assert seen(value) == seen(replay(history))


def test_there_is_no_rest_in_the_middle_of_a_turn_or_of_a_finished_state() -> None:
    history = turns(2)
    assert rest_of(replay(history)) is not None
    assert rest_of(replay(history[:5])) is None, "a request is open"


def test_a_rest_that_is_too_long_is_left_out() -> None:
    history = turns(1)
    long = Reply(message=Message.assistant("x" * REST_BYTES_MAX))
    history[-1] = ModelReplyEntry(content=long)
    assert rest_of(replay(history)) is None


def test_a_first_message_that_stands_far_behind_is_looked_for_no_further() -> None:
    history = turns(20)
    value = replay([entry for entry in history if entry.kind != "user"][:20])
    value = step(value, AddMessage(Message.user("late")), lambda: EPOCH)
    assert rest_of(value) is None
    assert place_of_first(value) is None
    assert rest_of(value, (20, 0)) is not None


def test_a_rest_of_another_version_or_length_is_not_used() -> None:
    history = turns(3)
    text = rest_of(replay(history))
    assert text is not None
    rest = rest_in(text)
    assert rest is not None
    assert rest.first_user == (0, 0)
    assert value_from_rest(rest, [encode_entry(e) for e in history[:-1]]) is None
    plain = msgspec.json.decode(text.partition(" ")[2], type=dict[str, Any])
    assert rest_in(sealed(plain)) == rest
    for change in ({"version": 99}, {"size": "x"}, {"usage": 3}):
        assert rest_in(sealed(plain | change)) is None
    for junk in ("junk", None, 7, "00000000 junk"):
        assert rest_in(junk) is None


def sealed(rest: dict[str, Any]) -> str:
    text = msgspec.json.encode(rest)
    return f"{crc32(text):08x} {text.decode()}"


def test_a_rest_with_one_letter_changed_is_not_used() -> None:
    text = rest_of(replay(turns(3)))
    assert text is not None
    for place in range(len(text)):
        changed = chr(ord(text[place]) ^ 1)
        assert rest_in(text[:place] + changed + text[place + 1 :]) is None


def test_damage_before_a_rest_is_told_when_it_is_read() -> None:
    history = turns(3)
    bodies = [encode_entry(entry) for entry in history]
    rest = rest_in(rest_of(replay(history)))
    assert rest is not None
    value = value_from_rest(rest, [bodies[0], b"junk", *bodies[2:]])
    assert value is not None
    for _ in range(2):
        with pytest.raises(StoreDamaged, match="cannot decode"):
            snapshot_of(value).history
    value = value_from_rest(rest, [*bodies[:3], *bodies[1:3], *bodies[5:]])
    assert value is not None
    with pytest.raises(StoreDamaged, match="the history is damaged: entry 5"):
        snapshot_of(value).messages


def test_what_text_cannot_hold_leaves_no_rest() -> None:
    history: list[HistoryEntry] = [
        *turns(1),
        ExtraDataEntry(content=FrozenDict({"n": 10**5000})),
    ]
    assert rest_of(replay(history)) is None


def test_an_entry_of_a_newer_version_behind_a_rest_is_left_to_the_replay() -> None:
    history = turns(2)
    rest = rest_in(rest_of(replay(history)))
    assert rest is not None
    newer = msgspec.msgpack.encode({"entry": "of tomorrow"})
    bodies = [encode_entry(entry) for entry in history]
    assert value_from_rest(rest, [*bodies, newer]) is None


def test_a_rest_that_counts_other_items_than_there_are_is_found_out() -> None:
    history = turns(2)
    text = rest_of(replay(history))
    assert text is not None
    plain = msgspec.json.decode(text.partition(" ")[2], type=dict[str, Any])
    rest = rest_in(sealed(plain | {"count": plain["count"] + 1}))
    assert rest is not None
    value = value_from_rest(rest, [encode_entry(entry) for entry in history])
    assert value is not None
    with pytest.raises(StoreDamaged, match="says 5 items, and the entries make 4"):
        snapshot_of(value).messages


def test_items_have_a_number_before_they_are_made() -> None:
    made: list[str] = []

    def make() -> list[str]:
        made.append("now")
        return ["a", "b"]

    items = _LazyItems(2, make)
    assert len(items) == 2
    assert not made
    assert [*items] == ["a", "b"]
    assert (items[1], items[:1], made) == ("b", ["a"], ["now"])


def test_a_call_id_that_came_before_is_still_known() -> None:
    from protocol import ToolCall

    call = ToolCall(id="c", name="t")
    asks = Reply(message=Message(role="assistant", content=(call,)))
    value = replay(turns(1))
    for command in (Request("m"), Receive(asks), CloseCall(call, "done", "done")):
        value = step(value, command, lambda: EPOCH)
    history = list(snapshot_of(value).history)
    lazy = by_way_of(history, len(history))
    assert lazy is not None
    lazy = step(lazy, Request("m"), lambda: EPOCH)
    lazy = step(lazy, Receive(asks), lambda: EPOCH)
    (again,) = lazy.pending
    assert again.id != "c"
    assert again.model_id == "c"


def test_a_rest_has_a_default_for_whatever_is_usual() -> None:
    text = rest_of(replay(turns(1)))
    assert text is not None
    assert len(text) < 120
    rest = rest_in(text)
    assert rest is not None
    assert rest.turn == 1
