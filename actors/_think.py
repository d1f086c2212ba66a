"""One request to the model: recorded, saved, asked, recorded, saved, told.

1. Checks come first: a refused think has recorded nothing.
2. Whatever fails before the reply is recorded takes the request back; what fails after
   it only adds an error.
3. A reply that becomes no part of the conversation is counted even so.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from protocol import ActorClosed, CutOffError, Exchange, Message, ModelEvent, Reply
from protocol._commands import Fail, NoteEvent, NoteExchange, Receive
from protocol._commands import Request as AskModel
from protocol._context import Messages

from ._events import ModelHappened, TextDelta, ThinkEnd, ThinkStart
from ._gate import respond
from ._inside import mailbox, send, send_in_turn, value_of_state
from ._limits import reserve_request, return_request, spend
from ._saving import save, save_at_last
from ._telling import room, tell, wants_text
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
            send(state, AskModel(model.name))
        else:
            await send_in_turn(state, AskModel(model.name))
    except BaseException:
        return_request(node.accounts)
        raise
    node.unread = node.has_news = False
    try:
        await save(state)
        if node.audience:
            await room(node)
            tell(node, ThinkStart(path=node.path, snapshot=state.snapshot()))
        reply = await _ask(node, model, system, tools, before)
        _receive(node, reply)
    except BaseException as error:
        # A run that was given up does not take back what the next one asks.
        if not node.ended and value_of_state(state).phase == "thinking":
            send(state, Fail(error))
            await save_at_last(state, node.agent.grace_s)
        raise
    await save(state)
    if node.audience:
        await room(node)
        tell(node, ThinkEnd(path=node.path, snapshot=state.snapshot(), reply=reply))
    return reply


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


async def _ask(
    node: "RunNode",
    model: Model,
    system: str | None,
    tools: Sequence[ToolSpec],
    before: Sequence[Message],
) -> Reply:
    state = node.state

    def on_event(event: ModelEvent) -> None:
        send(state, NoteEvent(event))
        if node.audience:
            snapshot = state.snapshot()
            tell(node, ModelHappened(path=node.path, snapshot=snapshot, event=event))

    def on_text(text: str) -> None:
        tell(node, TextDelta(path=node.path, text=text))

    own: Sequence[Message] = Messages(value_of_state(state))
    messages = (*before, *own) if before else own
    request = Request(messages=messages, system=system, tools=tuple(tools))
    reply = await respond(
        model, request, on_text if wants_text(node) else None, on_event
    )
    spend(node.accounts, reply.usage)
    if reply.cut_off and not reply.tool_calls and not reply.text:
        count_unheard(node, reply, "it was cut off before it said anything")
        raise CutOffError(
            f"the reply of {model.name!r} was cut off before it said anything "
            f"({reply.stop_reason}): raise its output limit, or compact the context"
        )
    return reply
