"""With annotations as text, which is the harder case: names must still be found."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import msgspec
import pytest

from protocol import AgentState, Message, add_messages, replace_messages
from protocol._declared import fields_of


class Base(AgentState):
    user_id: str = "base"
    notes: Annotated[list[str], operator.add] = ["first"]
    KINDS: ClassVar[list[str]] = ["a"]
    _private: int = 3
    limit = 5


class Other(AgentState):
    city: str = "Rome"
    user_id: str = "other"


def test_only_plain_annotations_are_fields() -> None:
    assert list(fields_of(Base)) == [
        "context",
        "context_summary",
        "execution_meta",
        "user_id",
        "notes",
    ]
    assert [name for name, field in fields_of(Base).items() if field.core] == [
        "context",
        "context_summary",
        "execution_meta",
    ]
    assert (Base().KINDS, Base()._private, Base().limit) == (["a"], 3, 5)


def test_a_reducer_is_any_callable_of_the_annotation() -> None:
    assert fields_of(Base)["notes"].reducer is operator.add
    assert fields_of(Base)["user_id"].reducer is None
    assert fields_of(Base)["context"].reducer is add_messages


def test_a_subclass_has_the_fields_of_all_its_bases_by_method_order() -> None:
    class Both(Base, Other):
        more: int = 1

    state = Both()
    assert (state.user_id, state.city, state.more) == ("base", "Rome", 1)
    assert state.notes == ["first"]


def test_a_plain_assignment_in_a_subclass_is_a_new_default() -> None:
    class Renamed(Base):
        user_id = "renamed"

    assert Renamed().user_id == "renamed"
    assert Base().user_id == "base"


def test_names_of_the_function_around_a_class_are_found() -> None:
    def biggest(left: int, right: int) -> int:
        return max(left, right)

    @dataclass
    class Point:
        x: int

    class Local(AgentState):
        peak: Annotated[int, biggest] = 0
        at: Point | None = None

    assert fields_of(Local)["peak"].reducer is biggest
    assert Local(at=Point(3)).at == Point(3)


class Early(AgentState):
    at: Late | None = None


def test_a_type_defined_after_the_class_is_found_when_it_is_first_used() -> None:
    assert Early(at=Late(5)).at == Late(5)


@dataclass
class Late:
    x: int


def test_a_type_that_nobody_defines_is_named() -> None:
    class Lost(AgentState):
        at: Nowhere = None  # type: ignore[name-defined]  # noqa: F821 - the point of it

    with pytest.raises(NameError, match="Nowhere"):
        Lost()


def test_context_may_get_another_reducer_and_keeps_its_type() -> None:
    class Latest(AgentState):
        context: Annotated[list[Message], replace_messages]

    class Begun(Latest):
        context = [Message.user("hi")]

    field = fields_of(Latest)["context"]
    assert (field.reducer, field.core) == (replace_messages, True)
    assert Latest().context == []
    assert [m.text() for m in Begun().context] == ["hi"]


def test_a_field_without_a_default_must_be_given() -> None:
    class Needy(AgentState):
        user_id: str
        city: str

    assert Needy(user_id="u", city="Rome").city == "Rome"
    with pytest.raises(TypeError, match=r"Needy needs a value for 'user_id', 'city'"):
        Needy()


def test_limits_in_an_annotation_are_checked() -> None:
    class Small(AgentState):
        age: Annotated[int, msgspec.Meta(ge=0), operator.add] = 0

    assert fields_of(Small)["age"].reducer is operator.add
    state = Small()
    with pytest.raises(ValueError, match=r"age: expected `int` >= 0"):
        state.age = -1
    assert state.age == 0


class Opaque:
    pass


def hide_a_helper() -> None:
    class Wrong(AgentState):
        error: str = ""


def take_the_meta_data() -> None:
    class Wrong(AgentState):
        execution_meta: int = 0


def default_of_another_type() -> None:
    class Wrong(AgentState):
        count: int = "x"  # type: ignore[assignment]  # the point of it


def default_that_is_not_allowed() -> None:
    class Wrong(AgentState):
        count: Annotated[int, msgspec.Meta(ge=0)] = -1


def two_reducers() -> None:
    class Wrong(AgentState):
        count: Annotated[int, operator.add, operator.mul] = 0


def type_without_json() -> None:
    class Wrong(AgentState):
        thing: Opaque | None = None


def context_of_text() -> None:
    class Wrong(AgentState):
        context: list[str]


@pytest.mark.parametrize(
    ("statement", "kind", "text"),
    [
        (hide_a_helper, TypeError, "'error' of Wrong would hide AgentState.error"),
        (take_the_meta_data, TypeError, "Wrong cannot declare 'execution_meta'"),
        (default_of_another_type, TypeError, "field 'count' of Wrong: count: expected"),
        (default_that_is_not_allowed, ValueError, "field 'count' of Wrong: count: exp"),
        (two_reducers, TypeError, "field 'count' of Wrong: it can have one reducer"),
        (type_without_json, TypeError, "field 'thing' of Wrong: a Opaque has no JSON"),
        (context_of_text, TypeError, "field 'context' of Wrong: it holds messages"),
    ],
)
def test_a_field_that_cannot_be_is_refused_by_the_class_statement(
    statement: Any, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        statement()
