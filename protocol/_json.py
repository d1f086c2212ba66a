"""Frozen JSON: the read-only form that every recorded value has.

1. Exactly these are JSON: dict with str keys, list, str, bool, int, float, None.
   A tuple becomes a list, and a dataclass, attrs, Struct or pydantic value a dict
   of its fields; nothing else is converted.
2. A FrozenDict or FrozenList is frozen all the way down, so it is never walked
   again.
3. What JSON cannot hold is refused with its path, its type and the way out.
"""

from __future__ import annotations

import dataclasses
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, final

import msgspec

from ._not_json import DEPTH_MAX, NotJSON, a_kind, not_json, too_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

K = TypeVar("K")
V = TypeVar("V")

# The builtins as Any: what they hold here has no type that checkers could know.
_dict: Any = dict
_list: Any = list
_type: Any = type


def _refuse_change(self: Any, *_args: object, **_kwargs: object) -> NoReturn:
    kind = "list" if isinstance(self, list) else "dict"
    raise TypeError(
        f"cannot change a {_type(self).__name__}, it is read-only; change a copy of"
        f" it, {kind}(value), and record that"
    )


@final
class FrozenDict(dict[K, V]):
    """A dict of JSON that cannot change, all the way down.

    It reads, compares, pickles and serialises as the dict it is, and has a hash.
    A change raises TypeError; `dict(value)` gives an editable copy. `copy.copy`
    and `copy.deepcopy` return the same object. Making one freezes what it is
    given, and raises TypeError where that is not JSON.
    """

    __slots__ = ("_height",)
    _height: int  # its levels, this one counted

    if not TYPE_CHECKING:  # checkers see a dict: they know no read-only one

        def __new__(cls, *args, **kwargs):
            return freeze(dict(*args, **kwargs))

        def __init__(self, *args, **kwargs):
            """Do nothing: dict's own would put the values in unfrozen."""

        def __reduce_ex__(self, protocol):
            return FrozenDict, (dict(self),)

        def __hash__(self):
            return hash(frozenset(self.items()))

        def __copy__(self):
            return self

        def __deepcopy__(self, memo):
            return self

        __setitem__ = __delitem__ = __ior__ = _refuse_change
        clear = pop = popitem = setdefault = update = _refuse_change


@final
class FrozenList(list[V]):
    """A list of JSON that cannot change, all the way down; see `FrozenDict`.

    `list(value)` gives an editable copy.
    """

    __slots__ = ("_height",)
    _height: int

    if not TYPE_CHECKING:

        def __new__(cls, items=()):
            return freeze(list(items))

        def __init__(self, items=()):
            """Do nothing: list's own would put the values in unfrozen."""

        def __reduce_ex__(self, protocol):
            return FrozenList, (list(self),)

        def __hash__(self):
            return hash(tuple(self))

        def __copy__(self):
            return self

        def __deepcopy__(self, memo):
            return self

        __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse_change
        append = clear = extend = insert = pop = _refuse_change
        remove = reverse = sort = _refuse_change


if TYPE_CHECKING:
    JSON: TypeAlias = Any
    """A value that JSON can hold, frozen once it is recorded. Checkers see Any:
    whoever reads an answer knows its shape, and they cannot."""
else:

    class _ShallowCheck(type):
        def __instancecheck__(cls, value):
            return type(value) in _FROZEN

    class JSON(metaclass=_ShallowCheck):
        """Marks a Struct field of any JSON value.

        msgspec hands what it decodes for such a field to `decode_hook`; in a
        field of type Any it would leave an editable dict.
        """


def freeze(value: object, path: str = "value") -> JSON:
    """Return `value` in its recorded form: JSON, read-only all the way down.

    What is frozen already comes back as it is, at once. Nothing of `value` is
    shared with the result except strings, numbers and frozen parts.

    Args:
        value: Anything; see rule 1 of this module for what is JSON.
        path: What to call it in an error.

    Raises:
        TypeError: A part is not JSON, the value contains itself, or it nests
            more than `DEPTH_MAX` levels; the text has the path of that part, as
            in `answer.items[3].when`, its type and what to do instead.
    """
    try:
        return _FREEZERS.get(type(value), _freeze_other)(value, 1)
    except NotJSON as fault:
        problem = fault.told(path)
    raise TypeError(problem)


