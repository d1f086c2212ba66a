"""One request to the model: recorded, saved, asked, recorded, saved, told.

1. Checks come first: a refused think has recorded nothing.
2. Whatever fails before the reply is recorded takes the request back; what fails after
   it only adds an error.
3. A reply that becomes no part of the conversation is counted even so.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from protocol import ActorClosed, CutOffError, Exchange, Message, ModelEvent, Reply
from protocol._commands import Fail, NoteEvent, NoteExchange, Receive
from protocol._commands import Request as AskModel
from protocol._context import Messages
from protocol._value import Value

from ._events import ModelHappened, TextDelta, ThinkEnd, ThinkStart
from ._gate import respond
from ._inside import mailbox, send, send_in_turn
from ._limits import refuse_spent, reserve_request, return_request, spend
from ._saving import is_stored, save, save_at_last
from ._telling import room, tell, wants_text
from ._tracing import traced_request
from .models import Model, Request, ToolSpec

if TYPE_CHECKING:
    from ._run_node import RunNode


async def think(
    node: "RunNode",
    model: Model,
    system: str | None,
    tools: Sequence[ToolSpec],
    before: Sequence[Message] = (),
) -> Reply:
    """Ask the model for the next message of the run's State; see `Agent.athink`.

    ``before`` is shown to the model in front of the State's own messages.
    """
    state = node.state
    box = mailbox(state)
    reserve_request(node.accounts)
    try:
        if box.value.open is None and not box.waiting:
            value = box.send(AskModel(model.name))
        else:
            value = await send_in_turn(state, AskModel(model.name))
    except BaseException:
        return_request(node.accounts)
        raise
    node.asked = value.size - 1
    node.unread = node.has_news = False
    try:
        if is_stored(state):
            await save(state)
        if node.audience:
            await room(node)
            tell(node, ThinkStart(path=node.path, snapshot=state.snapshot()))
        request = _request(box.value, system, tools, before)
        on_text = partial(_show, node) if wants_text(node) else None
        accounts = node.accounts
        may_start = partial(refuse_spent, accounts) if accounts else None
        note = partial(_note, node)
        ask = traced_request(respond, node)
        reply = await ask(model, request, on_text, note, may_start)
        _count(node, model, reply)
        _receive(node, reply)
    except BaseException as error:
        # A run that was given up does not take back what the next one asks.
        if not node.ended and box.value.phase == "thinking":
            box.send(Fail(error))
            if is_stored(state):
                await save_at_last(state, node.agent.grace_s)
        raise
    if is_stored(state):
        await save(state)
    if node.audience:
        await room(node)
        tell(node, ThinkEnd(path=node.path, snapshot=state.snapshot(), reply=reply))
    return reply


def _request(
    value: Value,
    system: str | None,
    tools: Sequence[ToolSpec],
    before: Sequence[Message],
) -> Request:
    own: Sequence[Message] = Messages(value)
    messages = (*before, *own) if before else own
    return Request(messages=messages, system=system, tools=tuple(tools))


def _show(node: "RunNode", text: str) -> None:
    tell(node, TextDelta(path=node.path, text=text))


def _note(node: "RunNode", event: ModelEvent) -> None:
    """Record what happened on the way to a reply, and tell."""
    send(node.state, NoteEvent(event))
    if node.audience:
        snapshot = node.state.snapshot()
        tell(node, ModelHappened(path=node.path, snapshot=snapshot, event=event))


def _count(node: "RunNode", model: Model, reply: Reply) -> None:
    """Count what a reply used, and refuse one that was cut off before it began.

    Raises:
        CutOffError: it says nothing.
    """
    spend(node.accounts, reply.usage)
    if reply.cut_off and not reply.tool_calls and not reply.text:
        count_unheard(node, reply, "it was cut off before it said anything")
        raise CutOffError(
            f"the reply of {model.name!r} was cut off before it said anything "
            f"({reply.stop_reason}): raise its output limit, or compact the context"
        )


def _receive(node: "RunNode", reply: Reply) -> None:
    """Record the reply; one that comes too late for its run is counted and dropped."""
    if node.ended:
        count_unheard(node, reply, "its run was given up before it came")
        raise node.cancelled()
    send(node.state, Receive(reply))


def count_unheard(node: "RunNode", reply: Reply, why: str) -> None:
    """Record what a reply used that nobody will read, beside the conversation."""
    exchange = Exchange(question=f"(a reply was dropped: {why})", answer=reply.text)
    usage = reply.usage if reply.model is None else reply.usage.for_model(reply.model)
    with suppress(ActorClosed):
        send(node.state, NoteExchange("ask", exchange, usage))
