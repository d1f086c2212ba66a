"""What a field's declared type means: what it accepts, and its JSON form.

1. A value is kept as its type reads it back from JSON, so that a state in memory and
   the same state loaded are one value. What JSON would change is refused by its path.
2. A type that JSON itself has is kept as frozen JSON and never converted; messages
   are kept as they are recorded; everything else goes through msgspec.
3. All faults of a value are told at once, each with its path.
"""

import reprlib
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Union

import attrs
import msgspec

from ._json import freeze
from ._message import Message
from ._not_json import a_kind
from ._recorded import recorded
from ._sealed import SealedList, field_names, seal

_SCALARS = frozenset({str, bool, int, float, type(None)})
_JSON_CONTAINERS = frozenset({dict, list, Mapping, Sequence})


@attrs.frozen
class Shape:
    """A declared type, ready to check values of it. Make one with `shape_of`."""

    type: Any
    """The type, as msgspec reads it."""
    kind: Literal["json", "messages", "typed"]
    """Which of the ways of rule 2."""

    def check(self, value: object, path: str) -> Any:
        """Return the value in the form that a state keeps: valid and read-only.

        Raises:
            TypeError: A part of it has another type, or JSON would change it.
            ValueError: Its type is right and its value is not allowed.
        """
        if self.kind == "json":
            return self._check_json(freeze(value, path), path)
        if self.kind == "messages":
            return SealedList(recorded_messages(value, path))
        kept = _read(_dump(value, path), self.type, path)
        _refuse_changed(value, kept, path)
        return seal(kept)

    def _check_json(self, frozen: Any, path: str) -> Any:
        if type(frozen) is not self.type and self.type is not Any:
            _read(frozen, self.type, path)
        return frozen

    def to_json(self, value: Any) -> Any:
        """Return what `check` returned as frozen JSON; at once where it is that."""
        return value if self.kind == "json" else freeze(_dump(value, "value"))

    def from_json(self, data: Any, path: str) -> Any:
        """Return the value that `to_json` made this of.

        Raises:
            TypeError: The type is another one by now, and cannot read it.
            ValueError: The same.
        """
        if self.kind == "json":
            return self._check_json(freeze(data, path), path)
        return seal(_read(data, self.type, path))


def shape_of(declared: Any) -> Shape:
    """Return the shape of a type annotation.

    Raises:
        TypeError: Values of this type have no JSON form that can be read back.
        NameError: A class inside it names a type that is not defined yet.
    """
    if declared == list[Message]:
        return Shape(declared, "messages")
    if _is_json_type(declared):
        return Shape(Any if declared is object else declared, "json")
    for leaf in _leaves(declared):
        info = msgspec.inspect.type_info(leaf)
        if isinstance(info, msgspec.inspect.CustomType):
            name = getattr(leaf, "__name__", repr(leaf))
            raise TypeError(
                f"a {name} has no JSON form that can be read back: use a dataclass, an"
                " attrs class, a msgspec Struct or a dict, or keep it in the config"
            )
    msgspec.inspect.type_info(declared)  # raises for unions it cannot tell apart
    return Shape(declared, "typed")


def update_to_json(value: Any, path: str) -> Any:
    """Return an update, whatever its type, as frozen JSON.

    Raises:
        TypeError: A part of it has no JSON form.
    """
    return freeze(_dump(value, path), path)


def recorded_messages(value: Any, path: str) -> Iterator[Message]:
    """Give messages in the form that history keeps, without giving them a time.

    Raises:
        TypeError: It is no list of messages, or one of them cannot be recorded.
        ValueError: A message has a role that there is not.
    """
    if not issubclass(type(value), list | tuple):
        raise TypeError(f"{path} must be a list of messages, got {value!r}")
    for index, item in enumerate(value):
        yield _recorded(item, f"{path}[{index}]")


def _recorded(message: Any, path: str) -> Message:
    try:
        kept = recorded(message, 0.0)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path}: {error}") from None
    unchanged: bool = kept == message
    if unchanged and isinstance(message, Message):
        return message
    untimed: Message = msgspec.structs.replace(kept, timestamp=message.timestamp)
    return untimed


def _is_json_type(declared: Any) -> bool:
    if declared is Any or declared is object or declared in _SCALARS:
        return True
    if declared is None or declared in _JSON_CONTAINERS:
        return True
    origin, args = typing.get_origin(declared), typing.get_args(declared)
    if origin is Annotated:
        return _is_json_type(args[0])
    if origin in {Union, types.UnionType} or origin in {list, Sequence}:
        return all(_is_json_type(arg) for arg in args)
    if origin in {dict, Mapping}:
        return args[0] is str and _is_json_type(args[1])
    return origin is Literal and all(type(arg) in _SCALARS for arg in args)


def _leaves(declared: Any) -> Iterator[Any]:
    origin, args = typing.get_origin(declared), typing.get_args(declared)
    if origin is Literal or not args or declared is Ellipsis:
        yield from () if declared is Ellipsis else (declared,)
        return
    for arg in args[:1] if origin is Annotated else args:
        yield from _leaves(arg)


