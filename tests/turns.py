"""Short words for driving a State by hand, one entry at a time."""

from collections.abc import Iterable
from typing import Any

from actors import Message, Reply, State, TextBlock, ToolCall, Usage
from protocol._commands import (
    AnyCommand,
    CloseCall,
    Fail,
    Receive,
    ReportLate,
    Request,
)

MODEL = "fake/one"
SPENT = Usage(input_tokens=10, output_tokens=5, requests=1, cost=0.5)


def call(call_id: str, name: str = "search", **args: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, args=args)


def reply_of(*calls: ToolCall, text: str = "", **fields: Any) -> Reply:
    content = [TextBlock(text=text), *calls] if text else calls
    return Reply(message=Message(role="assistant", content=content), **fields)


def send(state: State, command: AnyCommand) -> None:
    """Use the runtime's own door: what users may not say goes through the mailbox."""
    state._mailbox.send(command)


def ask(state: State) -> None:
    """A request now waits on the model."""
    send(state, Request(MODEL))


def receive(state: State, *calls: ToolCall, text: str = "", **fields: Any) -> None:
    send(state, Receive(reply_of(*calls, text=text, **fields)))


def think(state: State, *calls: ToolCall, text: str = "", **fields: Any) -> None:
    ask(state)
    receive(state, *calls, text=text, **fields)


def fail(state: State, error: BaseException | None = None) -> None:
    send(state, Fail(RuntimeError("no answer") if error is None else error))


def close(
    state: State, tool_call: ToolCall, content: str = "found", **fields: Any
) -> None:
    fields.setdefault("outcome", "done")
    send(state, CloseCall(tool_call, content, **fields))


def report_late(state: State, tool_call: ToolCall, content: str) -> None:
    send(state, ReportLate(tool_call, content, "done"))


def turn_with_calls(state: State, call_ids: Iterable[str]) -> None:
    """A whole turn: a think, its calls, and their results in order."""
    calls = [call(call_id) for call_id in call_ids]
    think(state, *calls)
    for each in calls:
        close(state, each, f"result of {each.id}")


def texts(state: State) -> list[str]:
    """What the model sees, as text."""
    return [message.text() for message in state.messages]


def kinds(state: State) -> list[str]:
    return [entry.kind for entry in state.history]
