"""Typed answers: the schema that asks for one, and reading it from a model's text.

1. Providers want an object at the root of a schema, so any other type is asked for as
   the `answer` of one.
2. Reading is more generous than asking: the bare value, JSON in a fenced block, and
   the plain word for a choice will do.
3. What does not read is told with all its faults, for the model to try again.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from protocol import FrozenDict, OutputError
from protocol._json import freeze, thaw

from ._faults import faults_in, listed
from ._typed import convert, is_object, json_schema, readable, write_custom

_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)```", re.DOTALL)
_REF = "#/$defs/"


def schema_of(returns: Any) -> FrozenDict[str, Any] | None:
    """Give the JSON schema that an answer of this type is asked for with.

    Args:
        returns: A dataclass, attrs class, Struct, TypedDict or pydantic model, or any
            other type that JSON has a form for.

    Returns:
        A schema with an object at its root, or None for `str`: plain text needs none.

    Raises:
        TypeError: JSON has no form for the type; names the part it fails at.
    """
    if returns is str:
        return None
    declared = readable(returns)
    try:
        schema = json_schema(declared)
    except NameError as error:
        raise TypeError(f"cannot read the type {returns!r}: {error}") from error
    made = _at_root(schema) if _is_rooted(declared) else _wrapped(schema)
    frozen: FrozenDict[str, Any] = freeze(made, "the schema")
    return frozen


def parse_answer(returns: Any, given: Any) -> Any:
    """Read an answer as the type that was asked for.

    Args:
        returns: The type, as `schema_of` got it.
        given: The model's text, or JSON that is read already.

    Raises:
        OutputError: It is not of the type; the text lists all faults, each with its
            path and what belongs there.
    """
    if returns is str and isinstance(given, str):
        return given
    declared = readable(returns)
    readings = list(_readings(given, wrapped=not _is_rooted(declared)))
    for reading in readings:
        try:
            return convert(reading, declared)
        except msgspec.ValidationError:
            continue
    faults = faults_in(readings[0], declared, "answer")
    raise OutputError(listed("the answer is not what was asked for", faults))


def recorded_answer(answer: Any) -> Any:
    """Give an answer that `parse_answer` read in the JSON form that history keeps."""
    plain = msgspec.to_builtins(answer, str_keys=True, enc_hook=write_custom)
    return freeze(plain, "answer")


def _is_rooted(declared: Any) -> bool:
    """Whether JSON has an object for the type, which needs no other around it."""
    return bool(_at_root(json_schema(declared)).get("type") == "object")


def _at_root(schema: dict[str, Any]) -> dict[str, Any]:
    """Put what a lone reference names in its place."""
    if "$ref" not in schema:
        return schema
    defs = dict(schema["$defs"])
    name = schema["$ref"].removeprefix(_REF)
    root: dict[str, Any] = defs[name]
    if f'"{_REF}{name}"' not in json.dumps(defs):  # else it contains itself
        del defs[name]
    notes = {key: schema[key] for key in schema if key not in {"$ref", "$defs"}}
    return root | notes | ({"$defs": defs} if defs else {})


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    defs = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    inner = {key: schema[key] for key in schema if key != "$defs"}
    return {
        "type": "object",
        "properties": {"answer": inner},
        "required": ["answer"],
        "additionalProperties": False,
        **defs,
    }


def _readings(given: Any, *, wrapped: bool) -> Iterator[Any]:
    """What the answer may mean, the likeliest first; a text may also mean itself."""
    if not isinstance(given, str):
        yield from _unwrapped(thaw(given), wrapped)
        return
    for text in (given, *_FENCED.findall(given)):
        try:
            read = msgspec.json.decode(text)
        except msgspec.DecodeError:
            continue
        yield from _unwrapped(read, wrapped)
    yield given.strip()


def _unwrapped(read: Any, wrapped: bool) -> Iterator[Any]:
    if wrapped and is_object(read) and read.keys() == {"answer"}:
        yield read["answer"]
    yield read
