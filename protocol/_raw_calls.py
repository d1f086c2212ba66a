"""Call blocks from the raw forms that providers and older programs write."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from ._content import ToolCallBlock


def call_blocks(tools_calls: Sequence[Mapping[str, Any]]) -> tuple[ToolCallBlock, ...]:
    """Make the blocks of raw calls, in their order.

    Two forms are read: ``{"id", "type": "function", "function": {"name",
    "arguments"}}`` and the plain ``{"id", "name", "args"}``. Arguments may be a dict
    or the JSON text of one; empty text and None mean no arguments, and a missing id
    is the empty one, which is replaced when the reply is recorded.

    Raises:
        TypeError: ``tools_calls`` is no list, or an item no dict.
        ValueError: An item has no name, or arguments that are no JSON object.
    """
    if not isinstance(tools_calls, list | tuple):
        raise TypeError(f"tools_calls must be a list of dicts, got {tools_calls!r}")
    return tuple(
        _call_block(raw, f"tools_calls[{i}]") for i, raw in enumerate(tools_calls)
    )


def _call_block(raw: object, path: str) -> ToolCallBlock:
    call = _as_dict(raw, path)
    if "function" in call:
        function = _as_dict(call["function"], f"{path}.function")
        name, args = function.get("name"), function.get("arguments")
    else:
        name, args = call.get("name"), call.get("args")
    if isinstance(name, str):
        return ToolCallBlock(id=call.get("id") or "", name=name, args=_args(args, path))
    raise ValueError(
        f"{path} names no tool: give {{'id', 'name', 'args'}} or {{'id', 'type': "
        f"'function', 'function': {{'name', 'arguments'}}}}, got {call!r}"
    )


def _args(value: object, path: str) -> Mapping[str, Any]:
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError as error:
            raise ValueError(
                f"{path} has arguments that are no JSON, {value!r}: {error}"
            ) from None
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    raise ValueError(f"{path} has arguments that are no JSON object, got {value!r}")


def _as_dict(value: object, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{path} must be a dict, got {value!r}")
    return cast("dict[str, Any]", value)
