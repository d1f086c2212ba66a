import copy
import operator
from random import Random
from typing import Annotated, Any

import msgspec
import pytest

from protocol import (
    AgentState,
    ExecMeta,
    Message,
    NodeError,
    add_messages,
    append_items,
    replace_messages,
)
from protocol._reducers import MessageIndex
from protocol._state_updates import (
    Merged,
    check_update,
    copy_for_node,
    copy_with,
    merge_step,
    merge_update,
    state_from_json,
    state_to_json,
    writes_of,
)


def greet(left: str, right: str) -> str:
    if not right:
        raise LookupError("nobody")
    return f"{left}+{right}"


class MyState(AgentState):
    user_id: str = ""
    total: Annotated[int, operator.add] = 10
    names: Annotated[str, greet] = "start"
    items: Annotated[list[dict[str, Any]], append_items] = []
    free: Any = None


HI, YES = Message.user("hi"), Message.assistant("yes")
KING = Message(role="king", content=())  # type: ignore[arg-type]  # no such role
RUNNING = ExecMeta(status="running", current_node="A", step=3)


def test_a_node_gets_a_copy_that_remembers_what_it_assigned() -> None:
    state = MyState(user_id="u", context=[HI])
    node = copy_for_node(state, RUNNING)
    assert (node.user_id, node.context, node.is_running()) == ("u", [HI], True)
    assert writes_of(node) == {}
    node.total = 5
    node.user_id = "v"
    node.user_id = "w"
    assert (node.total, node.user_id) == (5, "w")
    assert writes_of(node) == {"total": 5, "user_id": "w"}
    assert state == MyState(user_id="u", context=[HI])


def test_helpers_in_a_node_change_its_copy_only_and_are_no_write() -> None:
    state = MyState()
    node = copy_for_node(state, RUNNING)
    node.complete()
    node.advance_step()
    assert node.execution_meta.status == "completed"
    assert node.execution_meta.step == 4
    assert state.execution_meta == ExecMeta()
    assert writes_of(node) == {}


def test_a_node_sees_the_view_as_context_and_it_is_made_once_when_read() -> None:
    made: list[int] = []

    def view() -> list[Message]:
        made.append(1)
        return [YES]

    state = MyState(context=[HI, YES])
    node = copy_for_node(state, RUNNING, view)
    assert not made
    assert node.context == node.context == [YES]
    assert made == [1]
    assert writes_of(node) == {}
    unread = copy.copy(copy_for_node(state, RUNNING, view))
    assert unread.context == [YES]
    with pytest.raises(TypeError, match="read-only"):
        node.context.append(HI)


def test_assigning_a_field_is_a_write_like_returning_it() -> None:
    state = MyState()
    node = copy_for_node(state, RUNNING)
    node.total = 5
    node.context = [HI]
    assert merge_step(state, [("A", writes_of(node))]) == merge_step(
        state, [("A", {"total": 5, "context": [HI]})]
    )


def test_a_returned_copy_counts_once() -> None:
    node = copy_for_node(MyState(), RUNNING)
    node.total = 5
    assert writes_of(node, node) == {"total": 5}


def test_another_state_returned_counts_only_for_fields_it_changed() -> None:
    state = MyState(user_id="u", free=[1])
    node = copy_for_node(state, RUNNING)
    node.free = [2]
    other = MyState(user_id="u", total=3, execution_meta=RUNNING)
    assert writes_of(node, other) == {"free": [2], "total": 3}


def test_updates_go_through_the_reducers_in_the_order_given() -> None:
    state = MyState(context=[HI])
    merged = merge_step(
        state,
        [
            ("A", {"total": 5, "names": "a", "context": [YES, HI]}),
            ("B", {"names": "b", "items": [{"id": 1}], "context": [YES]}),
            ("C", {"total": 7, "items": [{"id": 1, "x": 1}, {"id": 2}]}),
        ],
    )
    after = merged.of(state)
    assert after.total == 22
    assert after.names == "start+a+b"
    assert after.items == [{"id": 1}, {"id": 2}]
    assert after.context == [HI, YES]
    assert merged.added == (YES,)
    assert state == MyState(context=[HI])


def test_a_reducer_gets_the_update_as_it_was_given() -> None:
    seen: list[tuple[object, object]] = []

    def count(left: int, right: str) -> int:
        seen.append((left, right))
        return left + len(right)

    class Counting(AgentState):
        letters: Annotated[int, count] = 0

    merged = merge_update(Counting(), {"letters": "abc"}, "outside")
    assert merged.values == {"letters": 3}
    assert seen == [(0, "abc")]


def test_two_nodes_that_write_a_field_without_a_reducer_are_named() -> None:
    updates = [("A", {"user_id": "a"}), ("B", {"user_id": "a"})]
    with pytest.raises(NodeError, match=r"node 'B', field 'user_id': node 'A'") as told:
        merge_step(MyState(), updates)
    assert (told.value.node, told.value.field) == ("B", "user_id")


