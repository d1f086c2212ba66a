"""Reducers against naive versions, which walk lists and share no code with them."""

from random import Random
from typing import Any

import pytest

from protocol import (
    Message,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    add_messages,
    append_items,
    remove_tool_messages,
    replace_messages,
    replace_value,
)
from protocol._reducers import MessageIndex


def text(message_id: str | int, *, delta: bool = False) -> Message:
    return Message(
        role="user",
        content=[TextBlock(text=str(message_id))],
        message_id=message_id,
        delta=delta,
    )


def calls(*ids: str) -> Message:
    blocks = [ToolCallBlock(id=call_id, name="look") for call_id in ids]
    return Message(role="assistant", content=blocks)


def results(*ids: str) -> Message:
    return Message.tool_message([ToolResultBlock(call_id=i, output="ok") for i in ids])


def ids(messages: list[Message]) -> list[str | int]:
    return [message.message_id for message in messages]


def naive_add(left: list[Message], right: list[Message]) -> list[Message]:
    merged = list(left)
    for message in right:
        there = any(
            type(m.message_id) is type(message.message_id)
            and m.message_id == message.message_id
            for m in merged
        )
        if not there and not message.delta:
            merged.append(message)
    return merged


def some_messages(random: Random) -> list[Message]:
    names: list[str | int] = [*range(6), *map(str, range(6))]
    return [
        text(random.choice(names), delta=random.random() < 0.2)
        for _ in range(random.randrange(6))
    ]


def test_messages_are_appended_as_the_naive_version_does() -> None:
    for seed in range(300):
        random = Random(seed)
        left = naive_add([], some_messages(random))
        right = some_messages(random)
        wanted = naive_add(left, right)
        got = add_messages(left, right)
        assert ids(got) == ids(wanted), seed
        assert all(a is b for a, b in zip(got, wanted, strict=True)), seed


def test_an_index_appends_over_a_run_what_the_reducer_would() -> None:
    for seed in range(100):
        random = Random(seed)
        merged: list[Message] = []
        index = MessageIndex()
        for _ in range(10):
            right = some_messages(random)
            wanted = add_messages(merged, right)
            fresh = index.fresh(right)
            assert index.fresh(right) == fresh, "asking changes nothing"
            index.add(fresh)
            merged += fresh
            assert ids(merged) == ids(wanted), seed
        assert len(index) == len(merged)
        assert all(message.message_id in index for message in merged)


def test_reducers_leave_both_sides_as_they_were() -> None:
    left, right = [text("a")], [text("b"), text("b"), text("c", delta=True)]
    for reducer in (add_messages, replace_messages, append_items, remove_tool_messages):
        merged = reducer(left, right)
        merged.clear()
        assert (ids(left), ids(right)) == (["a"], ["b", "b", "c"])


def test_the_ids_1_and_text_1_differ() -> None:
    assert ids(add_messages([text(1)], [text("1"), text(1)])) == [1, "1"]


def test_a_replaced_list_has_no_deltas_and_no_repeats() -> None:
    right = [text("b"), text("c", delta=True), text("b")]
    assert ids(replace_messages([text("a")], right)) == ["b"]


@pytest.mark.parametrize("wrong", ["hi", [1], 5, None, text("a"), [{"role": "user"}]])
@pytest.mark.parametrize("reducer", [add_messages, replace_messages])
def test_what_is_no_message_is_refused_and_shown(reducer: Any, wrong: Any) -> None:
    with pytest.raises(TypeError, match="messages must be"):
        reducer([], wrong)


def test_replace_value_takes_whatever_comes() -> None:
    assert replace_value([1], None) is None
    assert replace_value(None, [1]) == [1]


class Thing:
    def __init__(self, thing_id: object) -> None:
        self.id = thing_id


def test_items_are_told_apart_by_their_attribute_or_key_id() -> None:
    one, two = Thing(1), {"id": 2, "n": 1}
    right = [Thing(1), {"id": 2}, {"id": 3}, Thing(3), Thing("1"), {"id": True}]
    merged = append_items([one, two], right)
    assert merged == [one, two, right[2], right[4], right[5]]


def test_items_without_an_id_are_always_appended() -> None:
    left: list[object] = ["a", {"x": 1}, Thing(None)]
    assert append_items(left, ["a", {"x": 1}]) == [*left, "a", {"x": 1}]


def naive_items(left: list[Any], right: list[Any]) -> list[Any]:
    merged = list(left)
    for item in right:
        mine = item.get("id")
        same = [o for o in merged if repr(o.get("id")) == repr(mine)]
        if mine is None or not same:
            merged.append(item)
    return merged


def test_items_are_appended_as_the_naive_version_does() -> None:
    for seed in range(300):
        random = Random(seed)
        names = [None, 0, 1, 1.0, True, "1", "a"]
        made = [{"id": random.choice(names), "n": n} for n in range(12)]
        cut = random.randrange(12)
        left = naive_items([], made[:cut])
        assert append_items(left, made[cut:]) == naive_items(left, made[cut:]), seed


