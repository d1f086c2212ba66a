"""The one check of what is said, before it is recorded.

1. What passes can be saved, and reads back equal.
2. What has its recorded form already comes back as the same object, at once.
3. What cannot be recorded raises with the path of the field, and nothing happened.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar, get_args

import msgspec
from msgspec.structs import astuple, force_setattr, replace

from ._content import (
    Block,
    ContentBlock,
    ImageBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from ._json import EMPTY_DICT, FrozenDict, FrozenList, freeze
from ._message import Message, Role
from ._usage import TokenUsages

ROLES: tuple[str, ...] = get_args(Role)
BLOCK_CLASSES: frozenset[type[Block]] = frozenset(get_args(ContentBlock))

# Half the time of `replace`, on the path of every entry.
_copy: Callable[[Message], Message]
_copy = getattr(Message, "__copy__")  # noqa: B009 - the stubs do not have it

StructT = TypeVar("StructT", bound=msgspec.Struct)


def recorded(message: Message, timestamp: float) -> Message:
    """Give the message in the form that history keeps.

    Args:
        message: The message to record.
        timestamp: Seconds since 1970, for a message that has no time yet.

    Returns:
        The same object if it has that form and a time already, else a copy.

    Raises:
        TypeError: It is no message, or a field has the wrong type or is not JSON;
            the error names the path of the field.
        ValueError: Its role is none of the four.
    """
    if not _is_plain(message):
        message = _checked(message)
    if message.timestamp is None:
        message = _copy(message)
        force_setattr(message, "timestamp", timestamp)
    return message


def check_user_message(message: Message) -> None:
    """Check that this may be added to a conversation from outside.

    Raises:
        TypeError: It is no message.
        ValueError: It is not of the role user, has blocks other than text and
            images, or has neither text nor image.
    """
    _check_is_message(message)
    if message.role != "user":
        raise ValueError(
            f"a message of role {message.role!r} cannot be added: write "
            "Message.user(text) or Message.notice(text)"
        )
    empty = True
    for i, block in enumerate(message.content):
        if type(block) is TextBlock:
            empty = empty and not block.text
        elif type(block) is ImageBlock:
            empty = False
        else:
            raise ValueError(
                f"a message with content[{i}] of {type(block).__name__} cannot be "
                "added: a user message has text and image blocks only"
            )
    if empty:
        raise ValueError("a message without text and image cannot be added")


def _is_plain(message: Message) -> bool:
    """Whether this is a common message in its recorded form, seen without a copy."""
    if type(message) is not Message or message.role not in ROLES:
        return False
    for block in message.content:
        # The first test is _is_settled for the commonest case, without the calls.
        if (
            type(block) is TextBlock
            and block.annotations == ()
            and type(block.text) is str
            and block.text.isascii()
        ):
            continue
        if not _is_settled(block):
            return False
    return (
        message.delta is False
        and message.metadata is EMPTY_DICT
        and message.tools_calls is None
        and message.reasoning is None
        and (message.usages is None or _are_counts(message.usages))
        and message.raw is None
        and message.parsed_content is None
        and (message.tokens is None or type(message.tokens) is int)
        and (message.stop_reason is None or is_clean(message.stop_reason))
        and type(message.message_id) is str
        and message.message_id.isascii()
        and (message.timestamp is None or _is_time(message.timestamp))
    )


def _are_counts(usages: TokenUsages) -> bool:
    """Whether these are plain numbers, as nearly all providers report them."""
    return type(usages) is TokenUsages and all(
        type(count) is int for count in astuple(usages)
    )


def _is_time(timestamp: object) -> bool:
    return type(timestamp) is float and isfinite(timestamp)


_TYPES: dict[str, frozenset[type]] = {
    "message_id": frozenset({str, int}),
    "delta": frozenset({bool}),
    "tools_calls": frozenset({FrozenList, type(None)}),
    "reasoning": frozenset({str, type(None)}),
    "timestamp": frozenset({float, type(None)}),
    "metadata": frozenset({FrozenDict}),
    "raw": frozenset({FrozenDict, type(None)}),
    "tokens": frozenset({int, type(None)}),
    "stop_reason": frozenset({str, type(None)}),
}
"""The types that the other fields may have, once frozen."""


def _checked(message: Message) -> Message:
    """Check every field, and give a copy of the message where one changed."""
    _check_is_message(message)
    _check_role(message.role)
    changes: dict[str, Any] = {}
    content = tuple(
        recorded_block(block, f"content[{i}]")
        for i, block in enumerate(message.content)
    )
    if any(new is not old for new, old in zip(content, message.content, strict=True)):
        changes["content"] = content
    for name, types in _TYPES.items():
        value = getattr(message, name)
        frozen = freeze(value, name)
        if type(frozen) not in types:
            raise TypeError(f"{name} must be {_told(types)}, got {value!r}")
        if frozen is not value:
            changes[name] = frozen
    for i, call in enumerate(changes.get("tools_calls", message.tools_calls) or ()):
        if type(call) is not FrozenDict:
            raise TypeError(f"tools_calls[{i}] must be a dict, got {call!r}")
    _check_usages(message.usages)
    parsed = freeze(message.parsed_content, "parsed_content")
    if parsed is not message.parsed_content:
        changes["parsed_content"] = parsed
    return replace(message, **changes) if changes else message


def _check_is_message(value: object) -> None:
    if type(value) is not Message:
        raise TypeError(f"expected a Message, got {value!r}: write Message.user(text)")


def _check_role(role: object) -> None:
    if role not in ROLES:
        raise ValueError(
            f"role must be one of 'user', 'assistant', 'system' and 'tool', "
            f"got {role!r}"
        )


def _check_usages(usages: object) -> None:
    if type(usages) is TokenUsages:
        checked_struct(usages, "usages")
    elif usages is not None:
        raise TypeError(f"usages must be TokenUsages or None, got {usages!r}")


def _told(types: frozenset[type]) -> str:
    names = {FrozenDict: "a dict", FrozenList: "a list", type(None): "None"}
    return " or ".join(sorted(names.get(t, t.__name__) for t in types))


def recorded_block(block: ContentBlock, path: str = "block") -> ContentBlock:
    """Give the block in the form that history keeps.

    The same object comes back when it has that form already, as every block does
    whose fields have their types; lists in place of tuples make a copy.

    Args:
        block: The block to record.
        path: What errors call it, such as ``content[0]``.

    Raises:
        TypeError: It is of no block class, or a field has the wrong type or is not
            JSON; the error names the path of the field.
    """
    if _is_settled(block):
        return block
    if type(block) not in BLOCK_CLASSES:
        raise TypeError(
            f"{path} must be a block, got {block!r}: wrap text in TextBlock(text=...)"
        )
    if isinstance(block, ToolResultBlock) and block.has_blocks:
        return _recorded_output(block, path)
    return checked_struct(block, path)


def _is_settled(block: object) -> bool:
    """Whether this is a common block in its recorded form, seen without a copy."""
    if type(block) is TextBlock:
        return block.annotations == () and is_clean(block.text)
    if type(block) is ToolCallBlock:
        return (
            is_clean(block.id)
            and is_clean(block.name)
            and type(block.args) is FrozenDict
            and (block.tool_type is None or is_clean(block.tool_type))
            and (block.model_id is None or is_clean(block.model_id))
        )
    if type(block) is ToolResultBlock:
        return (
            is_clean(block.call_id)
            and is_clean(block.output)
            and (block.name is None or is_clean(block.name))
            and (block.status is None or is_clean(block.status))
            and type(block.is_error) is bool
        )
    return False


def is_clean(text: object) -> bool:
    """Whether this is text without lone surrogates, which no file can hold."""
    return type(text) is str and (text.isascii() or _can_be_encoded(text))


def _can_be_encoded(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _recorded_output(block: ToolResultBlock, path: str) -> ToolResultBlock:
    items = tuple(
        recorded_block(item, f"{path}.output[{i}]")
        for i, item in enumerate(block.output)
    )
    rest = checked_struct(replace(block, output=""), path)
    if all(new is old for new, old in zip(items, block.output, strict=True)):
        return block
    return replace(rest, output=items)


def checked_struct(value: StructT, path: str) -> StructT:
    """Give ``value`` with every field of its declared type, itself where it has them.

    Raises:
        TypeError: A field is not JSON or not of its type; the error names its path.
    """
    kind = type(value)
    plain: dict[str, Any] = {}
    for name in kind.__struct_fields__:
        plain[name] = freeze(getattr(value, name), f"{path}.{name}")
    config = kind.__struct_config__
    if config.tag_field is not None:
        plain[config.tag_field] = config.tag
    try:
        checked = msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise TypeError(f"{path} is no valid {kind.__name__}: {error}") from None
    return value if checked == value else checked
