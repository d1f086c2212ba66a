import enum
from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.tools._results import to_content
from protocol import (
    DocumentBlock,
    Image,
    ImageBlock,
    MediaRef,
    Message,
    TextBlock,
    ToolCall,
    ToolError,
    ToolResult,
    ToolResultBlock,
    ToolResultEntry,
)
from protocol._codec import decode_entry, encode_entry, from_json, to_json

PNG = Image(b"\x89PNG\r\n\x1a\n" + b"\x00" * 8)
CALL = ToolCall(id="c1", name="f")


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


RAW: Any = b"raw"
"""What no annotation of a class below allows, as a user's value may be."""
THING: Any = object()
"""The same, and nothing that JSON could hold."""


@dataclass
class Row:
    name: str
    size: int = field(init=False, default=7)


@dataclass(repr=False)
class Unset:
    name: str
    size: int = field(init=False)


@attrs.define
class Sized:
    width: float
    when: date | None = None


class Packed(msgspec.Struct):
    rows: list[Row]


class Model(pydantic.BaseModel):
    price: Decimal
    inner: dict[str, int] = {}


class Name(str):
    __slots__ = ()


Spot = namedtuple("Spot", "x y")


def content(value: Any) -> Any:
    """The content of the result, which must come back equal from any file."""
    made = to_content(value).content
    entry = ToolResultEntry(content=made, call=CALL, outcome="done")
    assert decode_entry(encode_entry(entry)) == entry
    assert from_json(to_json(entry)) == entry
    return made


def problem(value: Any) -> str:
    with pytest.raises(ToolError) as caught:
        to_content(value)
    assert type(caught.value) is ToolError
    return str(caught.value)


# Text


def test_text_stays_text_and_none_is_done() -> None:
    assert content("It rains.") == "It rains."
    assert content("") == ""
    assert content(None) == "(done)"
    assert type(content(Name("Ann"))) is str


def test_a_lone_surrogate_becomes_a_visible_mark_and_a_pair_its_character() -> None:
    assert content("a\ud800b") == "a\ufffdb"
    assert content("\ud83d\ude00 größe") == "\U0001f600 größe"
    assert content({"k": ["\udfff"]}) == '{"k":["\ufffd"]}'
    assert content([PNG, "\ud800"])[1] == TextBlock(text="\ufffd")
    assert content(TextBlock(text="\ud800")) == (TextBlock(text="\ufffd"),)


# JSON


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (True, "true"),
        (2.5, "2.5"),
        (2**70, str(2**70)),
        ([], "[]"),
        ({}, "{}"),
        ([1, None, "ü"], '[1,null,"ü"]'),
        ((1, (2,)), "[1,[2]]"),
        ({"a": {"b": [1]}}, '{"a":{"b":[1]}}'),
        (Row("x"), '{"name":"x","size":7}'),
        (Sized(1.5, date(2024, 1, 31)), '{"width":1.5,"when":"2024-01-31"}'),
        (Packed([Row("x")]), '{"rows":[{"name":"x","size":7}]}'),
        (Model(price=Decimal("1.50")), '{"price":"1.50","inner":{}}'),
        (Counter("aab"), '{"a":2,"b":1}'),
        (Counter([1, 1, 2]), '{"1":2,"2":1}'),
        (OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
        (defaultdict(list, a=[1]), '{"a":[1]}'),
        (MappingProxyType({"a": 1}), '{"a":1}'),
        (Spot(1, 2), '{"x":1,"y":2}'),
        (datetime(2024, 1, 31, 12, tzinfo=UTC), '"2024-01-31T12:00:00+00:00"'),
        (time(12, 30), '"12:30:00"'),
        (Decimal("1.50"), '"1.50"'),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (Path("a/b"), '"a/b"'),
        ({3, 1, 2}, "[1,2,3]"),
        (frozenset({"b", "a"}), '["a","b"]'),
        ({1, "1"}, '["1",1]'),
        ({Colour.RED: Level.HIGH}, '{"red":3}'),
        ({date(2024, 1, 31): 1}, '{"2024-01-31":1}'),
        ([Name("x"), {Name("k"): 1}], '["x",{"k":1}]'),
    ],
)
def test_everything_else_is_json_that_comes_back_equal(value: Any, text: str) -> None:
    assert content(value) == text


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"raw", "result is a bytes, which JSON cannot hold; use base64 text of it"),
        ({"a": [1, b"raw"]}, "result.a[1] is a bytes"),
        (float("nan"), "result is nan, which JSON cannot hold; use None or a text"),
        ({"x": [float("inf")]}, "result.x[0] is inf"),
        (Row(RAW), "result.name is a bytes"),
        (Packed([Row("x"), Row(THING)]), "result.rows[1].name is an object"),
        (Unset("x"), "result is a Unset whose field 'size' was never set"),
        ([timedelta(1)], "result[0] is a timedelta, which JSON cannot hold; use its"),
        ({"a b": object()}, "result['a b'] is an object, which JSON cannot hold"),
        ({(1, 2): 3}, "result[(1, 2)] has a tuple as its key, and keys in"),
        ({None: 3}, "result[None] has a NoneType as its key"),
        ({1: "a", "1": "b"}, "result has two keys that are the same as text"),
        ({"\ud800": 1, "a": {1, b"x"}}, "result"),
        (
            ValueError("no"),
            "result is a ValueError, which JSON cannot hold; use repr()",
        ),
        (Row, "result is a type"),
        (iter([1]), "result is a list_iterator"),
    ],
)
def test_what_json_cannot_hold_is_an_error_that_names_its_path(
    value: Any, told: str
) -> None:
    assert problem(value).startswith(told)


