"""Users' types at the edge: what they look like as a JSON schema, and reading JSON.

1. msgspec reads and describes whatever it can; pydantic models and paths, which it
   cannot, come in through its hooks, and pydantic is never imported here.
2. Constraints and descriptions count wherever they stand in `Annotated[...]`: as
   msgspec's `Meta`, as a plain text, as `Doc`, or as the small classes of
   annotated_types, which pydantic's `Field` holds.
3. A type that JSON has no form for is refused when its schema is made, by name.
"""

import types
import typing
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Annotated, Any, Union

import msgspec

_CONSTRAINTS = (
    "gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern",
)  # fmt: skip


def readable(declared: Any) -> Any:
    """Give a type in the form that msgspec reads, with all its constraints.

    `object` reads as Any. What stands inside the user's own classes is theirs.
    """
    origin, args = typing.get_origin(declared), typing.get_args(declared)
    if declared is object:
        return Any
    if origin is Annotated:
        metas = [meta for note in args[1:] for meta in _metas(note)]
        base = readable(args[0])
        return Annotated[base, *metas] if metas else base
    if origin is None or origin is typing.Literal:
        return declared
    inner = tuple(_readable_part(arg) for arg in args)
    if origin in {Union, types.UnionType}:
        return Union[inner]  # noqa: UP007 - the members are known at run time only
    return declared if inner == args else origin[inner]


def _readable_part(arg: Any) -> Any:
    return arg if arg is Ellipsis or is_list(arg) else readable(arg)


def _metas(note: Any) -> Iterator[msgspec.Meta]:
    """What an item of `Annotated[...]` says, in msgspec's words."""
    if isinstance(note, msgspec.Meta):
        yield note
        return
    if isinstance(note, str):
        yield msgspec.Meta(description=note)
        return
    for inner in getattr(note, "metadata", ()):
        yield from _metas(inner)
    text = getattr(note, "description", getattr(note, "documentation", None))
    if isinstance(text, str):
        yield msgspec.Meta(description=text)
    found = {name: getattr(note, name, None) for name in _CONSTRAINTS}
    found = {name: value for name, value in found.items() if value is not None}
    if found:
        yield msgspec.Meta(**found)


def is_object(value: object) -> bool:
    """Whether this is an object in JSON's sense, frozen or not."""
    return isinstance(value, dict)


def is_list(value: object) -> bool:
    """Whether this is a list in JSON's sense, frozen or not."""
    return isinstance(value, list)


def is_model(kind: Any) -> bool:
    """Whether this is a class of pydantic's making: it describes and reads itself."""
    return hasattr(kind, "model_json_schema") and hasattr(kind, "model_validate")


def is_path(kind: Any) -> bool:
    """Whether this is one of pathlib's classes."""
    return isinstance(kind, type) and issubclass(kind, PurePath)


def convert(value: Any, declared: Any) -> Any:
    """Read a JSON value as the type, strictly: nothing but JSON's own gaps is filled.

    A date comes from its ISO text, bytes from base64, a float from an int.

    Raises:
        msgspec.ValidationError: It is none; the text has the first fault only, see
            `actors._faults` for all.
    """
    try:
        return msgspec.convert(value, declared, str_keys=True, dec_hook=read_custom)
    except msgspec.ValidationError:
        raise
    except Exception as error:  # a class of the user's may check with any error
        told = f"raised {type(error).__name__}: {error}"
        raise msgspec.ValidationError(told) from error


def read_custom(kind: Any, value: Any) -> Any:
    """Read what msgspec cannot; its `dec_hook`."""
    if is_model(kind):
        return kind.model_validate(value)
    if isinstance(value, str):
        return kind(value)
    raise ValueError("must be text")


def write_custom(value: Any) -> Any:
    """Write what `read_custom` reads; msgspec's `enc_hook`."""
    return value.model_dump(mode="json") if is_model(type(value)) else str(value)


def json_schemas(
    declared: Sequence[Any],
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Give the JSON schemas of types in the form that `readable` returns.

    Returns:
        A schema for each type, and what they refer to as `#/$defs/NAME`, by name.

    Raises:
        TypeError: JSON has no form for a type or a part of it; names that part.
        NameError: A class inside one names a type that is not defined.
    """
    made, found = msgspec.json.schema_components(
        declared, schema_hook=_describe_custom, ref_template="#/$defs/{name}"
    )
    defs: dict[str, Any] = {}
    for name, schema in found.items():
        _define(name, _hoisted(schema, defs), defs)
    return [_hoisted(schema, defs) for schema in made], defs


def json_schema(declared: Any) -> dict[str, Any]:
    """Give the JSON schema of one type, with all it refers to in its `$defs`.

    Raises as `json_schemas` does.
    """
    (schema,), defs = json_schemas([declared])
    return schema | {"$defs": defs} if defs else schema


def _describe_custom(kind: Any) -> dict[str, Any]:
    if is_model(kind):
        schema: dict[str, Any]
        schema = kind.model_json_schema(ref_template="#/$defs/{model}")
        return schema
    if is_path(kind):
        return {"type": "string", "format": "path"}
    name = getattr(kind, "__name__", repr(kind))
    raise TypeError(
        f"a {name} has no JSON form that a model could write: use a dataclass, an"
        " attrs class, a msgspec Struct, a TypedDict, a pydantic model or JSON's types"
    )


def _hoisted(schema: Any, defs: dict[str, Any]) -> Any:
    """Give the schema without the `$defs` inside it, which go into `defs`."""
    if is_list(schema):
        return [_hoisted(item, defs) for item in schema]
    if not is_object(schema):
        return schema
    for name, inner in schema.get("$defs", {}).items():
        _define(name, _hoisted(inner, defs), defs)
    return {k: _hoisted(v, defs) for k, v in schema.items() if k != "$defs"}


def _define(name: str, schema: Any, defs: dict[str, Any]) -> None:
    if defs.setdefault(name, schema) != schema:
        raise TypeError(f"two types are named {name!r}: rename one of them")
