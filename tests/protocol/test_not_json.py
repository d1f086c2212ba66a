"""What is not JSON is refused, with its path, its type and the way out."""

import copy
import dataclasses
import enum
import json
import math
import pickle
from collections import UserDict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pytest

from protocol._json import freeze, pack_big_ints, same, thaw
from protocol._not_json import DEPTH_MAX


class Color(enum.Enum):
    RED = "red"


class Shade(enum.StrEnum):
    DARK = "dark"


class Size(enum.IntEnum):
    ONE = 1


class Name(str):
    __slots__ = ()


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Box:
    items: list[Any] = dataclasses.field(default_factory=list)


def nested(levels: int) -> Any:
    value: Any = 0
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


def places(wrong: object) -> list[tuple[object, str]]:
    """The value alone and inside others, each with the path it then has."""
    return [
        (wrong, "answer"),
        ({"items": [0, 1, 2, {"when": wrong}]}, "answer.items[3].when"),
        (({"two words": wrong},), "answer[0]['two words']"),
    ]


def refusal(value: object) -> str:
    with pytest.raises(TypeError) as told:
        freeze(value, "answer")
    return str(told.value)


ANYTHING_ELSE = "dict, list, str, int, float, bool and None instead"


@pytest.mark.parametrize(
    ("wrong", "kind", "way"),
    [
        (datetime(2026, 1, 1, tzinfo=UTC), "a datetime", "its isoformat()"),
        (date(2026, 1, 1), "a date", "its isoformat()"),
        (timedelta(1), "a timedelta", "its total_seconds()"),
        (b"x", "a bytes", "base64 text of it"),
        (bytearray(), "a bytearray", "base64 text of it"),
        ({1}, "a set", "a sorted list of it"),
        (Color.RED, "a Color", "its value"),
        (Shade.DARK, "a Shade", "its value"),
        (Size.ONE, "a Size", "its value"),
        (Name("n"), "a Name", "str() of it"),
        (Decimal(1), "a Decimal", "str() of it"),
        (UUID(int=1), "a UUID", "str() of it"),
        (PurePosixPath("p"), "a PurePosixPath", "str() of it"),
        (Point(1, 2), "a Point", "list() of it, or its _asdict()"),
        (ValueError("x"), "a ValueError", "repr() of it"),
        (object(), "an object", ANYTHING_ELSE),
        (UserDict[str, int](), "a UserDict", ANYTHING_ELSE),
    ],
)
def test_a_type_that_json_has_not_is_refused_with_the_way_out(
    wrong: object, kind: str, way: str
) -> None:
    for value, path in places(wrong):
        assert refusal(value) == (
            f"{path} is {kind}, which JSON cannot hold; use {way}"
        )


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_float_that_is_no_number_is_refused(wrong: float) -> None:
    for value, path in places(wrong):
        assert refusal(value) == (
            f"{path} is {wrong}, which JSON cannot hold; use None or a text"
        )


def test_a_text_with_a_lone_surrogate_is_refused() -> None:
    for value, path in places("ok \ud800"):
        assert refusal(value) == (
            f"{path} has a lone surrogate at character 3, which UTF-8 cannot hold;"
            " replace it: text.encode(errors='replace').decode()"
        )


def test_an_error_has_no_other_error_behind_it() -> None:
    with pytest.raises(TypeError) as told:
        freeze([{1}])
    assert told.value.__cause__ is told.value.__context__ is None


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (
            3,
            "answer.a[3] has an int as its key, and keys in JSON are str; use str()",
        ),
        (None, "answer.a[None] has a NoneType as its key, and"),
        (Shade.DARK, "answer.a"),
        ("\udfff", "answer.a['\\udfff'] has a lone surrogate at character 0"),
    ],
)
def test_a_key_that_is_no_text_is_refused(key: object, text: str) -> None:
    value = {"a": {"fine": 1, key: 2}}
    assert refusal(value).startswith(text)
    assert value == {"a": {"fine": 1, key: 2}}


def test_a_cycle_is_named() -> None:
    loop: list[Any] = [0]
    loop.append({"back": loop})
    with pytest.raises(TypeError, match=r"^v\.x\[1\]\.back is v\.x again"):
        freeze({"x": loop}, "v")
    box = Box()
    box.items.append(box)
    with pytest.raises(TypeError, match=r"^v\.items\[0\] is v again"):
        freeze(box, "v")


def test_a_part_used_twice_is_no_cycle() -> None:
    part = [1]
    assert freeze([part, part, {"k": part}]) == [[1], [1], {"k": [1]}]


# Depth


def test_a_value_of_the_greatest_depth_survives_everything() -> None:
    value = nested(DEPTH_MAX)
    frozen = freeze(value)
    assert same(frozen, value)
    assert json.loads(json.dumps(frozen)) == value
    assert same(pickle.loads(pickle.dumps(frozen)), frozen)
    assert msgspec.json.decode(msgspec.json.encode(frozen)) == value
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(frozen)) == value
    assert same(thaw(frozen), value)
    assert same(pack_big_ints(frozen), value)
    assert hash(frozen) == hash(freeze(value))
    assert repr(frozen) == repr(value)
    assert copy.deepcopy(frozen) is frozen


@pytest.mark.parametrize("levels", [DEPTH_MAX + 1, 100_000])
def test_a_deeper_value_is_refused(levels: int) -> None:
    value = nested(levels)
    with pytest.raises(TypeError, match="nests more than 128 levels") as told:
        freeze(value)
    assert len(str(told.value)) < 300
    while value:  # level by level: one go would recurse
        value = value["k"] if isinstance(value, dict) else value[0]


def test_frozen_parts_count_with_all_their_levels() -> None:
    part = freeze(nested(DEPTH_MAX - 1))
    assert freeze([part])[0] is part
    with pytest.raises(TypeError, match=r"^v\[0\]\.k nests more than 128 levels"):
        freeze([{"k": part}], "v")
    with pytest.raises(TypeError, match="nests more than 128 levels"):
        freeze([[part]])


def test_an_empty_part_is_a_level_too() -> None:
    value: Any = []
    for _ in range(DEPTH_MAX - 1):
        value = [value]
    assert freeze(value) == value
    with pytest.raises(TypeError, match="nests more than 128 levels"):
        freeze([value])
