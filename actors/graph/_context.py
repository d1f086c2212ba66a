"""Context managers: what an agent sees of a long conversation.

1. Trimming is a view and an entry: the context stays whole, for ever.
2. Whatever a manager says, calls and results stay together, open calls and the first
   task stay, and the view begins with a user or system message.
3. A summary that fails leaves everything as it was.
"""

from collections.abc import Awaitable, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

import attrs

from actors._gate import respond
from actors._inside import send, value_of_state
from actors._limits import Accounts, reserve_request, return_request, spend
from actors._node import current
from actors._run_node import run_above
from actors._tracing import traced_request
from actors.models import Model, Request
from actors.models._names import as_model
from protocol import AgentState, Message, ToolResultBlock, Usage
from protocol._commands import TrimContext
from protocol._entry import NO_USAGE
from protocol._graph_entries import Trim
from protocol._graph_fold import view_of
from protocol._reducers import remove_tool_messages
from protocol._state_updates import copy_for_node, copy_with

if TYPE_CHECKING:
    from ._work import GraphNode

CHARACTERS_A_TOKEN = 4
"""The usual estimate where a provider has not counted."""

INSTRUCTIONS = (
    "Summarise the conversation below for somebody who goes on with it and does not"
    " see it. Keep the task, decisions, facts, names, numbers and results of tools that"
    " may matter later, and what is still open. Answer with the summary alone."
)


@attrs.frozen(kw_only=True)
class Trimmed:
    """What a manager makes of the messages that are seen."""

    messages: Sequence[Message]
    summary: str | None = None
    """What stands for the others; None leaves the summary as it is."""
    usage: Usage = NO_USAGE


class BaseContextManager:
    """Derive from this to trim in a way of your own; only `trim` is a must."""

    def trim(
        self, messages: Sequence[Message]
    ) -> Sequence[Message] | Awaitable[Sequence[Message]]:
        """Give those of the messages that an agent should see; plain or async.

        The runtime puts back what has to stay. It is asked with what is seen now, so
        what it took out before does not come again.
        """
        raise NotImplementedError(
            f"{type(self).__name__} needs a method trim(messages)"
        )

    async def view(
        self, messages: Sequence[Message], summary: str | None, accounts: Accounts
    ) -> Trimmed:
        """What is seen of the messages from now on; asks `trim`."""
        kept = self.trim(messages)
        return Trimmed(messages=await kept if isawaitable(kept) else kept)


class MessageContextManager(BaseContextManager):
    """Keeps system messages, the first message, and the newest user turns.

    Args:
        max_messages: How many user turns, each a user message and what follows it.
        remove_tool_msgs: Whether tool work goes too that has been answered.

    Raises:
        ValueError: ``max_messages`` is not an int >= 1.
    """

    def __init__(self, max_messages: int = 10, remove_tool_msgs: bool = False) -> None:
        self.max_messages = _count("max_messages", max_messages)
        self.remove_tool_msgs = remove_tool_msgs

    def trim(self, messages: Sequence[Message]) -> list[Message]:
        """Give the messages that stay."""
        users = [i for i, message in enumerate(messages) if message.role == "user"]
        start = users[-self.max_messages] if len(users) > self.max_messages else 0
        kept = [
            message
            for i, message in enumerate(messages)
            if i >= start or i == 0 or message.role == "system"
        ]
        return remove_tool_messages(kept) if self.remove_tool_msgs else kept


