"""What both sides of `benchmarks.agents` share: the model's script, and the tool."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeAlias

import trio

from actors import Message, Model, Reply, Request, ToolCall, tool
from actors.models._model import OnEvent, OnText
from protocol import TextBlock, Usage

NAME = "bench/scripted"
QUESTION = "Where is it?"
USAGE = Usage(input_tokens=90, output_tokens=10, requests=1, cost=0.0).for_model(NAME)

Ask: TypeAlias = Callable[[Sequence[Any]], Awaitable[Reply]]


def reply_with(*names: str, turn: int = 0) -> Reply:
    """A reply that calls these tools; ids are unique in a script by its turn."""
    calls = tuple(
        ToolCall(id=f"call-{turn}-{place}", name=name, args=_ARGS.get(name, _PROMPT))
        for place, name in enumerate(names)
    )
    return _reply(calls, "tool_calls")


def _reply(content: tuple[Any, ...], why: str) -> Reply:
    message = Message(role="assistant", content=content, stop_reason=why)
    return Reply(message=message, usage=USAGE, stop_reason=why, model=NAME)


_ARGS = {"lookup": {"key": "bug"}}
_PROMPT = {"prompt": QUESTION}

ANSWER = _reply((TextBlock(text="It is in the second line."),), "stop")


def script(turns: int) -> list[Reply]:
    """So many replies with one call each, and the answer."""
    return [*(reply_with("lookup", turn=turn) for turn in range(turns)), ANSWER]


def ask_of(replies: Iterable[Reply], latency_s: float = 0.0) -> Ask:
    """The model as a bare function: it awaits one checkpoint, or its latency."""
    coming = iter(replies)

    async def ask(messages: Sequence[Any]) -> Reply:
        if latency_s:
            await trio.sleep(latency_s)
        else:
            await trio.lowlevel.checkpoint()
        return next(coming)

    return ask


class Scripted(Model):
    """The same as a model; which reply is due is told by how long the context is."""

    name = NAME

    def __init__(self, replies: Sequence[Reply], latency_s: float = 0.0) -> None:
        self._replies = replies
        self._latency_s = latency_s

    async def arespond(
        self, request: Request, on_text: OnText | None, on_event: OnEvent
    ) -> Reply:
        if self._latency_s:
            await trio.sleep(self._latency_s)
        else:
            await trio.lowlevel.checkpoint()
        return self._replies[len(request.messages) // 2]


class Silent(Model):
    """A model that never answers."""

    name = "bench/silent"

    async def arespond(
        self, request: Request, on_text: OnText | None, on_event: OnEvent
    ) -> Reply:
        await trio.sleep_forever()


async def lookup_by_hand(key: str) -> str:
    return "found"


@tool
async def lookup(key: str) -> str:
    """Look something up."""
    return "found"