def _freeze_dict(value: Mapping[Any, Any], level: int, owner: object = None) -> JSON:
    if level > DEPTH_MAX:
        raise too_deep()
    if not value:
        return EMPTY_DICT
    made = _dict.__new__(FrozenDict)
    _dict.update(made, value)  # first: another thread may change `value`, not `made`
    height = 0
    key: Any = None
    try:
        for key, item in made.items():
            if type(key) is not str or not key.isascii():
                _check_key(key)
            kind = _type(item)
            if kind in _PLAIN or (kind is str and item.isascii()):
                continue
            frozen = _FREEZERS.get(kind, _freeze_other)(item, level + 1)
            if frozen is not item:
                _dict.__setitem__(made, key, frozen)
            if type(frozen) in _CONTAINERS and frozen._height > height:
                height = frozen._height
    except NotJSON as fault:
        fault.trail.append((key, value if owner is None else owner))
        raise
    made._height = height + 1
    return made


def _freeze_list(value: Sequence[Any], level: int) -> JSON:
    if level > DEPTH_MAX:
        raise too_deep()
    if not value:
        return EMPTY_LIST
    made = _list.__new__(FrozenList)
    _list.extend(made, value)
    height = index = 0
    try:
        for index, item in enumerate(made):
            kind = _type(item)
            if kind in _PLAIN or (kind is str and item.isascii()):
                continue
            frozen = _FREEZERS.get(kind, _freeze_other)(item, level + 1)
            if frozen is not item:
                _list.__setitem__(made, index, frozen)
            if type(frozen) in _CONTAINERS and frozen._height > height:
                height = frozen._height
    except NotJSON as fault:
        fault.trail.append((index, value))
        raise
    made._height = height + 1
    return made


def _freeze_float(value: float, _level: int) -> float:
    if not isfinite(value):
        raise NotJSON(f"is {value!r}, which JSON cannot hold; use None or a text")
    return value


def _freeze_text(value: str, _level: int) -> str:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise NotJSON(
            f"has a lone surrogate at character {error.start}, which UTF-8 cannot"
            " hold; replace it: text.encode(errors='replace').decode()"
        ) from None
    return value


def _check_key(key: object) -> None:
    if type(key) is not str:
        raise NotJSON(
            f"has {a_kind(key)} as its key, and keys in JSON are str; use str() of it"
        )
    _freeze_text(key, 0)


def _freeze_plain(value: Any, _level: int) -> Any:
    return value


def _freeze_frozen(value: Any, level: int) -> Any:
    if level + value._height > DEPTH_MAX + 1:
        raise too_deep()
    return value


def _freeze_other(value: Any, level: int) -> JSON:
    """Freeze what is not exactly one of JSON's own types, or raise `NotJSON`."""
    kind = _type(value)
    if issubclass(kind, dict | MappingProxyType):
        return _freeze_dict(value, level)
    if issubclass(kind, list):
        return _freeze_list(value, level)
    fields = _fields(value)
    kind = _type(fields)
    if kind is dict:
        return _freeze_dict(fields, level, value)
    return _FREEZERS.get(kind, _freeze_other)(fields, level)


def _fields(value: Any) -> Any:
    """Return the fields of `value` as a dict, or raise `NotJSON`."""
    kind = _type(value)
    if isinstance(value, type):  # the class Struct has fields of its own
        raise not_json(value)
    if hasattr(kind, "__struct_fields__"):
        names = kind.__struct_fields__
    elif hasattr(kind, "__dataclass_fields__"):
        names = [field.name for field in dataclasses.fields(kind)]
    elif hasattr(kind, "__attrs_attrs__"):
        names = [field.name for field in kind.__attrs_attrs__]
    elif hasattr(kind, "model_dump"):  # pydantic, which is not imported for this
        return value.model_dump()
    else:
        raise not_json(value)
    fields: dict[str, Any] = {}
    for name in names:
        if not hasattr(value, name):
            raise NotJSON(
                f"is {a_kind(value)} whose field {name!r} was never set; give it"
                " a default"
            )
        fields[name] = getattr(value, name)
    return fields