def test_a_value_that_contains_itself_is_an_error() -> None:
    loop: dict[str, Any] = {"a": 1}
    loop["self"] = [loop]
    assert "again, and JSON cannot hold a cycle" in problem(loop)
    assert "again, and JSON cannot hold a cycle" in problem({"x": loop})


def test_a_value_may_stand_in_two_places() -> None:
    row = {"when": date(2024, 1, 31)}
    assert content([row, row]) == '[{"when":"2024-01-31"},{"when":"2024-01-31"}]'


def test_a_value_that_nests_too_deep_is_an_error() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    assert "nests more than 128 levels" in problem(deep)


# Blocks


def test_an_image_stays_an_image() -> None:
    assert content(PNG) == (PNG,)


def test_a_mixed_list_stays_blocks_in_its_order() -> None:
    page = DocumentBlock(text="page")
    assert content(["a", PNG, {"n": 1}, None, page]) == (
        TextBlock(text="a"),
        PNG,
        TextBlock(text='{"n":1}'),
        TextBlock(text="null"),
        page,
    )
    assert content((PNG, Name("x"))) == (PNG, TextBlock(text="x"))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"image": PNG}, "result.image is an ImageBlock inside other data: return one"),
        ([PNG, [PNG]], "result[1][0] is an ImageBlock inside other data"),
        (Message.assistant("hi"), "result.content[0] is a TextBlock inside other data"),
        ([PNG, b"raw"], "result[1] is a bytes"),
        (CALL, "result is a ToolCallBlock, which no result can hold: return text"),
        ([ToolResultBlock(call_id="c")], "result[0] is a ToolResultBlock, which no"),
    ],
)
def test_a_block_in_the_wrong_place_is_an_error(value: Any, told: str) -> None:
    assert problem(value).startswith(told)


def test_a_block_that_cannot_be_recorded_is_an_error() -> None:
    wrong: Any = 5
    told = problem([ImageBlock(media=MediaRef(url=wrong))])
    assert told.startswith("result[0] is no valid ImageBlock")
    assert problem(TextBlock(text=wrong)).startswith("result is no valid TextBlock")


# ToolResult


def test_a_coroutine_is_an_error_that_says_how_to_write_the_tool() -> None:
    async def fetch() -> str:
        raise AssertionError("nobody awaits it")

    came = fetch()
    with pytest.raises(ToolError, match=r"'.*fetch' and did not run it: write .*async"):
        to_content(came)
    with pytest.raises(RuntimeError, match="cannot reuse already awaited"):
        came.send(None)  # it was closed: Python has nothing to warn of


def test_a_tool_result_gives_its_message_and_its_update() -> None:
    made = to_content(ToolResult({"n": 1}, state={"when": date(2024, 1, 31)}))
    assert (made.content, made.is_error) == ('{"n":1}', False)
    assert made.state == {"when": date(2024, 1, 31)}


def test_a_tool_result_without_update_has_none() -> None:
    made = to_content(ToolResult(message=[PNG], is_error=True))
    assert (made.content, made.state, made.is_error) == ((PNG,), None, True)
    assert to_content(ToolResult()).content == "(done)"
    assert to_content("x").state is None


def test_a_tool_result_whose_message_is_not_json_is_an_error() -> None:
    assert problem(ToolResult(message={"a": b""})).startswith("result.a is a bytes")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=3)
    | st.binary(max_size=2)
    | st.dates()
    | st.decimals()
    | st.sampled_from([Colour.RED, Row("x"), Unset("x"), PNG, Spot(1, 2)]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.sets(st.integers() | st.text(max_size=2), max_size=2)
        | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(VALUES)
def test_whatever_a_tool_returns_is_recorded_equal_or_an_error(value: Any) -> None:
    try:
        made = content(value)
    except ToolError as error:
        assert str(error).startswith("result")
    else:
        assert made == "(done)" if value is None else made is not None
