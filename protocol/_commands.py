"""The messages a State understands: one frozen class for each.

1. A command is what somebody wants; an entry is what happened. `protocol._decide`
   makes the one from the other, or refuses.
2. What users can get wrong about a command's own values is checked when it is made,
   before it is sent.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from ._content import ToolCallBlock
from ._entries import AgentInfo, Exchange, ModelEvent, Reply
from ._entry import NO_USAGE, Content
from ._exec_meta import InterruptStatus
from ._graph_entries import (
    GraphEnd,
    GraphStart,
    Interrupt,
    NodeEnd,
    NodeTask,
    StepEnd,
    Trim,
)
from ._message import Message
from ._stops import Question, Stopped, ToolOutcomeKind
from ._usage import Usage
from ._value import Value
from ._work_entries import Answer, ChildEnd, ChildStart


class Command(msgspec.Struct, frozen=True):
    """What all commands have in common: they are frozen values."""


class AddMessage(Command, frozen=True):
    """Add a user message or a notice."""

    message: Message


class Import(Command, frozen=True):
    """Add messages of another conversation, as they are."""

    messages: tuple[Message, ...]


class Finish(Command, frozen=True):
    """End the State for good, with an answer or without."""

    answer: Any
    """In JSON form."""


class SetStop(Command, frozen=True):
    """Set, or with None clear, why the run is set to stop."""

    stopped: Stopped | None


class Compact(Command, frozen=True):
    """Put a summary in the place of the messages."""

    summary: str
    kept: int = 0
    before_tokens: int | None = None
    after_tokens: int | None = None
    usage: Usage = NO_USAGE


class ClearToolResults(Command, frozen=True):
    """Blank all tool results but the last ``keep_last``."""

    keep_last: int


class EditExtraData(Command, frozen=True):
    """Set and remove top-level keys of the extra data."""

    set: Mapping[str, Any]
    removed: tuple[str, ...]


class Restore(Command, frozen=True):
    """Go back to an earlier value of the same history."""

    then: Value


class Fork(Command, frozen=True):
    """Take a copy for another State. Records nothing here."""


class StartRun(Command, frozen=True):
    """A run begins."""

    info: AgentInfo
    parent_id: str | None = None
    parent_call_id: str | None = None


class Request(Command, frozen=True):
    """The model is about to be asked."""

    model: str


class Receive(Command, frozen=True):
    """The model answered."""

    reply: Reply


class NoteEvent(Command, frozen=True):
    """Something happened on the way to a reply."""

    event: ModelEvent


class Fail(Command, frozen=True):
    """A request failed, or something about a call did."""

    error: BaseException
    call: ToolCallBlock | None = None


class CloseCall(Command, frozen=True):
    """A call ended."""

    call: ToolCallBlock
    content: Content
    outcome: ToolOutcomeKind
    error: BaseException | None = None
    child_ids: tuple[str, ...] = ()
    usage: Usage = NO_USAGE


class ReportLate(Command, frozen=True):
    """A call that was closed delivered something afterwards."""

    call: ToolCallBlock
    content: Content
    outcome: ToolOutcomeKind
    error: BaseException | None = None
    child_ids: tuple[str, ...] = ()
    usage: Usage = NO_USAGE


class NoteExchange(Command, frozen=True):
    """A side question was answered, by the model or by a person."""

    kind: Literal["ask", "human"]
    exchange: Exchange
    usage: Usage = NO_USAGE


class NoteStart(Command, frozen=True):
    """A call is about to run."""

    call: ToolCallBlock
    key: str


class StartChild(Command, frozen=True):
    """A child is about to run in the background; a repeated one is not recorded."""

    child: ChildStart


class EndChild(Command, frozen=True):
    """A background child ended; only the first one for a start is recorded."""

    end: ChildEnd
    usage: Usage = NO_USAGE


class Ask(Command, frozen=True):
    """A call waits for an answer."""

    question: Question


class AnswerQuestion(Command, frozen=True):
    """An open question is answered, or closed without an answer."""

    answer: Answer


class StartGraph(Command, frozen=True):
    """A run of a graph begins on this thread."""

    start: GraphStart


class StartNode(Command, frozen=True):
    """A node is about to run."""

    task: NodeTask
    child_id: str | None = None


class EndNode(Command, frozen=True):
    """A node ended."""

    end: NodeEnd
    usage: Usage = NO_USAGE
    child_ids: tuple[str, ...] = ()


class EndStep(Command, frozen=True):
    """The updates of a step take effect."""

    end: StepEnd


class Pause(Command, frozen=True):
    """The run waits for answers."""

    interrupts: tuple[Interrupt, ...]
    status: InterruptStatus


class EndGraph(Command, frozen=True):
    """The run of the graph is over."""

    end: GraphEnd


class TrimContext(Command, frozen=True):
    """Nodes see another part of the context from now on."""

    trim: Trim
    usage: Usage = NO_USAGE


AnyCommand: TypeAlias = (
    AddMessage
    | Import
    | Finish
    | SetStop
    | Compact
    | ClearToolResults
    | EditExtraData
    | Restore
    | Fork
    | StartRun
    | Request
    | Receive
    | NoteEvent
    | Fail
    | CloseCall
    | ReportLate
    | NoteExchange
    | NoteStart
    | StartChild
    | EndChild
    | Ask
    | AnswerQuestion
    | StartGraph
    | StartNode
    | EndNode
    | EndStep
    | Pause
    | EndGraph
    | TrimContext
)
"""Every command."""