def test_a_later_step_may_write_the_field_again() -> None:
    first = merge_step(MyState(), [("A", {"user_id": "a"})]).of(MyState())
    assert merge_step(first, [("B", {"user_id": "b"})]).of(first).user_id == "b"


FAULTS: list[tuple[Any, str]] = [
    ({"usr": 1, "x": 2}, r"node 'A': MyState has no field 'usr', 'x': its fields are"),
    ({"execution_meta": RUNNING}, r"node 'A': 'execution_meta' cannot be updated"),
    ({"__dict__": {}}, r"no field '__dict__'"),
    ({5: 1}, r"no field 5"),
    ("text", r"node 'A': an update must be a dict .* got 'text'"),
    ({"user_id": 5}, r"node 'A', field 'user_id': user_id: expected `str`"),
    ({"items": [{"id": {1}}]}, r"node 'A', field 'items': items: append_items could"),
    ({"items": [{"x": {1}}]}, r"node 'A', field 'items': items\[0\]\.x is a set"),
    ({"total": "x"}, r"field 'total': total: add could not merge .*TypeError"),
    ({"names": ""}, r"field 'names': names: greet could not merge .*LookupError: nob"),
    ({"names": "\ud800"}, r"field 'names': names has a lone surrogate"),
    ({"context": "hi"}, r"field 'context': messages must be Message objects"),
    ({"context": HI}, r"field 'context': messages must be a list"),
    ({"context": [KING]}, r"'context': context\[0\]: role"),
]


@pytest.mark.parametrize(("update", "text"), FAULTS)
def test_an_update_that_cannot_be_merged_names_node_and_field(
    update: Any, text: str
) -> None:
    state = MyState(context=[HI])
    with pytest.raises(NodeError, match=text):
        merge_step(state, [("first", {"total": 1}), ("A", update)])
    assert state == MyState(context=[HI])


@pytest.mark.parametrize("name", ["context", "context_summary", "execution_meta"])
def test_core_fields_cannot_be_updated_from_outside(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' cannot be updated from here"):
        merge_update(MyState(), {name: None, "total": 1}, "outside")


def test_a_node_may_write_the_context_and_its_summary() -> None:
    check_update(MyState, {"context": [], "context_summary": "s"}, "node")
    merged = merge_step(MyState(), [("A", {"context_summary": "s"})])
    assert merged.of(MyState()).context_summary == "s"


class Latest(AgentState):
    context: Annotated[list[Message], replace_messages]


def test_another_reducer_of_context_gets_the_whole_of_it() -> None:
    state = Latest(context=[HI])
    merged = merge_step(state, [("A", {"context": [YES]}), ("B", {"context": [YES]})])
    assert merged == Merged({"context": [YES]})
    assert merged.of(state).context == [YES]


def test_a_delta_is_never_stored() -> None:
    part = Message(role="assistant", content=[], delta=True)
    merged = merge_step(MyState(), [("A", {"context": [part, YES]})])
    assert merged.added == (YES,)


def test_merging_with_an_index_is_merging_without_and_leaves_it() -> None:
    for seed in range(50):
        random = Random(seed)
        made = [Message.user(str(n)) for n in range(8)]
        state = MyState(context=made[:3])
        index = MessageIndex(state.context)
        updates: list[tuple[str, dict[str, Any]]] = [
            (name, {"context": random.choices(made, k=3), "total": 1}) for name in "ABC"
        ]
        merged = merge_step(state, updates, index)
        assert merged == merge_step(state, updates)
        assert len(index) == 3
        wanted: list[Message] = list(state.context)
        for _, update in updates:
            wanted = add_messages(wanted, update["context"])
        assert merged.of(state).context == wanted, seed


def test_a_copy_with_values_has_no_writes() -> None:
    state = MyState(user_id="u")
    copied = copy_with(state, {"user_id": "v"})
    assert copied.user_id == "v"
    assert writes_of(copied) == {}
    assert writes_of(state) == {"user_id": "u"}


def test_a_state_survives_json() -> None:
    state = MyState(user_id="u", context=[HI, YES], free={"a": [1, None]})
    state.error("no bread")
    data = msgspec.json.decode(msgspec.json.encode(state_to_json(state)))
    read = state_from_json(MyState, data)
    assert read == state
    assert [m.message_id for m in read.context] == [HI.message_id, YES.message_id]
    assert writes_of(read) == {}


def test_a_class_that_changed_reads_what_it_still_has() -> None:
    class Older(AgentState):
        user_id: str = "u"
        gone: int = 1

    read = state_from_json(MyState, state_to_json(Older()))
    assert read == MyState(user_id="u")


def test_json_that_the_class_cannot_read_is_refused() -> None:
    class Needy(AgentState):
        city: str

    with pytest.raises(TypeError, match="needs a value for 'city'"):
        state_from_json(Needy, state_to_json(MyState()))
    with pytest.raises(TypeError, match="user_id: expected `str`"):
        state_from_json(MyState, {"user_id": 5})
    with pytest.raises(ValueError, match="execution_meta cannot be read"):
        state_from_json(MyState, {"execution_meta": {"steps": 1}})
