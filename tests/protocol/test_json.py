"""Frozen JSON: read-only all the way down, and strict about what it takes."""

import copy
import dataclasses
import json
import math
import pickle
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import attrs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import FrozenDict, FrozenList
from protocol._json import (
    EMPTY_DICT,
    EMPTY_LIST,
    JSON,
    decode_hook,
    encode_hook,
    freeze,
    pack_big_ints,
    same,
    thaw,
    unpack_extension,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda f: f + 0.0)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


few = settings(max_examples=20)


@dataclasses.dataclass
class Box:
    name: str
    items: list[Any] = dataclasses.field(default_factory=list)
    total: int = dataclasses.field(init=False, default=3)


@attrs.define
class Crate:
    name: str
    box: Box


class Parcel(msgspec.Struct):
    label: str
    crate: Crate | None = None


class Modelled:
    """Dumps itself as pydantic's models do."""

    def __init__(self, dump: Any) -> None:
        self.dump = dump

    def model_dump(self) -> Any:
        return self.dump


def every_part(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return [value]
    return [value, *(part for item in inner for part in every_part(item))]


# What freezing keeps


def check_frozen_form(value: Any) -> None:
    frozen = freeze(value)
    assert frozen == value
    assert same(frozen, value)
    assert json.dumps(frozen) == json.dumps(value)
    assert repr(frozen) == repr(value)
    assert copy.copy(frozen) is copy.deepcopy(frozen) is frozen
    again = pickle.loads(pickle.dumps(frozen))
    assert same(again, frozen)
    assert type(again) is type(frozen)
    assert hash(again) == hash(frozen)
    for part in every_part(frozen):
        assert type(part) not in {dict, list, tuple}
        assert isinstance(part, JSON)
        assert freeze(part) is part


def check_thawed_form(value: Any) -> None:
    frozen = freeze(value)
    thawed = thaw(frozen)
    assert same(thawed, value)
    assert same(freeze(thawed), frozen)
    for part in every_part(thawed):
        assert not isinstance(part, FrozenDict | FrozenList)


@few
@given(json_values)
def test_a_frozen_value_is_what_it_was_and_read_only_everywhere(value: Any) -> None:
    check_frozen_form(value)


@few
@given(json_values)
def test_a_thawed_value_is_what_it_was_and_plain_everywhere(value: Any) -> None:
    check_thawed_form(value)


@pytest.mark.slow
@settings(max_examples=3_000)
@given(json_values)
def test_thousands_of_values_keep_both_forms(value: Any) -> None:
    check_frozen_form(value)
    check_thawed_form(value)


def test_what_is_frozen_comes_back_as_it_is_inside_something_new_too() -> None:
    frozen = freeze({"a": [1, {"b": (2.5, None)}], "c": True})
    assert freeze(frozen) is frozen
    assert freeze([frozen])[0] is frozen
    assert freeze({"k": frozen["a"]})["k"] is frozen["a"]


def test_nothing_editable_is_shared_with_the_original() -> None:
    items = [1, {"n": [2]}]
    frozen = freeze({"items": items})
    items.append(3)
    items[1]["n"].append(4)  # type: ignore[index]  # it is the dict above
    assert frozen == {"items": [1, {"n": [2]}]}


def test_a_tuple_becomes_a_list() -> None:
    assert freeze((1, (2,))) == [1, [2]]
    assert type(freeze(())) is FrozenList


def test_key_order_is_kept() -> None:
    assert list(freeze({"b": 1, "a": 2, "c": 3})) == ["b", "a", "c"]


def test_numbers_keep_their_type_and_size() -> None:
    frozen = freeze([1, 1.0, True, 2**80, -(2**80), 0.1, -0.0])
    assert [type(each) for each in frozen] == [int, float, bool, int, int, float, float]
    assert frozen[3] == 2**80
    assert math.copysign(1, frozen[6]) == -1


@pytest.mark.parametrize(
    "kind", [OrderedDict, Counter, MappingProxyType, lambda d: defaultdict(int, d)]
)
def test_every_dict_is_a_dict_of_json(kind: Callable[[dict[str, int]], Any]) -> None:
    frozen = freeze(kind({"a": 1}))
    assert type(frozen) is FrozenDict
    assert frozen == {"a": 1}


def test_a_subclass_of_list_is_a_list_of_json() -> None:
    class Rows(list[int]):
        pass

    assert type(freeze(Rows([1, 2]))) is FrozenList


# Values with fields


def test_the_fields_of_a_value_become_a_dict() -> None:
    parcel = Parcel("p", Crate("c", Box("b", [(1, 2)])))
    assert freeze(parcel) == {
        "label": "p",
        "crate": {"name": "c", "box": {"name": "b", "items": [[1, 2]], "total": 3}},
    }


def test_what_a_model_dumps_is_recorded_by_the_same_rule() -> None:
    assert freeze(Modelled({"a": (1,), "b": Box("x")})) == {
        "a": [1],
        "b": {"name": "x", "items": [], "total": 3},
    }
    assert freeze(Modelled([1])) == [1]
    with pytest.raises(TypeError, match=r"^answer\.when is a datetime"):
        freeze(Modelled({"when": datetime.now(UTC)}), "answer")


def test_a_field_that_is_not_json_is_named() -> None:
    with pytest.raises(TypeError, match=r"^answer\.box\.items\[1\] is a set"):
        freeze(Crate("c", Box("b", [0, set()])), "answer")


def test_a_field_that_was_never_set_is_named() -> None:
    @dataclasses.dataclass
    class Late:
        total: int = dataclasses.field(init=False)

    with pytest.raises(TypeError, match=r"^v\[0\] is a Late whose field 'total' was"):
        freeze([Late()], "v")


@pytest.mark.parametrize("kind", [Box, Crate, Parcel, int, Modelled])
def test_a_class_is_not_json(kind: type) -> None:
    with pytest.raises(TypeError, match=r"^value is a .*, which JSON cannot hold"):
        freeze(kind)


# The two classes


def test_making_one_freezes_what_it_is_given() -> None:
    made = FrozenDict({"a": [1, {"b": 2}]}, c=(3,))
    assert made == {"a": [1, {"b": 2}], "c": [3]}
    assert all(type(part) not in {dict, list, tuple} for part in every_part(made))
    assert type(FrozenList([{"a": 1}])[0]) is FrozenDict
    assert FrozenDict() == {}
    assert FrozenList() == []
    with pytest.raises(TypeError, match=r"^value\.a is a set"):
        FrozenDict(a={1})


def test_an_empty_one_is_always_the_same_object() -> None:
    assert freeze({}) is FrozenDict() is EMPTY_DICT
    assert freeze(()) is FrozenList() is EMPTY_LIST
    assert pickle.loads(pickle.dumps(EMPTY_DICT)) is EMPTY_DICT


DICT_CHANGES: list[Callable[[Any], object]] = [
    lambda d: d.__setitem__("a", 1),
    lambda d: d.__delitem__("a"),
    lambda d: d.__ior__({"a": 1}),
    lambda d: d.clear(),
    lambda d: d.pop("a"),
    lambda d: d.popitem(),
    lambda d: d.setdefault("z", 1),
    lambda d: d.update(a=2),
]
LIST_CHANGES: list[Callable[[Any], object]] = [
    lambda x: x.__setitem__(0, 1),
    lambda x: x.__delitem__(0),
    lambda x: x.__iadd__([1]),
    lambda x: x.__imul__(2),
    lambda x: x.append(1),
    lambda x: x.clear(),
    lambda x: x.extend([1]),
    lambda x: x.insert(0, 1),
    lambda x: x.pop(),
    lambda x: x.remove(1),
    lambda x: x.reverse(),
    lambda x: x.sort(),
]


@pytest.mark.parametrize("change", DICT_CHANGES)
def test_a_frozen_dict_refuses_every_change(change: Callable[[Any], object]) -> None:
    frozen = freeze({"a": 1, "b": [2]})
    with pytest.raises(TypeError, match=r"read-only; change a copy of it, dict\(value"):
        change(frozen)
    assert frozen == {"a": 1, "b": [2]}


@pytest.mark.parametrize("change", LIST_CHANGES)
def test_a_frozen_list_refuses_every_change(change: Callable[[Any], object]) -> None:
    frozen = freeze([1, [2]])
    with pytest.raises(TypeError, match=r"read-only; change a copy of it, list\(value"):
        change(frozen)
    assert frozen == [1, [2]]


def test_calling_init_again_changes_nothing() -> None:
    frozen_dict, frozen_list = freeze({"a": 1}), freeze([1])
    frozen_dict.__init__({"b": 2})
    frozen_list.__init__([2])
    assert (frozen_dict, frozen_list) == ({"a": 1}, [1])


def test_no_attribute_can_be_added() -> None:
    for frozen in (freeze({"a": 1}), freeze([1])):
        with pytest.raises(AttributeError):
            frozen.extra = 1


def test_plain_copies_can_be_edited() -> None:
    frozen_dict, frozen_list = freeze({"a": [1]}), freeze([1])
    for copied in (dict(frozen_dict), frozen_dict.copy(), frozen_dict | {"x": 0}):
        assert type(copied) is dict
        copied["b"] = 2
    for items in (
        list(frozen_list),
        frozen_list.copy(),
        [*frozen_list],
        frozen_list[:],
    ):
        assert type(items) is list
        items.append(2)
    assert (frozen_dict, frozen_list) == ({"a": [1]}, [1])


def test_a_frozen_dict_can_be_taken_apart_and_spread() -> None:
    frozen = freeze({"name": "b", "items": [1]})
    assert Box(**frozen).items == [1]
    match frozen:
        case {"items": [first]}:
            assert first == 1
        case _:
            pytest.fail("a frozen value has to match as a plain one does")


# Sameness


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (1, True),
        (0.0, False),
        (None, False),
        ("1", 1),
        ([1], [True]),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ([1], [1, 2]),
        ([], {}),
        ({}, None),
        ([[1]], [[2]]),
    ],
)
def test_values_that_differ_in_json_are_not_the_same(a: Any, b: Any) -> None:
    assert not same(a, b)
    assert not same(b, a)
    assert not same(freeze(a), freeze(b))


