"""Between the typed state and the JSON form that history keeps."""

import operator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

from protocol import AgentState, Message, NodeError
from protocol._fold import fold
from protocol._graph_entries import GraphStart, GraphStartEntry
from protocol._graph_state import (
    ContextIndex,
    changed_json,
    fields_json,
    meta_of,
    own_fields,
    read_update,
    record_update,
    state_of,
)
from protocol._graph_value import GraphThread
from protocol._state_updates import merge_step
from protocol._value import NOTHING_RECORDED


@dataclass
class Item:
    name: str
    when: datetime


WHEN = datetime(2024, 2, 29, tzinfo=UTC)


class Shop(AgentState):
    items: Annotated[list[Item], operator.add] = []
    seen: Annotated[
        set[str], lambda old, new: old | ({new} if isinstance(new, str) else new)
    ] = set()
    price: float = 0.0
    notes: Annotated[dict[str, Any], lambda old, new: {**old, **new}] = {}


def test_an_update_is_read_back_with_its_fields_types() -> None:
    update = {
        "items": [Item("a", WHEN)],
        "seen": {"x"},
        "price": 2.5,
        "notes": {"a": 1},
    }
    recorded = record_update(Shop, update, "node")
    assert recorded.fields["items"] == [{"name": "a", "when": "2024-02-29T00:00:00Z"}]
    assert read_update(Shop, recorded) == update


def test_an_update_of_another_type_than_its_field_reaches_the_reducer_as_it_was() -> (
    None
):
    recorded = record_update(Shop, {"seen": "y"}, "node")
    assert read_update(Shop, recorded) == {"seen": "y"}
    merged = merge_step(Shop(seen={"x"}), [("a", read_update(Shop, recorded))])
    assert merged.values["seen"] == {"x", "y"}


def test_several_updates_of_one_node_follow_each_other() -> None:
    state = Shop()
    merged = merge_step(state, [("a", [{"price": 1.0}, {"price": 2.0}])])
    assert merged.values["price"] == 2.0
    with pytest.raises(NodeError) as raised:
        merge_step(state, [("a", {"price": 1.0}), ("a", {"price": 2.0})])
    assert raised.value.field == "price"


def test_messages_stand_beside_the_fields() -> None:
    message = Message.user("hi")
    recorded = record_update(Shop, {"context": [message]}, "node")
    assert recorded.messages == (message,)
    assert read_update(Shop, recorded) == {"context": [message]}
    assert read_update(Shop, recorded, fields_only=True) == {}


@pytest.mark.parametrize(
    ("update", "error"),
    [
        ({"price": "x"}, TypeError),
        ({"notes": object()}, TypeError),
        ({"items": [object()]}, TypeError),
        ({"context": [1]}, TypeError),
        ({"nothing": 1}, ValueError),
        ({"execution_meta": {}}, ValueError),
        (7, TypeError),
    ],
)
def test_what_cannot_be_recorded_is_refused(
    update: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        record_update(Shop, update, "node")


def test_a_thread_gives_back_the_state_it_was_given() -> None:
    state = Shop(items=[Item("a", WHEN)], seen={"x"}, price=2.5)
    fields = fields_json(state, own_fields(Shop))
    assert set(fields) == {"context_summary", "items", "seen", "price", "notes"}
    start = GraphStart(fields={**fields, "lost": 1})
    value = fold(NOTHING_RECORDED, GraphStartEntry(content=start))
    again = state_of(Shop(), value)
    assert (again.items, again.seen, again.price) == (state.items, {"x"}, 2.5)


def test_what_a_merge_changed_is_told_in_json() -> None:
    merged = merge_step(Shop(), [("a", {"items": [Item("a", WHEN)]})])
    fields, context = changed_json(Shop, merged)
    assert fields == {"items": [{"name": "a", "when": "2024-02-29T00:00:00Z"}]}
    assert context is None


def test_the_ids_of_a_context_are_looked_up_and_never_walked() -> None:
    messages = tuple(Message.user(str(number)) for number in range(3))
    start = GraphStart(messages=messages)
    index = ContextIndex(fold(NOTHING_RECORDED, GraphStartEntry(content=start)))
    new = Message.user("new")
    assert index.fresh([*messages, new, new]) == [new]
    assert messages[0].message_id in index


def test_where_a_thread_is_shows_in_its_meta() -> None:
    assert meta_of(GraphThread(), "t").status == "ready"
    failed = meta_of(GraphThread(status="error", text="why", stopped=True), "t")
    assert (failed.error_text, failed.stop_current_execution) == ("why", "stopped")
