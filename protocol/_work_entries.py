"""What runs with a store, background children or open questions record besides.

1. Each of these says that something outside the conversation began or ended, so that
   a run in another process knows where it stands.
"""

from typing import Any, ClassVar, Literal

import msgspec
from msgspec.structs import force_setattr

from ._content import ToolCallBlock
from ._entry import NO_USAGE, Content, Entry
from ._json import freeze
from ._stops import Question, ToolOutcomeKind
from ._usage import Usage


class CallStartEntry(Entry, frozen=True, kw_only=True, tag="call_start"):
    """A call is about to run; durable before its tool is called."""

    kind: ClassVar[Literal["call_start"]] = "call_start"
    content: str
    """The idempotency key: the same when the call is run again after a crash."""
    call: ToolCallBlock


class ChildStart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A child that goes on in the background of the call that started it."""

    child_id: str
    """The child's State."""
    name: str
    """The agent's name."""
    call_id: str
    """The call that started it."""
    since: int = 0
    """How many entries the child had then: one State may be started again."""


class ChildStartEntry(Entry, frozen=True, kw_only=True, tag="child_start"):
    """A background child is about to run; durable before it does anything."""

    kind: ClassVar[Literal["child_start"]] = "child_start"
    content: ChildStart


class ChildEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a background child ended."""

    child_id: str
    """The child's State."""
    name: str
    """The agent's name."""
    outcome: ToolOutcomeKind
    text: Content = ""
    """Its answer, or what went wrong."""
    since: int = 0
    """As in the `ChildStart` that this ends."""


class ChildEndEntry(Entry, frozen=True, kw_only=True, tag="child_end"):
    """A background child ended: one for each start; a repeated one is ignored."""

    kind: ClassVar[Literal["child_end"]] = "child_end"
    content: ChildEnd
    usage: Usage = NO_USAGE
    """What it spent that no result of a call has counted."""
    message_id: str | int | None = None
    """The id of the notice this entry causes."""


class QuestionEntry(Entry, frozen=True, kw_only=True, tag="question"):
    """A call waits for somebody to answer."""

    kind: ClassVar[Literal["question"]] = "question"
    content: Question


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a question."""

    question_id: str
    answered: bool = True
    """False when it was closed without an answer."""
    value: Any = None
    """The answer in JSON form."""

    def __post_init__(self) -> None:
        if self.value is not None:
            force_setattr(self, "value", freeze(self.value, "answer"))


class AnswerEntry(Entry, frozen=True, kw_only=True, tag="answer"):
    """A question was answered, or closed without an answer."""

    kind: ClassVar[Literal["answer"]] = "answer"
    content: Answer
