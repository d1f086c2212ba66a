"""What a tool returned, as the model will read it.

1. Text stays text, None reads `(done)`, blocks and lists with blocks stay blocks.
   Everything else becomes JSON text.
2. What people write in one way only is written so: dates in ISO 8601, an Enum as its
   value, a Decimal, UUID or path as its text, a set as a sorted list, an int that is
   a key as its digits. History keeps the text that comes out, so nothing is lost that
   a later reader could miss.
3. What JSON cannot hold (bytes, NaN, any other object) is an error that names its path,
   and never a silent null.
"""

import enum
import inspect
from collections.abc import Iterator, Mapping, Set
from datetime import date, time
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID

import msgspec

from protocol import (
    ContentBlock,
    RemoteToolCallBlock,
    TextBlock,
    ToolCallBlock,
    ToolError,
    ToolResult,
    ToolResultBlock,
)
from protocol._content import Block
from protocol._entry import Content
from protocol._json import freeze
from protocol._not_json import DEPTH_MAX, a_kind
from protocol._recorded import recorded_block
from protocol._sealed import field_names

DONE = "(done)"
"""What the model reads when a tool returned None."""

# They would answer or open calls from the inside of an answer.
_CALLS = (ToolCallBlock, RemoteToolCallBlock, ToolResultBlock)

_LEAVES = frozenset({str, int, float, bool, type(None)})
_WRITTEN_AS_TEXT = (Decimal, UUID, PurePath)


class Returned(msgspec.Struct, frozen=True):
    """What came of a call whose function returned."""

    content: Content
    """What the model reads: text, or blocks where there is more than text."""
    state: Mapping[str, Any] | None = None
    """An update of the state, as the tool gave it; None when it gave none."""
    is_error: bool = False
    """Whether the tool says that it failed."""


def to_content(value: Any) -> Returned:
    """Give what a tool returned as the content of its result.

    Raises:
        ToolError: A part of it has no form that a model could read; the text names
            its path, as in `result.rows[3].data`, and the way out. The function has
            run all the same.
    """
    try:
        if isinstance(value, ToolResult):
            content = _content(value.message)
            return Returned(content, value.state or None, value.is_error)
        return Returned(_content(value))
    except TypeError as error:
        problem = str(error)
    raise ToolError(problem)


def clean(text: str) -> str:
    """Give text that UTF-8 can hold: a lone surrogate becomes a visible U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _content(value: Any) -> Content:
    if value is None:
        return DONE
    if isinstance(value, str):
        return clean(str.__str__(value))
    if isinstance(value, Block):
        return (_block(value, "result"),)
    if _is_list(value) and any(isinstance(each, Block) for each in value):
        return tuple(_mixed(value))
    if inspect.iscoroutine(value):
        value.close()  # nobody will await it, and Python would warn of that
        raise TypeError(
            f"the tool returned the coroutine {value.__name__!r} and did not run"
            f" it: write the tool with 'async def', and in it 'return await ...'"
        )
    return _json_text(value, "result")


def _mixed(items: Any) -> Iterator[ContentBlock]:
    for index, item in enumerate(items):
        path = f"result[{index}]"
        if isinstance(item, Block):
            yield _block(item, path)
        elif isinstance(item, str):
            yield TextBlock(text=clean(str.__str__(item)))
        else:
            yield TextBlock(text=_json_text(item, path))


def _block(block: Any, path: str) -> ContentBlock:
    if isinstance(block, _CALLS):
        raise TypeError(
            f"{path} is {a_kind(block)}, which no result can hold: return text or data"
        )
    if type(block) is TextBlock and type(block.text) is str:
        block = msgspec.structs.replace(block, text=clean(block.text))
    return recorded_block(block, path)


def _json_text(value: Any, path: str) -> str:
    return msgspec.json.encode(freeze(_plain(value, path, ()), path)).decode()


def _plain(value: Any, path: str, owners: tuple[int, ...]) -> Any:
    """Give the value in JSON's types; what has none stays, for `freeze` to refuse.

    Args:
        value: Any part of what a tool returned.
        path: Where it stands.
        owners: The ids of what it stands in. A cycle stays as it is too.
    """
    leaf = _leaf(value)
    if type(leaf) in _LEAVES or id(value) in owners or len(owners) > DEPTH_MAX:
        return leaf
    if isinstance(value, Block):
        raise TypeError(
            f"{path} is {a_kind(value)} inside other data: return one list"
            " of texts and blocks, or ToolResult(message=[...])"
        )
    owners = (*owners, id(value))
    if _is_set(value):
        items = [_plain(each, path, owners) for each in value]
        return sorted(items, key=lambda each: msgspec.json.encode(freeze(each, path)))
    if _is_list(value):
        return [_plain(each, f"{path}[{i}]", owners) for i, each in enumerate(value)]
    parts = _parts(value)
    if parts is None:
        return value
    made = {_key(key): _plain(each, _at(path, key), owners) for key, each in parts}
    if len(made) == len(parts):
        return made
    raise TypeError(f"{path} has two keys that are the same as text: rename one")


def _is_set(value: object) -> bool:
    return isinstance(value, Set)


def _is_list(value: Any) -> bool:
    """Whether this is read by position only: a named tuple has names."""
    return issubclass(type(value), list | tuple) and not hasattr(value, "_asdict")


def _leaf(value: Any) -> Any:
    """Give what stands for a single value as JSON has it; anything else as it is."""
    if isinstance(value, enum.Enum):
        return _leaf(value.value)
    if isinstance(value, str):
        return clean(str.__str__(value))
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, _WRITTEN_AS_TEXT) else value


def _parts(value: Any) -> list[tuple[Any, Any]] | None:
    """Give the keys, or the names of the fields, with their values; None: no parts."""
    kind = value.__class__
    if issubclass(kind, Mapping):
        return list(value.items())
    if hasattr(kind, "_asdict"):  # a named tuple
        return list(value._asdict().items())
    if hasattr(kind, "model_dump"):  # pydantic, which is not imported for this
        return list(value.model_dump().items())
    names = field_names(kind)
    if names is None or not all(hasattr(value, name) for name in names):
        return None
    return [(name, getattr(value, name)) for name in names]


def _key(key: Any) -> Any:
    leaf = _leaf(key)
    return str(leaf) if type(leaf) is int else leaf


def _at(path: str, key: Any) -> str:
    named = isinstance(key, str) and key.isidentifier()
    return f"{path}.{key}" if named else f"{path}[{key!r}]"
