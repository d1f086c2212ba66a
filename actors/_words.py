"""What a type asks for, in words that a model can act on."""

import enum
import json
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import inspect

from protocol._not_json import with_article

from ._typed import is_path

_SHOWN_CHARACTERS_MAX = 60
"""Of a wrong value: enough to find it again, whatever was sent in its place."""

_WORDS: dict[type[inspect.Type], str] = {
    inspect.AnyType: "any value",
    inspect.NoneType: "null",
    inspect.BoolType: "true or false",
    inspect.IntType: "an integer",
    inspect.FloatType: "a number",
    inspect.StrType: "text",
    inspect.BytesType: "base64 text",
    inspect.ByteArrayType: "base64 text",
    inspect.DateTimeType: 'a date and time as in "2024-01-31T12:00:00Z"',
    inspect.DateType: 'a date as in "2024-01-31"',
    inspect.TimeType: 'a time as in "12:00:00"',
    inspect.TimeDeltaType: 'a duration as in "PT1H30M"',
    inspect.DecimalType: 'a decimal number as in "12.50"',
    inspect.UUIDType: "a UUID as text",
    inspect.ListType: "a list",
    inspect.SetType: "a list without repeats",
    inspect.FrozenSetType: "a list without repeats",
    inspect.VarTupleType: "a list",
    inspect.CollectionType: "a list",
    inspect.DictType: "an object",
}

_TYPES: dict[type[inspect.Type], Any] = {
    inspect.AnyType: Any,
    inspect.NoneType: None,
    inspect.BoolType: bool,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.StrType: str,
    inspect.BytesType: bytes,
    inspect.ByteArrayType: bytearray,
    inspect.DateTimeType: datetime,
    inspect.DateType: date,
    inspect.TimeType: time,
    inspect.TimeDeltaType: timedelta,
    inspect.DecimalType: Decimal,
    inspect.UUIDType: UUID,
}

_LIMITS = (
    ("ge", "at least {}"),
    ("gt", "more than {}"),
    ("le", "at most {}"),
    ("lt", "less than {}"),
    ("multiple_of", "a multiple of {}"),
    ("pattern", "matching {!r}"),
)


def rebuilt(info: inspect.Type) -> Any:
    """Give the type that msgspec made this picture of, if it has no parts."""
    if isinstance(info, inspect.LiteralType):
        return Literal[info.values]
    declared = _TYPES.get(type(info), getattr(info, "cls", Any))
    limits = {
        name: value
        for name in (*(name for name, _ in _LIMITS), "min_length", "max_length", "tz")
        if (value := getattr(info, name, None)) is not None
    }
    return Annotated[declared, msgspec.Meta(**limits)] if limits else declared


def in_words(info: inspect.Type) -> str:
    """Say what belongs there: `an integer, at least 1, at most 10`."""
    match info:
        case inspect.Metadata(type=inner):
            return in_words(inner)
        case inspect.LiteralType(values=values):
            return _one_of(values)
        case inspect.EnumType(cls=cls):
            return _one_of([_value(member) for member in cls])
        case inspect.UnionType(types=types):
            return " or ".join(in_words(each) for each in types)
        case inspect.TupleType(item_types=types):
            return f"a list of {len(types)}: {', '.join(in_words(t) for t in types)}"
        case inspect.DataclassType() | inspect.TypedDictType():
            return _object_in_words(info.fields)
        case inspect.StructType(array_like=False):
            return _object_in_words(info.fields)
        case inspect.CustomType(cls=cls):
            return "the text of a path" if is_path(cls) else with_article(cls.__name__)
        case _:
            return ", ".join([_WORDS.get(type(info), "a list"), *_limits(info)])


def _value(member: enum.Enum) -> Any:
    return member.value


def _one_of(values: Iterable[Any]) -> str:
    texts = [shown(value) for value in values]
    return texts[0] if len(texts) == 1 else f"one of {', '.join(texts)}"


def _object_in_words(fields: Iterable[inspect.Field]) -> str:
    names = [field.encode_name for field in fields if field.required]
    return f"an object with {' and '.join(names)}" if names else "an object"


def _limits(info: inspect.Type) -> list[str]:
    said = [
        text.format(value)
        for name, text in _LIMITS
        if (value := getattr(info, name, None)) is not None
    ]
    if length := length_in_words(info):
        said.append(f"of {length}")
    if (tz := getattr(info, "tz", None)) is not None:
        said.append("with its time zone" if tz else "without a time zone")
    return said


def length_in_words(info: inspect.Type) -> str:
    """Say how long it may be: `1 to 5 items`; nothing when any length will do."""
    least = getattr(info, "min_length", None)
    most = getattr(info, "max_length", None)
    text = isinstance(info, inspect.StrType | inspect.BytesType | inspect.ByteArrayType)
    unit = "characters" if text else "items"
    if least is None and most is None:
        return ""
    if most is None:
        return f"{least} or more {unit}"
    return f"at most {most} {unit}" if not least else f"{least} to {most} {unit}"


def shown(value: Any) -> str:
    """Give a JSON value as a model would write it, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    if len(text) <= _SHOWN_CHARACTERS_MAX:
        return text
    return f"{text[:_SHOWN_CHARACTERS_MAX]}... ({len(text)} characters)"