def test_the_order_of_keys_and_freezing_make_no_difference() -> None:
    assert same({"a": 1, "b": [2]}, freeze({"b": [2], "a": 1}))
    assert same(freeze([1, {"x": None}]), [1, {"x": None}])


@few
@given(json_values, json_values)
def test_same_is_what_the_sorted_text_says(a: Any, b: Any) -> None:
    def text(value: Any) -> str:
        return json.dumps(value, sort_keys=True)

    assert same(a, b) == (text(a) == text(b))


# The codecs


class Record(msgspec.Struct, omit_defaults=True):
    data: FrozenDict[str, Any] = EMPTY_DICT
    items: FrozenList[Any] | None = None
    answer: JSON = None
    error: BaseException | None = None


@pytest.mark.parametrize("codec", [msgspec.json, msgspec.msgpack])
@few
@given(st.dictionaries(st.text("ab"), json_values), json_values)
def test_json_fields_decode_to_what_was_recorded(
    codec: Any, data: Any, answer: Any
) -> None:
    record = Record(freeze(data), freeze([data]), freeze(answer))
    if codec is msgspec.msgpack:
        plain = pack_big_ints(msgspec.to_builtins(record))
        coded = codec.encode(plain)
        again = codec.decode(
            coded, type=Record, dec_hook=decode_hook, ext_hook=unpack_extension
        )
    else:
        coded = codec.encode(record)
        again = codec.decode(coded, type=Record, dec_hook=decode_hook)
    for field in ("data", "items", "answer"):
        was, now = getattr(record, field), getattr(again, field)
        assert same(now, was)
        assert type(now) is type(was)


