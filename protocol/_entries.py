"""What a history holds: one frozen class for each kind of entry.

1. An entry is written once and never changed; a value is a fold over entries.
2. ``kind`` is of a Literal type, so that comparing it narrows ``content``.
3. What a run with a store, a supervisor or open questions adds stands in
   `protocol._work_entries`, what the thread of a graph does in
   `protocol._graph_entries`.
4. What holds only text, numbers and frozen JSON can form no cycle, and is kept out of
   the collector's way (``gc=False``). What holds an exception can: its traceback leads
   back to the State.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from ._content import ToolCallBlock
from ._entry import NO_DATA, NO_USAGE, Content, Entry
from ._graph_entries import (
    GraphEndEntry,
    GraphStartEntry,
    InterruptEntry,
    NodeEndEntry,
    NodeStartEntry,
    StepEndEntry,
    TrimEntry,
)
from ._json import FrozenDict, freeze
from ._message import Message, is_cut_off
from ._stops import Stopped, ToolOutcomeKind
from ._usage import Usage
from ._work_entries import (
    AnswerEntry,
    CallStartEntry,
    ChildEndEntry,
    ChildStartEntry,
    QuestionEntry,
)


class MessageEntry(Entry, frozen=True, kw_only=True, tag="message", gc=False):
    """A user message or a notice was added."""

    message: Message
    """The message, whole, as it was recorded."""

    @property
    def kind(self) -> Literal["user", "notice"]:
        """``notice`` when the text starts with ``[notice] ``, else ``user``."""
        return "notice" if self.message.is_notice else "user"

    @property
    def content(self) -> Content:
        """The message's text when it has only text, else its blocks."""
        blocks = self.message.content
        if all(block.type == "text" for block in blocks):
            return self.message.text()
        return blocks


class ModelRequestEntry(
    Entry, frozen=True, kw_only=True, tag="model_request", gc=False
):
    """A think began: the model was asked."""

    kind: ClassVar[Literal["model_request"]] = "model_request"
    content: str
    """``provider/name`` of the model."""


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a model answered."""

    message: Message
    """The assistant message."""
    usage: Usage = NO_USAGE
    """What this request cost."""
    context_tokens: int | None = None
    """Tokens in the context after this reply, or None when unknown."""
    stop_reason: str | None = None
    """The provider's word for why it stopped."""
    model: str | None = None
    """``provider/name`` of the model that answered, or None when unknown."""

    @property
    def text(self) -> str:
        """The reply's text without calls, reasoning and media."""
        return self.message.text()

    @property
    def tool_calls(self) -> tuple[ToolCallBlock, ...]:
        """The calls that the model asks for, in its order."""
        return self.message.tool_calls

    @property
    def cut_off(self) -> bool:
        """Whether the reply ended because the output limit was hit."""
        why, told = self.stop_reason, self.message.stop_reason
        return is_cut_off(why) or (told is not why and is_cut_off(told))


class ModelReplyEntry(Entry, frozen=True, kw_only=True, tag="model_reply", gc=False):
    """The model answered the open request."""

    kind: ClassVar[Literal["model_reply"]] = "model_reply"
    content: Reply


class ModelEvent(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False
):
    """Something that happened on the way to a reply, such as a retry."""

    kind: str
    """What happened, in one word: ``retry``, ``wait``."""
    message: str = ""
    """The same for people."""
    data: Mapping[str, Any] = NO_DATA
    """The same for programs, in JSON form."""

    def __post_init__(self) -> None:
        if type(self.data) is not FrozenDict:
            force_setattr(self, "data", freeze(self.data, "data"))


class ModelEventEntry(Entry, frozen=True, kw_only=True, tag="model_event", gc=False):
    """A model request was retried, waited, or the like."""

    kind: ClassVar[Literal["model_event"]] = "model_event"
    content: ModelEvent


class ToolResultEntry(Entry, frozen=True, kw_only=True, tag="tool_result"):
    """A call ended, with exactly one such entry; or finished late, with one more."""

    kind: ClassVar[Literal["tool_result"]] = "tool_result"
    content: Content
    """What the model reads as the call's result."""
    call: ToolCallBlock
    """The call that ended."""
    outcome: ToolOutcomeKind
    """How it ended."""
    late: bool = False
    """True for what a call that was already closed delivered afterwards."""
    error: BaseException | None = None
    """The exception, while it lives in this process; never saved or compared."""
    child_ids: tuple[str, ...] = ()
    """The States that this call started, in start order."""
    usage: Usage = NO_USAGE
    """What those children spent since they joined."""
    message_id: str | int | None = None
    """The id of the message this entry causes, or None when it causes none."""

    @property
    def is_error(self) -> bool:
        """Whether the outcome is anything but ``done``."""
        return self.outcome != "done"