ANSWER = Message.assistant("done")
QUESTION = Message.user("what?")


def test_a_finished_sequence_goes_and_its_answer_stays() -> None:
    before = [QUESTION, calls("a", "b"), results("a", "b"), ANSWER]
    assert remove_tool_messages(before) == [QUESTION, ANSWER]


def test_a_chain_of_calls_goes_whole_once_it_is_answered() -> None:
    chain = [calls("a"), results("a"), calls("b"), results("b")]
    assert remove_tool_messages([QUESTION, *chain]) == [QUESTION, *chain]
    assert remove_tool_messages([QUESTION, *chain], [ANSWER]) == [QUESTION, ANSWER]


def test_calls_without_a_result_stay_with_the_results_of_their_message() -> None:
    open_work = [calls("a", "b"), results("a")]
    finished = [calls("c"), results("c")]
    merged = remove_tool_messages([*open_work, QUESTION, *finished, ANSWER])
    assert merged == [*open_work, QUESTION, ANSWER]


def test_results_that_come_late_finish_their_calls_at_the_next_answer() -> None:
    wait = Message.assistant("wait")
    begun = [calls("a"), wait, results("a")]
    assert remove_tool_messages(begun) == begun
    assert remove_tool_messages(begun, [ANSWER]) == [wait, ANSWER]


def test_calls_answered_by_one_message_go_together_or_stay_together() -> None:
    together = [calls("a"), calls("b"), results("a", "b")]
    assert remove_tool_messages([*together, ANSWER]) == [ANSWER]
    partly = [calls("a"), calls("b", "c"), results("a", "b"), ANSWER]
    assert remove_tool_messages(partly) == partly


def test_results_of_no_call_stay_with_whatever_shares_their_message() -> None:
    lone = [results("x"), ANSWER]
    assert remove_tool_messages(lone) == lone
    mixed = [calls("a"), results("a", "x"), ANSWER]
    assert remove_tool_messages(mixed) == mixed


def test_a_call_id_used_again_belongs_to_the_calls_that_are_open() -> None:
    twice = [calls("a"), results("a"), ANSWER, calls("a")]
    assert remove_tool_messages(twice) == [ANSWER, calls("a")]


def test_text_beside_results_goes_with_them() -> None:
    blocks = [TextBlock(text="see"), ToolResultBlock(call_id="a", output="ok")]
    shown = Message.tool_message(blocks)
    assert remove_tool_messages([calls("a"), shown, ANSWER]) == [ANSWER]


def naive_finished(messages: list[Message]) -> set[int]:
    """The places that go, found by growing groups until nothing changes."""
    owner: dict[tuple[int, str], int] = {}
    strays: set[int] = set()
    for place, message in enumerate(messages):
        for block in message.content:
            if not isinstance(block, ToolResultBlock):
                continue
            asking = [
                before
                for before in range(place)
                for call in messages[before].tool_calls
                if call.id == block.call_id and (before, call.id) not in owner
            ]
            if asking:
                owner[asking[-1], block.call_id] = place
            else:
                strays.add(place)
    gone: set[int] = set()
    for start, message in enumerate(messages):
        if not message.tool_calls:
            continue
        group = {start}
        while True:
            grown = set(group)
            for (asked, _), answered in owner.items():
                if asked in group or answered in group:
                    grown |= {asked, answered}
            if grown == group:
                break
            group = grown
        wanted = {(p, c.id) for p in group for c in messages[p].tool_calls}
        answered_later = any(
            m.role == "assistant" and not m.tool_calls
            for m in messages[max(group) + 1 :]
        )
        if wanted <= owner.keys() and not group & strays and answered_later:
            gone |= group
    return gone


def some_work(random: Random) -> list[Message]:
    made: list[Message] = []
    names = [f"c{n}" for n in range(30)]
    asked: list[str] = []
    for _ in range(random.randrange(12)):
        kind = random.random()
        if kind < 0.35:
            fresh = [names.pop() for _ in range(random.randint(1, 2))]
            asked += fresh
            made.append(calls(*fresh))
        elif kind < 0.7 and asked:
            random.shuffle(asked)
            taken = [asked.pop() for _ in range(random.randint(1, min(3, len(asked))))]
            if random.random() < 0.05:
                taken.append("stray")
            made.append(results(*taken))
        else:
            made.append(random.choice([ANSWER, QUESTION]))
    return [Message(role=m.role, content=m.content) for m in made]


def test_tool_work_is_removed_as_the_naive_version_does() -> None:
    removed = 0
    for seed in range(600):
        messages = some_work(Random(seed))
        gone = naive_finished(messages)
        wanted = [m for place, m in enumerate(messages) if place not in gone]
        assert ids(remove_tool_messages(messages)) == ids(wanted), seed
        removed += len(gone)
    assert removed > 200, "the histories reach what they are for"