def test_a_json_field_of_another_shape_is_refused() -> None:
    for wrong in (b'{"data": [1]}', b'{"items": {"a": 1}}'):
        with pytest.raises(msgspec.ValidationError, match="Expected `Frozen"):
            msgspec.json.decode(wrong, type=Record, dec_hook=decode_hook)


def test_bytes_that_are_not_json_are_refused() -> None:
    wrong = msgspec.msgpack.encode({"answer": {"a": [b"raw"]}})
    with pytest.raises(msgspec.ValidationError, match=r"value\.a\[0\] is a bytes"):
        msgspec.msgpack.decode(wrong, type=Record, dec_hook=decode_hook)


def test_an_exception_object_is_left_out_of_the_bytes() -> None:
    record = Record(error=ValueError("x"))
    coded = msgspec.json.encode(record, enc_hook=encode_hook)
    assert json.loads(coded) == {"error": None}
    with pytest.raises(TypeError, match="cannot encode an object"):
        msgspec.json.encode([object()], enc_hook=encode_hook)


@pytest.mark.parametrize("big", [2**64, -(2**63) - 1, 2**71, -(2**71), 10**300])
def test_an_int_beyond_64_bits_survives_message_pack(big: int) -> None:
    coded = msgspec.msgpack.encode(pack_big_ints(freeze({"n": [big, 1]})))
    again = msgspec.msgpack.decode(coded, ext_hook=unpack_extension)
    assert again == {"n": [big, 1]}


def test_ints_of_64_bits_stay_as_they_are() -> None:
    fitting = [2**64 - 1, -(2**63), 0, True]
    assert pack_big_ints(fitting) == fitting


def test_an_unknown_extension_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot read MessagePack extension 7"):
        unpack_extension(7, memoryview(b""))