def _dump(value: Any, path: str) -> Any:
    """Return a value as plain JSON, whatever types its fields declare."""
    kind = value.__class__
    if kind in _SCALARS:
        return freeze(value, path)
    if kind is Message:
        return msgspec.to_builtins(_recorded(value, path))
    if issubclass(kind, dict):
        return {_key(k, path): _dump(v, _at(path, k)) for k, v in value.items()}
    if issubclass(kind, list | tuple | set | frozenset):
        return [_dump(v, _at(path, i)) for i, v in enumerate(value)]
    names = field_names(kind)
    if names is not None and not issubclass(kind, msgspec.Struct):
        return {n: _dump(getattr(value, n), _at(path, n)) for n in names}
    try:
        return freeze(msgspec.to_builtins(value, str_keys=True), path)
    except TypeError:
        raise TypeError(
            f"{path} is {a_kind(value)}, which the state cannot hold: use dict, list,"
            " str, int, float, bool or None, or declare the field with a type"
        ) from None


def _key(key: Any, path: str) -> str:
    """A dict's key as JSON has it: text, which the declared type reads back."""
    if type(key) is str:
        return key
    try:
        return str(next(iter(msgspec.to_builtins({key: None}, str_keys=True))))
    except TypeError:
        raise TypeError(f"{path} has the key {key!r}, which is not text") from None


def _at(path: str, step: object) -> str:
    if isinstance(step, str) and step.isidentifier():
        return f"{path}.{step}"
    return f"{path}[{step!r}]"


def _read(data: Any, declared: Any, path: str) -> Any:
    """Return JSON as the declared type, or raise with every fault in it."""
    try:
        return msgspec.convert(data, declared, str_keys=True)
    except msgspec.ValidationError as error:
        faults = list(_faults(data, declared, path)) or [_told(error, data, path)]
    text = "; ".join(faults)
    raise TypeError(text) if ", got `" in text else ValueError(text)


def _faults(data: Any, declared: Any, path: str) -> Iterator[str]:
    """Every part of the data that its type cannot read, the innermost of each."""
    found = False
    for step, part, part_type in _parts(data, declared):
        for fault in _faults(part, part_type, _at(path, step)):
            found = True
            yield fault
    if not found:
        try:
            msgspec.convert(data, declared, str_keys=True)
        except msgspec.ValidationError as error:
            yield _told(error, data, path)


def _parts(data: Any, declared: Any) -> Iterable[tuple[str | int, Any, Any]]:
    """What the data consists of, with the type of each part, as far as is known."""
    origin, args = typing.get_origin(declared), typing.get_args(declared)
    kind = data.__class__
    if origin is Annotated:
        return _parts(data, args[0])
    if origin in {Union, types.UnionType}:
        others = [arg for arg in args if arg is not type(None)]
        return _parts(data, others[0]) if len(others) == 1 else ()
    if issubclass(kind, list) and origin in {list, set, frozenset, Sequence}:
        return [(index, item, args[0]) for index, item in enumerate(data)]
    if issubclass(kind, dict) and origin in {dict, Mapping}:
        return [(key, item, args[1]) for key, item in data.items()]
    if issubclass(kind, dict) and field_names(origin or declared) is not None:
        hints = typing.get_type_hints(origin or declared, include_extras=True)
        return [(key, data[key], hints[key]) for key in hints if key in data]
    return ()


def _told(error: msgspec.ValidationError, data: object, path: str) -> str:
    text, _, inner = str(error).partition(" - at `$")
    where = path + inner.rstrip("`")
    told = f"{where}: {text[:1].lower()}{text[1:]}"
    return f"{told} {reprlib.repr(data)}" if told.endswith("`") and not inner else told


def _refuse_changed(given: Any, kept: Any, path: str) -> None:
    """Check that nothing but JSON's own types was read as something else.

    A date where the type says nothing would come back as text, and a key that the type
    does not know would not come back: both are refused rather than lost.
    """
    kind = given.__class__
    if kind in _SCALARS or kind is Message:
        return
    names = field_names(kind)
    if issubclass(kind, dict):
        parts: dict[Any, Any] = dict(given)
    elif names is not None:
        parts = {name: getattr(given, name) for name in names}
    elif issubclass(kind, list | tuple):
        ordered = issubclass(kept.__class__, list | tuple)
        parts = {i: item for i, item in enumerate(given) if ordered}
    elif _is_set(given) == _is_set(kept) and kept == given:
        return
    else:
        raise TypeError(
            f"{path} is {a_kind(given)}, which JSON would change:"
            " declare its type, or use its text"
        )
    for key, item in parts.items():
        _refuse_changed(item, _part(kept, key, path), _at(path, key))


def _is_set(value: object) -> bool:
    return isinstance(value, set | frozenset)


def _part(kept: Any, key: Any, path: str) -> Any:
    try:
        named = field_names(kept.__class__) is not None
        return getattr(kept, key) if named else kept[key]
    except (KeyError, AttributeError, IndexError, TypeError):
        name = type(kept).__name__
        raise ValueError(f"{path} has the key {key!r}, which {name} has not") from None
