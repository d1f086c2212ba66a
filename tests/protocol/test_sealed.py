import copy
import dataclasses
import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import attrs
import msgspec
import pytest

from protocol._sealed import SealedDict, SealedList, SealedSet, seal


@dataclass
class Point:
    x: int
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclass(slots=True)
class Slotted:
    x: int


@dataclass(frozen=True)
class Solid:
    x: int
    tags: list[str]


@attrs.define
class Place:
    at: Point


class Row(msgspec.Struct, tag=True):
    x: int


class FrozenRow(msgspec.Struct, frozen=True):
    tags: list[str]


@attrs.frozen
class Nothing:
    pass


class Pair(NamedTuple):
    a: int
    b: list[int]


def objects() -> list[Any]:
    return [
        Point(1, ["a"]),
        Slotted(1),
        Solid(1, ["a"]),
        Place(Point(1)),
        Row(1),
        FrozenRow(["a"]),
        Nothing(),
    ]


PAIRS = list(zip(objects(), map(seal, objects()), strict=True))


@pytest.mark.parametrize(("plain", "sealed"), PAIRS)
def test_a_sealed_object_reads_like_one_of_its_class(plain: Any, sealed: Any) -> None:
    assert isinstance(sealed, type(plain))
    assert repr(sealed) == repr(plain)
    assert sealed == plain
    assert plain == sealed
    assert sealed == seal(copy.deepcopy(plain))
    assert sealed != object()


@pytest.mark.parametrize(("plain", "sealed"), PAIRS)
def test_it_cannot_be_changed_but_its_copies_can(plain: Any, sealed: Any) -> None:
    names = [n for n in ("x", "at", "tags") if hasattr(plain, n)]
    for name in names:
        with pytest.raises((TypeError, AttributeError)):
            setattr(sealed, name, 5)
        with pytest.raises((TypeError, AttributeError)):
            delattr(sealed, name)
    assert sealed == plain
    for copied in (
        copy.copy(sealed),
        copy.deepcopy(sealed),
        pickle.loads(pickle.dumps(sealed)),
    ):
        assert type(copied) is type(plain)
        assert copied == plain


def test_the_error_names_the_way_to_an_editable_copy() -> None:
    point: Any = seal(Point(1, ["a"]))
    with pytest.raises(TypeError, match=r"a Point .* read-only.*copy\.copy\(value\)"):
        point.x = 2
    with pytest.raises(TypeError, match=r"list\(value\)"):
        point.tags.append("b")


def test_replacing_a_field_makes_an_object_of_the_own_class() -> None:
    point: Any = seal(Point(1, ["a"]))
    moved = dataclasses.replace(point, x=2)
    moved.x = 3
    place: Any = seal(Place(Point(1)))
    there = attrs.evolve(place, at=moved)
    there.at = point
    assert (type(moved), type(there)) == (Point, Place)


def test_a_struct_keeps_its_tag_and_stays_sealed_when_replaced() -> None:
    row: Any = seal(Row(1))
    assert msgspec.to_builtins(row) == {"type": "Row", "x": 1}
    replaced: Any = msgspec.structs.replace(row, x=2)
    with pytest.raises(TypeError, match="read-only"):
        replaced.x = 3


CHANGES: list[tuple[Any, Any]] = [
    ({"a": [1]}, lambda v: v.update(b=1)),
    ({"a": [1]}, lambda v: v["a"].append(1)),
    ({"a": [1]}, lambda v: v.__ior__({"b": 1})),
    ({"a": [1]}, lambda v: v.pop("a")),
    ([1, {"a": 1}], lambda v: v[1].clear()),
    ([1, {"a": 1}], lambda v: v.__imul__(2)),
    ([1, {"a": 1}], lambda v: v.sort()),
    (({"a": 1},), lambda v: v[0].clear()),
    (Pair(1, [2]), lambda v: v.b.append(1)),
    ({1, 2}, lambda v: v.add(3)),
    ({1, 2}, lambda v: v.__ior__({3})),
    ({1, 2}, lambda v: v.clear()),
]


@pytest.mark.parametrize(("plain", "change"), CHANGES)
def test_containers_cannot_be_changed_at_any_depth(plain: Any, change: Any) -> None:
    sealed = seal(plain)
    before = copy.deepcopy(sealed)
    with pytest.raises(TypeError, match="read-only"):
        change(sealed)
    assert sealed == plain == before
    assert type(pickle.loads(pickle.dumps(sealed))) is type(sealed)


def test_what_is_sealed_comes_back_at_once() -> None:
    for value in (SealedDict(a=1), SealedList([1]), SealedSet({1}), "x", None):
        assert seal(value) is value


def test_sealed_containers_combine_like_plain_ones() -> None:
    one: list[int] = SealedList([1])
    added = one + one
    added.append(3)
    joined = SealedSet({1}) | {2}
    merged = {**SealedDict(a=1), "b": 2}
    assert (added, joined, merged) == ([1, 1, 3], {1, 2}, {"a": 1, "b": 2})
