"""What a field's type accepts, and that a state reads back from JSON as it was."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import attrs
import msgspec
import pytest

from protocol import FrozenDict, FrozenList, Message, TextBlock
from protocol._shape import shape_of


class Color(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    tags: list[str] = field(default_factory=list)
    seen: int = field(init=False, default=0)


@attrs.define
class Place:
    name: str = attrs.field(validator=attrs.validators.min_len(2))
    at: Point | None = None


class Row(msgspec.Struct):
    n: int
    extra: dict[str, Any] = {}


class Pair(NamedTuple):
    a: int
    b: list[int]


class Keyed(TypedDict, total=False):
    a: int


def seen_point() -> Point:
    point = Point(1, ["a"])
    point.seen = 7
    return point


NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
HI = Message.user("hi")
KING = Message(role="king", content=())  # type: ignore[arg-type]  # no such role

ROUND_TRIPS: list[tuple[Any, Any]] = [
    (Any, {"a": [1, 2.5, None, True, "é", 2**80]}),
    (object, [1]),
    (str, "x"),
    (float, 1),
    (bool, False),
    (None, None),
    (dict, {"a": 1}),
    (list, [1, [2]]),
    (Mapping[str, int], {"a": 1}),
    (Sequence[str], ["a"]),
    (dict[str, list[int | None]], {"a": [1, None]}),
    (Literal["a", 1], "a"),
    (Annotated[int, msgspec.Meta(ge=0)], 1),
    (datetime, NOON),
    (Color, Color.RED),
    (Decimal, Decimal("1.10")),
    (bytes, b"\x00\xff"),
    (set[str], {"a", "b"}),
    (frozenset[int], frozenset({1})),
    (tuple[int, str], (1, "a")),
    (tuple[int, ...], (1, 2)),
    (Pair, Pair(1, [2])),
    (Keyed, {"a": 1}),
    (dict[int, Point], {3: Point(4)}),
    (dict[str, datetime], {"a": NOON}),
    (Point, seen_point()),
    (Place | None, Place("Rome", Point(1))),
    (Row, Row(1, {"a": [1]})),
    (list[Point], [Point(1), Point(2)]),
    (list[Message], [HI]),
    (Message | None, HI),
    (dict[str, Message], {"a": HI}),
]


@pytest.mark.parametrize(("declared", "value"), ROUND_TRIPS)
def test_a_value_reads_back_from_json_as_it_was(declared: Any, value: Any) -> None:
    shape = shape_of(declared)
    kept = shape.check(value, "f")
    assert kept == value
    wire = msgspec.json.encode(shape.to_json(kept))
    read = shape.from_json(msgspec.json.decode(wire), "f")
    assert read == kept
    assert shape.check(kept, "f") == kept, "a kept value is accepted again"


def test_json_is_kept_frozen_and_at_once() -> None:
    shape = shape_of(dict[str, Any])
    kept = shape.check({"a": (1, Point(2))}, "f")
    assert kept == {"a": [1, {"x": 2, "tags": [], "seen": 0}]}
    assert (type(kept), type(kept["a"])) == (FrozenDict, FrozenList)
    assert shape.check(kept, "f") is kept
    assert shape.to_json(kept) is kept


def test_a_dict_is_read_as_the_class_that_is_declared() -> None:
    kept = shape_of(Place).check({"name": "Rome", "at": {"x": 1}}, "f")
    assert kept == Place("Rome", Point(1))


def test_an_object_given_is_not_the_one_that_is_kept() -> None:
    given = Point(1, ["a"])
    kept = shape_of(Point).check(given, "f")
    given.tags.append("b")
    assert kept == Point(1, ["a"])


def test_a_message_is_kept_itself_and_gets_no_time() -> None:
    plain = Message.user("hi")
    odd = Message(role="user", content=[TextBlock(text="x")], parsed_content=Point(1))
    kept = shape_of(list[Message]).check((plain, odd), "f")
    assert kept[0] is plain
    assert kept[1].parsed_content == {"x": 1, "tags": [], "seen": 0}
    assert kept[1].timestamp is None
    assert kept[1].message_id == odd.message_id


TYPE_FAULTS: list[tuple[Any, Any, str]] = [
    (str, 5, r"f: expected `str`, got `int` 5$"),
    (int, True, r"f: expected `int`, got `bool` True"),
    (dict[str, int], {"a": 1, "b b": "x"}, r"f\['b b'\]: expected `int`, got `str`"),
    (
        list[Point],
        [{"x": 1}, {"x": "a", "tags": [1]}],
        r"f\[1\]\.x: .*f\[1\]\.tags\[0\]",
    ),
    (Point | None, {"x": None}, r"f\.x: expected `int`, got `null` None"),
    (
        Annotated[list[int], msgspec.Meta(max_length=3)],
        ["a"],
        r"f\[0\]: expected `int`",
    ),
    (int | str, [1], r"f: expected `int \| str`, got `array` \[1\]"),
    (tuple[int, str], (1, 2), r"f\[1\]: expected `str`, got `int`"),
    (dict, {"a": NOON}, r"f\.a is a datetime, which JSON cannot hold"),
    (Point, [1], r"f: expected `object`, got `array` \[1\]"),
    (Row, Row(1, {"a": NOON}), r"f\.extra\.a is a datetime, which JSON would change"),
    (Point, Point(1, [NOON]), r"f\.tags\[0\] is a datetime, which JSON would change"),
    (list[Row], [Row(1, {"a": {1}})], r"f\[0\]\.extra\.a is a set, which JSON would"),
    (set[Any], object(), r"f is an object, which the state cannot hold"),
    (Row, Row(1, {"a": object()}), r"f is a Row, which the state cannot hold"),
    (
        dict[int, Point],
        {(1, 2): Point(1)},
        r"f has the key \(1, 2\), which is not text",
    ),
    (Point, Point(1, ["\ud800"]), r"f\.tags\[0\] has a lone surrogate"),
    (dict[str, Message], {"a": "hi"}, r"f\.a: expected `object`, got `str`"),
    (list[Message], [HI, 5], r"f\[1\]: expected a Message, got 5"),
    (list[Message], {"a": HI}, r"f must be a list of messages"),
]

VALUE_FAULTS: list[tuple[Any, Any, str]] = [
    (Color, "blue", r"f: invalid enum value 'blue'"),
    (Literal["a"], "b", r"f: invalid enum value 'b'"),
    (Annotated[int, msgspec.Meta(ge=0)], -1, r"f: expected `int` >= 0"),
    (Point, {}, r"f: object missing required field `x`"),
    (Place, {"name": "R"}, r"f: length of 'name' must be >= 2"),
    (Point, {"x": 1, "y": 2}, r"f has the key 'y', which Point has not"),
    (Keyed, {"b": 2}, r"f has the key 'b', which dict has not"),
    (list[Message], [KING], r"f\[0\]: role must be one"),
]


@pytest.mark.parametrize(("declared", "value", "text"), TYPE_FAULTS)
def test_another_type_is_refused_with_its_path(
    declared: Any, value: Any, text: str
) -> None:
    with pytest.raises(TypeError, match=text):
        shape_of(declared).check(value, "f")


@pytest.mark.parametrize(("declared", "value", "text"), VALUE_FAULTS)
def test_a_value_that_is_not_allowed_is_refused_with_its_path(
    declared: Any, value: Any, text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        shape_of(declared).check(value, "f")


class Opaque:
    pass


@pytest.mark.parametrize("declared", [Opaque, list[Opaque], dict[str, Opaque | None]])
def test_a_type_without_a_json_form_is_refused_with_the_way_out(declared: Any) -> None:
    with pytest.raises(TypeError, match=r"a Opaque has no JSON form.*use a dataclass"):
        shape_of(declared)


def test_a_union_whose_members_json_cannot_tell_apart_is_refused() -> None:
    with pytest.raises(TypeError, match="more than one dataclass or attrs type"):
        shape_of(Point | Place)


def test_old_json_that_a_new_type_cannot_read_is_refused() -> None:
    with pytest.raises(TypeError, match="f: expected `int`"):
        shape_of(int).from_json("x", "f")
    with pytest.raises(ValueError, match="missing required field `x`"):
        shape_of(Point).from_json({}, "f")
