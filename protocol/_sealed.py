"""Read-only containers and objects, for values that a type gives back from JSON.

1. FrozenDict and FrozenList hold JSON and nothing else. What stands here may also
   hold messages, dates, and objects of users' own classes.
2. Sealing works on objects that nobody else holds yet: it takes them over.
3. A copy of a sealed object (`copy.copy`, `dataclasses.replace`, `attrs.evolve`) is
   an object of the user's own class, free to change.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import attrs
import msgspec

from ._json import FrozenDict, FrozenList
from ._message import Message

K = TypeVar("K")
V = TypeVar("V")


def _refuse_change(self: Any, *_args: object, **_kwargs: object) -> NoReturn:
    copied = next((k for k in _EDITABLE if k in _bases(self)), "copy.copy")
    raise TypeError(
        f"a {type(self).__name__} in a state is read-only; change a copy,"
        f" {copied}(value), and assign that to the field"
    )


_EDITABLE = ("dict", "list", "set")


def _bases(value: Any) -> set[str]:
    return {base.__name__ for base in value.__class__.__mro__}


class SealedDict(dict[K, V]):
    """A dict of sealed values that cannot change."""

    __slots__ = ()

    if not TYPE_CHECKING:  # to checkers it is a dict: they know no read-only one
        __setitem__ = __delitem__ = __ior__ = _refuse_change
        clear = pop = popitem = setdefault = update = _refuse_change

        def __reduce_ex__(self, protocol):
            return type(self), (dict(self),)


class SealedList(list[V]):
    """A list of sealed values that cannot change."""

    __slots__ = ()

    if not TYPE_CHECKING:
        __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse_change
        append = clear = extend = insert = pop = _refuse_change
        remove = reverse = sort = _refuse_change

        def __reduce_ex__(self, protocol):
            return type(self), (list(self),)


class SealedSet(set[V]):
    """A set of sealed values that cannot change."""

    __slots__ = ()

    if not TYPE_CHECKING:
        __iand__ = __ior__ = __isub__ = __ixor__ = _refuse_change
        add = clear = discard = pop = remove = update = _refuse_change
        difference_update = intersection_update = _refuse_change
        symmetric_difference_update = _refuse_change

        def __reduce_ex__(self, protocol):
            return type(self), (set(self),)


_SEALED = frozenset({FrozenDict, FrozenList, SealedDict, SealedList, SealedSet})
_SEALED_ALREADY = _SEALED | {str, bool, int, float, type(None), Message}


def seal(value: Any) -> Any:
    """Return ``value`` read-only all the way down.

    Containers are made anew; objects of users' classes are taken over and changed in
    place, so they must be in nobody else's hands.
    """
    kind = value.__class__
    if kind in _SEALED_ALREADY:
        return value
    if kind is dict:
        return SealedDict({key: seal(item) for key, item in value.items()})
    if kind is list:
        return SealedList([seal(item) for item in value])
    if kind is set:
        return SealedSet(value)
    if kind is tuple:
        return tuple([seal(item) for item in value])
    if hasattr(kind, "_make"):  # a named tuple
        return kind._make(seal(item) for item in value)
    names = field_names(kind)
    return value if names is None else _seal_object(value, names)


@functools.cache
def field_names(kind: Any) -> tuple[str, ...] | None:
    """The fields of a dataclass, attrs class or Struct; None for any other class."""
    if issubclass(kind, msgspec.Struct):
        names: tuple[str, ...] = kind.__struct_fields__
        return names
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    if attrs.has(kind):
        return tuple(field.name for field in attrs.fields(kind))
    return None


def _seal_object(value: Any, names: tuple[str, ...]) -> Any:
    set_field = _setter(value)
    for name in names:
        held = getattr(value, name)
        sealed = seal(held)
        if sealed is not held:
            set_field(value, name, sealed)
    if not _is_frozen(value, names):
        value.__class__ = _sealed_class(value.__class__)
    return value


def _setter(value: object) -> Callable[[Any, str, object], None]:
    """How to set a field even where the class is frozen or guards its attributes."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.force_setattr
    return object.__setattr__


def _is_frozen(value: Any, names: tuple[str, ...]) -> bool:
    """Whether the class refuses changes itself; tried, as each kind says it its way."""
    if not names:
        return True
    try:
        setattr(value, names[0], getattr(value, names[0]))
    except (AttributeError, TypeError):
        return True
    return False


@functools.cache
def _sealed_class(base: Any) -> Any:
    """A class like ``base`` whose objects cannot change.

    It keeps the name, so that tags and repr read the same, and the tables by which
    libraries know the fields of a class.
    """
    names = field_names(base) or ()

    def as_base(self: Any) -> Any:
        return _assemble(base, {name: getattr(self, name) for name in names})

    def equal(self: Any, other: Any) -> Any:
        return as_base(self) == (as_base(other) if type(other) is sealed else other)

    def reduce(self: Any) -> Any:
        return _assemble, (base, {name: getattr(self, name) for name in names})

    def make(_cls: type, *args: Any, **kwargs: Any) -> Any:
        return base(*args, **kwargs)

    make_class = base.__class__
    members: dict[str, Any] = {
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "__doc__": base.__doc__,
        "__setattr__": _refuse_change,
        "__delattr__": _refuse_change,
        "__eq__": equal,
        "__hash__": base.__hash__,
        "__copy__": as_base,
        "__reduce__": reduce,
    }
    if not issubclass(base, msgspec.Struct):  # whose copies by `replace` stay sealed
        members |= {"__new__": make, "__slots__": ()}
    for table in ("__attrs_attrs__", "__dataclass_fields__", "__dataclass_params__"):
        if hasattr(base, table):
            members[table] = getattr(base, table)
    sealed: Any = make_class(base.__name__, (base,), members)
    return sealed


def _assemble(base: Any, values: dict[str, Any]) -> Any:
    """An object of ``base`` with these fields."""
    if issubclass(base, msgspec.Struct):
        return base(**values)
    made = base.__new__(base)  # not __init__, which may not take every field
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made