_CONTAINERS = frozenset({FrozenDict, FrozenList})
_PLAIN = frozenset({bool, int, type(None)})
_FROZEN = _CONTAINERS | _PLAIN | {str, float}
_DICTS = frozenset({dict, FrozenDict})
_LISTS = frozenset({list, FrozenList, tuple})
_FREEZERS: dict[type, Callable[[Any, int], Any]] = {
    FrozenDict: _freeze_frozen,
    FrozenList: _freeze_frozen,
    str: _freeze_text,
    bool: _freeze_plain,
    int: _freeze_plain,
    type(None): _freeze_plain,
    float: _freeze_float,
    dict: _freeze_dict,
    list: _freeze_list,
    tuple: _freeze_list,
}


def _empty(made: Any) -> Any:
    made._height = 1
    return made


EMPTY_DICT: FrozenDict[str, Any] = _empty(_dict.__new__(FrozenDict))
EMPTY_LIST: FrozenList[Any] = _empty(_list.__new__(FrozenList))


def thaw(value: JSON) -> Any:
    """Return an editable copy of `value`, plain dicts and lists all the way down."""
    kind = _type(value)
    if kind in _DICTS:
        return {key: thaw(item) for key, item in value.items()}
    if kind in _LISTS:
        return [thaw(item) for item in value]
    return value


def same(a: JSON, b: JSON) -> bool:
    """Tell whether two JSON values are the same: 1, 1.0 and True are not.

    The order of keys does not matter, nor whether a side is frozen.
    """
    if a is b:
        return True
    kind = _type(a)
    if kind in _DICTS:
        if type(b) not in _DICTS or a.keys() != b.keys():
            return False
        return all(same(item, b[key]) for key, item in a.items())
    if kind in _LISTS:
        if type(b) not in _LISTS or len(a) != len(b):
            return False
        return all(map(same, a, b))
    return kind is type(b) and bool(a == b)


def decode_hook(_kind: object, decoded: Any) -> JSON:
    """Freeze what msgspec decoded for a JSON field; its `dec_hook`."""
    return freeze(decoded)


def encode_hook(value: object) -> None:
    """Leave an exception object out of the bytes; msgspec's `enc_hook`.

    Raises:
        TypeError: `value` is anything else that has no form in bytes.
    """
    if not isinstance(value, BaseException):
        raise TypeError(f"cannot encode {a_kind(value)}")


BIG_INT = 1
"""The MessagePack extension of an int beyond 64 bits: big-endian, signed."""


def pack_big_ints(tree: Any) -> Any:
    """Return plain data with its ints beyond 64 bits as a MessagePack extension.

    For the rare value that made the encoder raise OverflowError.
    """
    kind = _type(tree)
    if kind in _DICTS:
        return {key: pack_big_ints(item) for key, item in tree.items()}
    if kind in _LISTS:
        return [pack_big_ints(item) for item in tree]
    if kind is int and not -(2**63) <= tree < 2**64:
        size = tree.bit_length() // 8 + 1  # one bit more, for the sign
        return msgspec.msgpack.Ext(BIG_INT, tree.to_bytes(size, "big", signed=True))
    return tree


def unpack_extension(code: int, data: memoryview) -> int:
    """Read what `pack_big_ints` wrote; msgspec's `ext_hook`.

    Raises:
        ValueError: The extension is not one of ours.
    """
    if code != BIG_INT:
        raise ValueError(f"cannot read MessagePack extension {code}, only {BIG_INT}")
    return int.from_bytes(data, "big", signed=True)
