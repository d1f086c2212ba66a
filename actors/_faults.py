"""Everything that is wrong with a JSON value that should be of a type, in words.

1. msgspec stops at the first fault; this walks the value beside the type and goes on.
   It runs only once msgspec has refused, so speed does not count.
2. A fault names the path, says what belongs there, and shows what is there.
3. Of faults within each other only the innermost is told.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import inspect

from ._typed import convert, is_list, is_model, is_object
from ._words import in_words, length_in_words, rebuilt, shown

FAULTS_MAX = 100
"""Faults that are told one by one: enough for a model to see what it does wrong,
few enough that a list of a million wrong items does not fill its context."""

_Object: TypeAlias = inspect.StructType | inspect.DataclassType | inspect.TypedDictType
_List: TypeAlias = (
    inspect.ListType | inspect.SetType | inspect.FrozenSetType
    | inspect.VarTupleType | inspect.CollectionType
)  # fmt: skip


def faults_in(value: Any, declared: Any, path: str) -> list[str]:
    """Tell all faults of a value, none when it is of the type.

    Args:
        value: JSON, frozen or not.
        declared: A type as `readable` returns it.
        path: What to call the value: `city`, and then `city.streets[2]`.
    """
    found = _faults(value, inspect.type_info(declared), path)
    return found or _refusal(value, declared, path)


def listed(problem: str, faults: Sequence[str]) -> str:
    """Put faults under what they prevent: on the same line, or a line for each."""
    if len(faults) == 1:
        return f"{problem}: {faults[0]}"
    lines = [f"{problem}, {len(faults)} faults:", *faults[:FAULTS_MAX]]
    if len(faults) > FAULTS_MAX:
        lines.append(f"{len(faults) - FAULTS_MAX} more of them")
    return "\n- ".join(lines)


def _faults(value: Any, info: inspect.Type, path: str) -> list[str]:
    match info:
        case inspect.Metadata(type=inner):
            return _faults(value, inner, path)
        case inspect.UnionType(types=types):
            return _in_union(value, types, path)
        case inspect.CustomType(cls=cls) if is_model(cls):
            return _in_model(value, cls, path)
        case inspect.StructType(array_like=True):
            return _in_leaf(value, info, path)
        case inspect.StructType() | inspect.DataclassType() | inspect.TypedDictType():
            return _in_object(value, info, path)
        case inspect.DictType():
            return _in_dict(value, info, path)
        case inspect.TupleType(item_types=types):
            return _in_tuple(value, info, types, path)
        case _ if isinstance(info, _List):
            return _in_list(value, info, path)
        case _:
            return _in_leaf(value, info, path)


def _in_leaf(value: Any, info: inspect.Type, path: str) -> list[str]:
    if not _refusal(value, rebuilt(info), path):
        return []
    return [f"{path} must be {in_words(info)}, got {shown(value)}"]


def _in_object(value: Any, info: _Object, path: str) -> list[str]:
    if not is_object(value):
        return [f"{path} must be {in_words(info)}, got {shown(value)}"]
    found: list[str] = []
    for field in info.fields:
        where = f"{path}.{field.encode_name}"
        if field.encode_name in value:
            found += _faults(value[field.encode_name], field.type, where)
        elif field.required:
            found.append(f"{where} is missing: give {in_words(field.type)}")
    if getattr(info, "forbid_unknown_fields", False):
        found += unknown(value, _names(info), path)
    return found or _refusal(value, info.cls, path)


def _names(info: _Object) -> list[str]:
    tag = getattr(info, "tag_field", None)
    names = [field.encode_name for field in info.fields]
    return names if tag is None else [tag, *names]


def unknown(names: Iterable[str], known: Sequence[str], path: str = "") -> list[str]:
    """Tell which names there are not, and which there are."""
    there = f"there are {', '.join(known)}" if known else "there are none"
    return [
        f"{step(path, name)} is unknown: {there}" for name in names if name not in known
    ]


def _in_dict(value: Any, info: inspect.DictType, path: str) -> list[str]:
    if not is_object(value):
        return [f"{path} must be {in_words(info)}, got {shown(value)}"]
    found: list[str] = []
    key_type: Any = rebuilt(info.key_type)
    pair: Any = dict[key_type, None]
    for key, item in value.items():
        if _refusal({key: None}, pair, path):
            need = in_words(info.key_type)
            found.append(f"{path} has the key {shown(key)}, which must be {need}")
        found += _faults(item, info.value_type, step(path, key))
    return found or _in_length(value, info, path)


def step(path: str, key: str) -> str:
    """Give the path of what a dict has under a key."""
    if not path:
        return key
    return f"{path}.{key}" if key.isidentifier() else f"{path}[{key!r}]"


def _in_list(value: Any, info: _List, path: str) -> list[str]:
    if not is_list(value):
        return [f"{path} must be {in_words(info)}, got {shown(value)}"]
    found: list[str] = []
    for index, item in enumerate(value):
        found += _faults(item, info.item_type, f"{path}[{index}]")
    return found or _in_length(value, info, path)


def _in_tuple(
    value: Any, info: inspect.Type, types: Sequence[inspect.Type], path: str
) -> list[str]:
    if not is_list(value) or len(value) != len(types):
        return [f"{path} must be {in_words(info)}, got {shown(value)}"]
    found: list[str] = []
    for index, (item, kind) in enumerate(zip(value, types, strict=True)):
        found += _faults(item, kind, f"{path}[{index}]")
    return found


def _in_length(value: Any, info: inspect.Type, path: str) -> list[str]:
    least = getattr(info, "min_length", None) or 0
    most = getattr(info, "max_length", None)
    if len(value) >= least and (most is None or len(value) <= most):
        return []
    return [f"{path} must have {length_in_words(info)}, got {len(value)}"]


def _in_union(value: Any, types: Sequence[inspect.Type], path: str) -> list[str]:
    fitting = [each for each in types if _is_kind_of(value, each)]
    if len(fitting) > 1:
        return _in_tagged(value, fitting, path)
    if fitting:
        return _faults(value, fitting[0], path)
    if any(not _faults(value, each, path) for each in types):
        return []
    wanted = " or ".join(in_words(each) for each in types)
    return [f"{path} must be {wanted}, got {shown(value)}"]


def _is_kind_of(value: Any, info: inspect.Type) -> bool:
    """Whether the type has parts, and this value has the same kind of parts."""
    if isinstance(info, inspect.Metadata):
        return _is_kind_of(value, info.type)
    if is_object(value):
        has_fields = isinstance(info, _Object | inspect.DictType)
        return has_fields or (
            isinstance(info, inspect.CustomType) and is_model(info.cls)
        )
    if is_list(value):
        return isinstance(info, _List | inspect.TupleType)
    return False


def _in_tagged(value: Any, types: Sequence[inspect.Type], path: str) -> list[str]:
    """Follow the tag; msgspec allows several classes in a union only if tags differ."""
    tags = {each.tag: each for each in types if isinstance(each, inspect.StructType)}
    field = next(each.tag_field for each in tags.values())
    tag = value.get(field)
    if isinstance(tag, str | int) and tag in tags:
        return _faults(value, tags[tag], path)
    wanted = ", ".join(shown(each) for each in tags)
    if field not in value:
        return [f"{path}.{field} is missing: give one of {wanted}"]
    return [f"{path}.{field} must be one of {wanted}, got {shown(tag)}"]


def _in_model(value: Any, cls: Any, path: str) -> list[str]:
    try:
        cls.model_validate(value)
    except Exception as error:  # noqa: BLE001 - a validator may let any through
        told: Any = getattr(error, "errors", None)
        if told is None:
            return [f"{path}: raised {type(error).__name__}: {error}"]
        return [_model_fault(fault, path) for fault in told()]
    return []


def _model_fault(fault: dict[str, Any], path: str) -> str:
    for part in fault["loc"]:
        path = step(path, part) if isinstance(part, str) else f"{path}[{part}]"
    told = f"{path}: {_lowered(fault['msg'])}"
    return (
        told if fault["type"] == "missing" else f"{told}, got {shown(fault['input'])}"
    )


def _refusal(value: Any, declared: Any, path: str) -> list[str]:
    """What msgspec says is wrong, which is one thing or nothing."""
    try:
        convert(value, declared)
    except msgspec.ValidationError as error:
        text, _, inner = str(error).partition(" - at `$")
        return [f"{path}{inner.rstrip('`')}: {_lowered(text)}"]
    return []


def _lowered(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"