class Exchange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A question beside the conversation, and its answer."""

    question: str
    answer: Any = None
    """The answer in JSON form."""

    def __post_init__(self) -> None:
        if self.answer is not None:
            force_setattr(self, "answer", freeze(self.answer, "answer"))


class ExchangeEntry(Entry, frozen=True, kw_only=True, tag="exchange", gc=False):
    """The model (``ask``) or a person (``human``) answered a side question."""

    kind: Literal["ask", "human"]
    content: Exchange
    usage: Usage = NO_USAGE
    """What the question cost."""


class ContextChange(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False
):
    """How the messages changed other than by one more."""

    kind: Literal["import", "compact", "clear_tool_results", "restore"]
    before_tokens: int | None = None
    """Tokens in the context before, or None when unknown."""
    after_tokens: int | None = None
    """Tokens in the context afterwards, or None when unknown."""
    summary: str | None = None
    """The text that stands for the messages that went (compact)."""
    kept: int = 0
    """How many of the last messages stayed (compact)."""
    cleared: tuple[str, ...] = ()
    """Ids of the calls whose results were blanked (clear_tool_results)."""
    messages: tuple[Message, ...] = ()
    """The messages that came in (import)."""
    restored_to: int | None = None
    """The number of entries the values went back to (restore)."""
    usage: Usage = NO_USAGE
    """What the change cost (compact)."""
    message_id: str | int | None = None
    """The id of the notice this change causes (compact)."""


class ContextChangeEntry(
    Entry, frozen=True, kw_only=True, tag="context_change", gc=False
):
    """The messages were imported, compacted, cleared of results, or went back."""

    kind: ClassVar[Literal["context_change"]] = "context_change"
    content: ContextChange


class AgentInfo(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False
):
    """Who ran: enough to see that a later run is set up differently."""

    name: str | None = None
    model: str | None = None
    """``provider/name``."""
    system_sha256: str | None = None
    """SHA-256 of the system text, in hexadecimal."""
    tools: tuple[str, ...] = ()
    """The names of the tools, sorted."""
    mcp_servers: tuple[str, ...] = ()
    """The names of the MCP servers, sorted."""


class RunStartEntry(Entry, frozen=True, kw_only=True, tag="run_start", gc=False):
    """A run of this State began."""

    kind: ClassVar[Literal["run_start"]] = "run_start"
    content: AgentInfo
    parent_id: str | None = None
    """The State whose call started this run."""
    parent_call_id: str | None = None
    """That call's id."""


class StopEntry(Entry, frozen=True, kw_only=True, tag="stop", gc=False):
    """The run is set to stop, or (None) an earlier stop was cleared."""

    kind: ClassVar[Literal["stop"]] = "stop"
    content: Stopped | None = None


class ExtraDataEntry(Entry, frozen=True, kw_only=True, tag="extra_data", gc=False):
    """Top-level keys of the extra data were set or removed."""

    kind: ClassVar[Literal["extra_data"]] = "extra_data"
    content: Mapping[str, Any] = NO_DATA
    """The keys that were set, with their values, in JSON form."""
    removed: tuple[str, ...] = ()
    """The keys that were removed."""

    def __post_init__(self) -> None:
        if type(self.content) is not FrozenDict:
            force_setattr(self, "content", freeze(self.content, "extra_data"))


class ErrorEntry(Entry, frozen=True, kw_only=True, tag="error"):
    """Something failed: a model request, or what a call is named for."""

    kind: ClassVar[Literal["error"]] = "error"
    content: str
    """``Type: message``."""
    error: BaseException | None = None
    """The exception, while it lives in this process; never saved or compared."""
    call: ToolCallBlock | None = None
    """The call that failed, or None for a request."""


HistoryEntry: TypeAlias = (
    MessageEntry
    | ModelRequestEntry
    | ModelReplyEntry
    | ModelEventEntry
    | ToolResultEntry
    | ExchangeEntry
    | ContextChangeEntry
    | RunStartEntry
    | StopEntry
    | ExtraDataEntry
    | ErrorEntry
    | CallStartEntry
    | ChildStartEntry
    | ChildEndEntry
    | QuestionEntry
    | AnswerEntry
    | GraphStartEntry
    | NodeStartEntry
    | NodeEndEntry
    | StepEndEntry
    | InterruptEntry
    | GraphEndEntry
    | TrimEntry
)
"""Any entry that this version knows."""


class UnknownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a newer version: kept byte for byte, refused by the fold."""

    kind: str
    """The name that stands in the record."""
    raw: bytes
    """The record's body, as it was read."""