class SummaryContextManager(BaseContextManager):
    """Puts a summary in the place of what is older.

    Args:
        model: Who writes it.
        max_messages: More messages than this are summarised.
        token_budget: So are messages of more tokens than this; None: no such bound.
        keep_recent: How many of the newest messages stay as they are.
        instructions: What the model is told; a text of ours when left out.

    Raises:
        ValueError: a number is not an int >= 1.
    """

    def __init__(
        self,
        model: Model | str,
        max_messages: int = 30,
        token_budget: int | None = None,
        keep_recent: int = 8,
        instructions: str = INSTRUCTIONS,
    ) -> None:
        self.model = as_model(model, base_url=None, client=None)
        self.max_messages = _count("max_messages", max_messages)
        self.keep_recent = _count("keep_recent", keep_recent)
        self.token_budget = token_budget
        if token_budget is not None:
            _count("token_budget", token_budget)
        self.instructions = instructions

    def trim(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Give the messages that stay once the others are summarised."""
        if not self._is_full(messages):
            return messages
        recent = len(messages) - self.keep_recent
        return [m for i, m in enumerate(messages) if i >= recent or m.role == "system"]

    async def view(
        self, messages: Sequence[Message], summary: str | None, accounts: Accounts
    ) -> Trimmed:
        """What is seen from now on; a new summary is made of the old one and the rest.

        A model that fails leaves everything as it was.
        """
        kept = {id(m) for m in whole(messages, self.trim(messages))}
        removed = [m for m in messages if id(m) not in kept]
        if not removed:
            return Trimmed(messages=messages)
        reserve_request(accounts)
        try:
            ask = traced_request(respond, run_above(current.get()))
            reply = await ask(
                self.model, self._request(removed, summary), None, _ignore
            )
        except Exception:  # noqa: BLE001 - whatever it was, nothing is lost
            return_request(accounts)
            return Trimmed(messages=messages)
        usage = reply.usage
        if reply.model is not None:
            usage = usage.for_model(reply.model)
        spend(accounts, usage)
        text = reply.text.strip()
        if not text:
            return Trimmed(messages=messages, usage=usage)
        left = [m for m in messages if id(m) in kept]
        return Trimmed(messages=left, summary=text, usage=usage)

    def _is_full(self, messages: Sequence[Message]) -> bool:
        if len(messages) > self.max_messages:
            return True
        budget = self.token_budget
        if budget is None or len(messages) <= self.keep_recent:
            return False
        return sum(map(_tokens, messages)) > budget

    def _request(self, removed: Sequence[Message], summary: str | None) -> Request:
        parts = [] if summary is None else [f"Summary so far:\n{summary}"]
        parts += [f"{message.role}: {_as_text(message)}" for message in removed]
        asked = Message.user("\n\n".join(parts))
        return Request(messages=(asked,), system=self.instructions)


def _ignore(_event: object) -> None:
    """Retries of a summary are not part of the conversation."""


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name}= is an int >= 1, not {value!r}")
    return value


def _tokens(message: Message) -> int:
    return len(_as_text(message)) // CHARACTERS_A_TOKEN + 1


def _as_text(message: Message) -> str:
    """A message in words, its calls and results included."""
    calls = [f"[calls {c.name}({dict(c.args)!r})]" for c in message.tool_calls]
    return " ".join([message.text(), *calls]).strip()


def whole(messages: Sequence[Message], wanted: Sequence[Message]) -> list[Message]:
    """The messages wanted, with all that must stay with them, in order.

    The first user message, system messages and open calls stay; calls come with all
    of their results, and results with their calls; the view begins with a user or
    system message.
    """
    ids = {message.message_id for message in wanted}
    keep = [
        message.message_id in ids or message.role == "system" for message in messages
    ]
    first = next((i for i, m in enumerate(messages) if m.role == "user"), None)
    if first is not None:
        keep[first] = True
    for group, is_open in _groups(messages):
        if is_open or any(keep[place] for place in group):
            for place in group:
                keep[place] = True
    kept = [message for message, stays in zip(messages, keep, strict=True) if stays]
    while kept and kept[0].role not in ("user", "system") and first is not None:
        kept = kept[1:]
    return kept


def _groups(messages: Sequence[Message]) -> list[tuple[list[int], bool]]:
    """Calls with their results, by place; and whether a call has none yet."""
    groups: list[tuple[list[int], set[str]]] = []
    for place, message in enumerate(messages):
        if message.role == "assistant" and message.tool_calls:
            groups.append(([place], {call.id for call in message.tool_calls}))
            continue
        for call_id in _answered(message):
            asking = next((g for g in reversed(groups) if call_id in g[1]), None)
            if asking is not None:
                asking[1].discard(call_id)
                asking[0].append(place)
    return [(places, bool(left)) for places, left in groups]


def _answered(message: Message) -> list[str]:
    """The calls whose results a message has."""
    return [b.call_id for b in message.content if isinstance(b, ToolResultBlock)]


async def trimmed(node: "GraphNode", manager: BaseContextManager) -> AgentState:
    """Ask the manager, record what it says, and give the node's copy anew.

    Raises:
        BaseException: what `trim` raised; nothing changed.
    """
    value = value_of_state(node.state)
    count, seen = value.count, view_of(value)
    messages = [message for _, message in seen]
    extra = list(node.copy.context)[len(messages) :]
    summary = node.copy.context_summary
    made = await manager.view(messages, summary, node.accounts)
    kept_ids = {id(message) for message in whole(messages, made.messages)}
    kept = [(index, m) for index, m in seen if id(m) in kept_ids]
    if len(kept) == len(seen) and made.summary is None and not made.usage.requests:
        return node.copy
    trim = Trim(
        kept=tuple(index for index, _ in kept), upto=count, summary=made.summary
    )
    send(node.state, TrimContext(trim, made.usage))
    copy = node.copy
    if made.summary is not None:
        copy = copy_with(copy, {"context_summary": made.summary})
    view = [*(message for _, message in kept), *extra]
    return copy_for_node(copy, copy.execution_meta, lambda: view)
