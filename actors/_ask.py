"""Side questions, and the summary of a conversation: requests beside its turns.

1. The context stays as it is until everything has come out well.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from protocol import (
    Exchange,
    Message,
    ModelEvent,
    NoHumanError,
    OutputError,
    Question,
    Reply,
    Usage,
)
from protocol._commands import Compact, NoteEvent, NoteExchange
from protocol._context import Messages
from protocol._entry import NO_USAGE
from protocol._ids import new_id

from ._asking import ask_people
from ._events import ContextChanged
from ._gate import respond
from ._inside import mailbox, send, value_of_state
from ._limits import refuse_spent, reserve_request, return_request, spend
from ._saving import save
from ._settings import refuse_finished
from ._state import State
from ._structured import parse_answer, recorded_answer, schema_of
from ._telling import tell
from ._think import count_unheard
from ._tokens import context_tokens
from ._tracing import traced_request
from .models import Request

if TYPE_CHECKING:
    from ._agent import Agent
    from ._run_node import RunNode

SUMMARY = (
    "Summarise the conversation so far for somebody who takes over: the task, what "
    "was done and found, what was decided, and what is left to do. Write only that."
)


async def ask(
    node: "RunNode", agent: "Agent", prompt: str, returns: Any, retries: int
) -> Any:
    """Ask a side question; see `Agent.aask`."""
    state = node.state
    refuse_finished(state, "ask")
    _refuse_open_calls(state, "ask")
    side = _SideQuestion(node, agent, prompt, returns)
    try:
        answer = await side.ask(retries)
    except BaseException:
        if side.usage.requests:
            _note(state, prompt, None, side.usage)
        raise
    _note(state, prompt, answer, side.usage)
    await save(state)
    return answer


class _SideQuestion:
    """A question that is asked again, with all faults, until the answer fits."""

    def __init__(
        self, node: "RunNode", agent: "Agent", prompt: str, returns: Any
    ) -> None:
        self.usage = NO_USAGE
        self._node = node
        self._agent = agent
        self._returns = returns
        self._said = [Message.user(prompt)]

    async def ask(self, retries: int) -> Any:
        """The answer.

        Raises:
            OutputError: none fitted; it lists the faults of the last one.
        """
        schema = schema_of(self._returns)
        while True:
            reply = await _request(self._node, self._agent, self._said, schema)
            self.usage = self.usage + _used(reply)
            if self._returns is str:
                return reply.text
            try:
                return parse_answer(self._returns, reply.text)
            except OutputError as error:
                if not retries:
                    raise
                retries -= 1
                again = Message.user(f"That does not fit: {error}")
                self._said += [reply.message, again]


def _note(state: State, prompt: str, answer: Any, usage: Usage) -> None:
    exchange = Exchange(question=prompt, answer=recorded_answer(answer))
    send(state, NoteExchange("ask", exchange, usage))


def _used(reply: Reply) -> Usage:
    return reply.usage if reply.model is None else reply.usage.for_model(reply.model)


def _refuse_open_calls(state: State, what: str) -> None:
    if value_of_state(state).phase == "calling":
        raise ValueError(
            f"cannot {what}: tool calls of State {state.id!r} have no result yet, and "
            f"no provider takes a question between a call and its result (a tool "
            f"cannot ask the State that waits for it)"
        )


async def _request(
    node: "RunNode", agent: "Agent", asked: list[Message], schema: Any = None
) -> Reply:
    """One request beside the conversation; it counts as every other does."""

    def on_event(event: ModelEvent) -> None:
        send(node.state, NoteEvent(event))

    reserve_request(node.accounts)
    messages = [*Messages(value_of_state(node.state)), *asked]
    request = Request(messages=messages, system=agent.system, output_schema=schema)
    await trio.lowlevel.checkpoint()
    may_start = partial(refuse_spent, node.accounts)
    asking = traced_request(respond, node)
    reply = await asking(agent.model, request, None, on_event, may_start)
    spend(node.accounts, reply.usage)
    return reply


async def ask_human(node: "RunNode", prompt: str, returns: Any) -> Any:
    """Ask the run's human; see `Agent.aask_human`."""
    question = Question(
        id=new_id(),
        state_id=node.id,
        path=node.path,
        prompt=prompt,
        returns=schema_of(returns),
    )
    if node.human is None:
        raise NoHumanError(
            f"nobody is there to answer {prompt!r}: give the agent human=Terminal() or "
            f"another Human"
        )
    answers = await ask_people(node, [question])
    if question.id not in answers:
        raise NoHumanError(f"nobody answered {prompt!r}")
    given = answers[question.id].value
    answer = given if returns is str else parse_answer(returns, given)
    exchange = Exchange(question=prompt, answer=given)
    send(node.state, NoteExchange("human", exchange))
    await save(node.state)
    return answer


async def compact(node: "RunNode", agent: "Agent", instructions: str | None) -> None:
    """Summarise and compact; see `Agent.acompact`."""
    state = node.state
    _refuse_open_calls(state, "compact")
    before = context_tokens(agent, state)
    with mailbox(state).compacting():
        reply = await _summary(node, agent, instructions)
        if node.ended:
            count_unheard(node, reply, "its run was given up before it came")
            raise node.cancelled()
        send(state, Compact(reply.text, 0, before, None, _used(reply)))
    await save(state)
    if node.audience:
        value = value_of_state(state)
        entry: Any = value.history.at(value.size - 1)
        tell(
            node,
            ContextChanged(
                path=node.path, snapshot=state.snapshot(), change=entry.content
            ),
        )


async def _summary(node: "RunNode", agent: "Agent", instructions: str | None) -> Reply:
    """The summary, in the provider's own way where it has one."""
    messages = Messages(value_of_state(node.state))
    request = Request(messages=messages, system=agent.system)
    reserve_request(node.accounts)
    own = await agent.model.compact(request, instructions)
    if own is not None:
        spend(node.accounts, own.usage)
        return own
    return_request(node.accounts)
    text = SUMMARY if instructions is None else f"{SUMMARY}\n\n{instructions}"
    reply = await _request(node, agent, [Message.user(text)])
    if not reply.text.strip():
        count_unheard(node, reply, "the summary was empty")
        raise OutputError("the model gave an empty summary: the context stays as it is")
    return reply
