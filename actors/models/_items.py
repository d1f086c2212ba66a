"""What may stand for a reply where a rule or a script takes a model's place.

An item is text, a call, a list of texts and calls, a `Reply`, an exception (which is
raised), or a plain or async callable of the request that returns one of these.
"""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, cast

from msgspec import structs

from protocol import ContentBlock, Message, Reply, TextBlock, ToolCall, Usage

from ._model import Request

Said: TypeAlias = str | ToolCall | Sequence[str | ToolCall] | Reply | BaseException
"""A reply, or what one is made of."""

Item: TypeAlias = Said | Callable[[Request], Said | Awaitable[Said]]
"""`Said`, or a callable of the request that returns it."""

# One request was answered, and nobody sends a bill for it.
_FREE = Usage(requests=1, cost=0.0)


async def reply_of(item: Item, request: Request, model: str) -> Reply:
    """Return the reply that `item` stands for, calling it first if it is callable.

    Raises:
        TypeError: It is, or returned, nothing that stands for a reply.
        BaseException: `item` itself, when it is or returned an exception.
    """
    said: object = item
    if callable(item):
        said = item(request)
        if inspect.isawaitable(said):
            said = await said
    return as_reply(said, model)


def as_reply(item: object, model: str) -> Reply:
    """Return the reply of `model` that `item` stands for.

    A `Reply` comes back with its model and its usage filled in where they are unset.

    Raises:
        TypeError: It is nothing that stands for a reply.
        BaseException: `item` itself, when it is an exception.
    """
    if isinstance(item, BaseException):
        raise item
    if isinstance(item, Reply):
        return _completed(item, model)
    several = isinstance(item, list | tuple)
    parts = cast("Sequence[object]", item) if several else (item,)
    content = tuple(_block(part, item) for part in parts)
    calls = any(isinstance(block, ToolCall) for block in content)
    stop_reason = "tool_calls" if calls else "stop"
    return Reply(
        message=Message(role="assistant", content=content, stop_reason=stop_reason),
        usage=_FREE.for_model(model),
        stop_reason=stop_reason,
        model=model,
    )


def _completed(reply: Reply, model: str) -> Reply:
    named = reply.model or model
    usage = reply.usage if reply.usage.requests else reply.usage + _FREE
    return structs.replace(reply, model=named, usage=usage.for_model(named))


def _block(part: object, item: object) -> ContentBlock:
    if isinstance(part, str):
        return TextBlock(text=part)
    if isinstance(part, ToolCall):
        return part
    raise TypeError(
        f"{item!r} stands for no reply: give text, a call (tool_call(name, **args)),"
        " a list of these, a Reply, or an exception"
    )
