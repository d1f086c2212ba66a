import enum
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import attrs
import msgspec
import pydantic
import pytest
from msgspec import Meta

from actors._structured import parse_answer, recorded_answer, schema_of
from protocol import FrozenDict, OutputError
from protocol._json import freeze, thaw


@dataclass
class Review:
    """What a reader thinks."""

    stars: Annotated[int, Meta(ge=1, le=5)]
    text: str = ""


@attrs.define
class Size:
    width: int


class Tree(msgspec.Struct):
    value: int
    children: list["Tree"] = []


class Options(TypedDict):
    deep: bool


class Person(pydantic.BaseModel):
    name: str
    friends: list["Person"] = []


class Answer(msgspec.Struct):
    answer: int


class Colour(enum.Enum):
    RED = "red"


class Lost(msgspec.Struct):
    at: "Nowhere"  # type: ignore[name-defined]  # noqa: F821 - it is not defined


def problem(returns: Any, given: Any) -> str:
    with pytest.raises(OutputError) as caught:
        parse_answer(returns, given)
    return str(caught.value)


# Asking


def test_plain_text_needs_no_schema() -> None:
    assert schema_of(str) is None


def test_an_object_is_asked_for_as_it_is() -> None:
    schema = schema_of(Review)
    assert isinstance(schema, FrozenDict)
    assert thaw(schema) == {
        "title": "Review",
        "description": "What a reader thinks.",
        "type": "object",
        "properties": {
            "stars": {"type": "integer", "minimum": 1, "maximum": 5},
            "text": {"type": "string", "default": ""},
        },
        "required": ["stars"],
    }


@pytest.mark.parametrize("kind", [Tree, Person])
def test_a_class_that_contains_itself_has_an_object_at_the_root(kind: Any) -> None:
    schema: Any = schema_of(kind)
    assert schema["type"] == "object"
    assert kind.__name__ in schema["$defs"]


@pytest.mark.parametrize(
    "kind",
    [
        int,
        bool,
        list[Review],
        Literal["a", "b"],
        Review | None,
        Colour,
        tuple[int, int],
    ],
)
def test_anything_else_is_asked_for_as_the_answer_of_an_object(kind: Any) -> None:
    schema: Any = schema_of(kind)
    assert schema["type"] == "object"
    assert list(schema["properties"]) == schema["required"] == ["answer"]
    assert ("$defs" in schema) == (kind in {list[Review], Review | None, Colour})


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            complex,
            "a complex has no JSON form that a model could write: use",
        ),
        (list[complex], "a complex has no JSON form"),
        (Lost, "cannot read the type .*Lost.*: name 'Nowhere' is not defined"),
    ],
)
def test_a_type_without_json_form_is_refused(kind: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        schema_of(kind)


# Reading


def test_text_is_given_back_as_it_is() -> None:
    assert parse_answer(str, ' "x" ') == ' "x" '


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        (Review, '{"stars": 3}', Review(3)),
        (Review, {"stars": 3, "text": "good"}, Review(3, "good")),
        (Review, 'Here it is:\n```json\n{"stars": 3}\n```\nDone.', Review(3)),
        (Review, '```\n{"stars": 3}```', Review(3)),
        (Review, '```json\n{}\n```\nor\n```json\n{"stars": 4}\n```', Review(4)),
        (Size, '{"width": 3}', Size(3)),
        (Tree, '{"value": 1, "children": [{"value": 2}]}', Tree(1, [Tree(2)])),
        (Options, '{"deep": true}', {"deep": True}),
        (Person, '{"name": "Ann"}', Person(name="Ann")),
        (int, '{"answer": 42}', 42),
        (int, "42", 42),
        (int, {"answer": 42}, 42),
        (float, " 42 ", 42.0),
        (bool, "true", True),
        (list[int], "[1, 2]", [1, 2]),
        (list[Review], '{"answer": [{"stars": 3}]}', [Review(3)]),
        (Literal["yes", "no"], " yes\n", "yes"),
        (Literal["yes", "no"], '"no"', "no"),
        (Literal["yes", "no"], '{"answer": "no"}', "no"),
        (Colour, "red", Colour.RED),
        (Review | None, "null", None),
        (int | str, "about five", "about five"),
        (Annotated[str, Meta(max_length=5)], "42", "42"),
        (Answer, '{"answer": 3}', Answer(3)),
        (dict[str, int], '{"answer": 3}', {"answer": 3}),
        (Any, '{"x": [1]}', {"x": [1]}),
        (str, {"answer": "x"}, "x"),
    ],
)
def test_an_answer_is_read_as_its_type(kind: Any, given: Any, value: Any) -> None:
    read = parse_answer(kind, given)
    assert read == value
    assert type(read) is type(value)


def test_what_is_read_shares_nothing_with_what_was_given() -> None:
    given = freeze({"x": [1]})
    parse_answer(Any, given)["x"].append(2)
    assert given == {"x": [1]}


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (Review, {"stars": 3, "text": "good"}),
        (Person, {"name": "Ann", "friends": [{"name": "Bob", "friends": []}]}),
        (Colour, "red"),
        (list[date], ["2024-01-31"]),
        (dict[int, Path], {"1": "a/b"}),
        (Any, {"x": [None, 1.5]}),
        (str, "text"),
    ],
)
def test_an_answer_is_recorded_as_the_model_wrote_it(kind: Any, given: Any) -> None:
    recorded = recorded_answer(parse_answer(kind, given))
    assert recorded == given
    assert recorded is freeze(recorded)


def test_all_faults_of_an_answer_are_told() -> None:
    assert problem(list[Review], '{"answer": [{"stars": 9}, {"text": 1}]}') == (
        "the answer is not what was asked for, 3 faults:"
        "\n- answer[0].stars must be an integer, at least 1, at most 5, got 9"
        "\n- answer[1].stars is missing: give an integer, at least 1, at most 5"
        "\n- answer[1].text must be text, got 1"
    )


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        (Review, "No idea.", 'answer must be an object with stars, got "No idea."'),
        (Review, '{"stars": 3', 'answer must be an object with stars, got "{'),
        (Review, "{}", "answer.stars is missing"),
        (int, "five", 'answer must be an integer, got "five"'),
        (int, '{"answer": "5"}', 'answer must be an integer, got "5"'),
        (Literal["a", "b"], "c", 'answer must be one of "a", "b", got "c"'),
        (Person, '{"name": 5}', "answer.name: input should be a valid string, got 5"),
        (Answer, '{"answer": "x"}', 'answer.answer must be an integer, got "x"'),
        (str, 5, "answer must be text, got 5"),
    ],
)
def test_an_answer_of_another_type_is_refused_with_the_reason(
    kind: Any, given: Any, told: str
) -> None:
    assert problem(kind, given).startswith(
        f"the answer is not what was asked for: {told}"
    )
