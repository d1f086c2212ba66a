import copy
import operator
import pickle
from typing import Annotated, Any

import pytest

from protocol import AgentState, ExecMeta, Message, add_messages


class MyState(AgentState):
    user_id: str = ""
    session_data: dict = {}  # type: ignore[type-arg]  # as users write it
    selected_city: str = ""
    total: Annotated[int, operator.add] = 0
    scores: dict[str, list[int]] = {}


HI = Message.text_message("hi")


def test_a_fresh_state_has_its_defaults_and_is_not_running() -> None:
    state = MyState()
    assert state.context == []
    assert state.context_summary is None
    assert state.execution_meta == ExecMeta()
    assert (state.user_id, state.session_data, state.total) == ("", {}, 0)
    assert not state.is_running()
    assert not state.is_interrupted()
    assert not state.is_stopped_requested()


def test_values_are_given_by_name() -> None:
    state = MyState(user_id="u", context=[HI], total=4)
    assert (state.user_id, state.context, state.total) == ("u", [HI], 4)
    assert state.context[0] is HI


def test_states_never_share_a_default() -> None:
    first, second = MyState(), MyState()
    first.session_data = {**first.session_data, "a": 1}
    assert second.session_data == {}
    assert not hasattr(MyState, "session_data"), "no way to an editable default"


def test_what_was_assigned_from_cannot_change_the_state() -> None:
    given = {"a": [1]}
    state = MyState(session_data=given)
    given["a"].append(2)
    assert state.session_data == {"a": [1]}


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.session_data.update(x=1),
        lambda s: s.session_data["a"].append(2),
        lambda s: s.scores["x"].append(2),
        lambda s: s.scores.clear(),
        lambda s: s.context.append(HI),
        lambda s: s.context.__iadd__([HI]),
    ],
)
def test_a_value_cannot_be_changed_in_place(change: Any) -> None:
    state = MyState(session_data={"a": [1]}, scores={"x": [1]}, context=[HI])
    before = copy.copy(state)
    with pytest.raises(TypeError, match="read-only"):
        change(state)
    assert state == before


@pytest.mark.parametrize(
    ("name", "value", "path"),
    [
        ("user_id", 5, r"user_id: expected `str`, got `int` 5"),
        ("total", True, r"total: expected `int`, got `bool`"),
        ("scores", {"a": [1, "x"]}, r"scores\.a\[1\]: expected `int`"),
        ("session_data", {"a": [{1}]}, r"session_data\.a\[0\] is a set"),
        ("context", [HI, "hi"], r"context\[1\]: expected a Message"),
        ("context", "hi", r"context must be a list of messages"),
        ("context_summary", 5, r"context_summary: expected"),
    ],
)
def test_a_wrong_type_is_refused_with_its_path_and_changes_nothing(
    name: str, value: Any, path: str
) -> None:
    state = MyState(user_id="u")
    before = copy.copy(state)
    with pytest.raises(TypeError, match=path):
        setattr(state, name, value)
    with pytest.raises(TypeError, match=path):
        MyState(**{name: value})
    assert state == before


def test_all_faults_of_a_value_are_told_at_once() -> None:
    with pytest.raises(TypeError, match=r"scores\.a\[0\].*; scores\.b: "):
        MyState(scores={"a": ["x"], "b": 5})


def test_a_field_that_there_is_not_is_refused_with_those_there_are() -> None:
    state: Any = MyState()
    with pytest.raises(AttributeError, match=r"no field 'usr_id' to assign.*user_id"):
        state.usr_id = "u"
    with pytest.raises(AttributeError, match=r"no field 'usr_id'; its fields are"):
        state.usr_id
    with pytest.raises(TypeError, match=r"MyState has no field 'usr_id', 'x'"):
        MyState(usr_id="u", x=1)
    assert state == MyState()


def test_the_meta_data_of_the_run_cannot_be_assigned() -> None:
    state = MyState()
    with pytest.raises(AttributeError, match=r"complete\(\), error\(text\)"):
        state.execution_meta = ExecMeta(status="running")
    assert state.execution_meta == ExecMeta()
    assert MyState(execution_meta=ExecMeta(status="running")).is_running()
    with pytest.raises(TypeError, match="must be an ExecMeta"):
        MyState(execution_meta={})


def test_a_field_cannot_be_deleted() -> None:
    state = MyState(user_id="u")
    with pytest.raises(AttributeError, match="assign another value"):
        del state.user_id
    assert state.user_id == "u"


def test_helpers_show_where_the_run_is() -> None:
    state = MyState()
    state.advance_step()
    state.set_current_node("A")
    assert state.execution_meta == ExecMeta(step=1, current_node="A")
    state.set_interrupt("A", "why", "interrupted_before", {"x": 1})
    assert state.is_interrupted()
    assert state.execution_meta.interrupt_data == {"x": 1}
    state.clear_interrupt()
    assert state.is_running()
    state.complete()
    assert state.execution_meta.status == "completed"
    state.error("no bread")
    assert state.execution_meta.error_text == "no bread"


@pytest.mark.parametrize(
    ("prepare", "refused"),
    [
        (lambda s: s.set_interrupt("A"), lambda s: s.complete()),
        (lambda s: s.error("x"), lambda s: s.complete()),
        (lambda _: None, lambda s: s.clear_interrupt()),
        (lambda _: None, lambda s: s.set_interrupt("A", "why", "completed")),
    ],
)
def test_a_helper_that_cannot_follow_is_refused_and_changes_nothing(
    prepare: Any, refused: Any
) -> None:
    state = MyState()
    prepare(state)
    before = state.execution_meta
    with pytest.raises(ValueError):
        refused(state)
    assert state.execution_meta is before


def test_states_are_equal_by_class_and_values() -> None:
    assert MyState(user_id="u") == MyState(user_id="u")
    assert MyState(user_id="u") != MyState()
    assert MyState() != AgentState()
    with pytest.raises(TypeError, match="unhashable"):
        hash(MyState())


def test_a_copy_goes_its_own_way() -> None:
    state = MyState(user_id="u", context=[HI])
    for other in (
        copy.copy(state),
        copy.deepcopy(state),
        pickle.loads(pickle.dumps(state)),
    ):
        assert other == state
        other.user_id = "v"
        assert state.user_id == "u"


def test_it_shows_its_fields_and_counts_its_messages() -> None:
    state = MyState(user_id="u", context=[HI])
    assert repr(state).startswith("MyState(context=<1 messages>, context_summary=None")
    assert "user_id='u'" in repr(state)


def test_context_is_merged_by_add_messages() -> None:
    state = AgentState(context=[HI])
    state.context = add_messages(state.context, [Message.assistant("yes"), HI])
    assert [m.text() for m in state.context] == ["hi", "yes"]
