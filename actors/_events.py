"""What happens in a tree of runs, for whoever looks on: reporters and streams.

1. Events of one State are told in commit order; each carries the path of ids from the
   root's State down to where it happened.
2. An event is a frozen value: whoever gets it may keep it, and can disturb nothing.
"""

from typing import ClassVar, TypeAlias

import msgspec

from protocol import (
    ContextChange,
    ModelEvent,
    Reply,
    StateSnapshot,
    ToolCall,
    ToolResultEntry,
    Usage,
)


class _Event(msgspec.Struct, frozen=True, kw_only=True):
    """What all events have."""

    path: tuple[str, ...]
    """Ids from the root's State down to the State, or call, where it happened."""


class RunStart(_Event, frozen=True, kw_only=True):
    """A run of a State began."""

    hook: ClassVar[str] = "on_run_start"
    snapshot: StateSnapshot
    agent: str | None
    """The agent's name."""


class ThinkStart(_Event, frozen=True, kw_only=True):
    """The model is about to be asked."""

    hook: ClassVar[str] = "on_think_start"
    snapshot: StateSnapshot


class TextDelta(_Event, frozen=True, kw_only=True):
    """The model said a little more; shown as it comes, recorded with the reply."""

    hook: ClassVar[str] = "on_text"
    text: str


class ThinkEnd(_Event, frozen=True, kw_only=True):
    """The model's reply is recorded."""

    hook: ClassVar[str] = "on_think_end"
    snapshot: StateSnapshot
    reply: Reply


class ToolStart(_Event, frozen=True, kw_only=True):
    """A call begins to run."""

    hook: ClassVar[str] = "on_tool_start"
    snapshot: StateSnapshot
    call: ToolCall


class ToolEnd(_Event, frozen=True, kw_only=True):
    """A call has its result."""

    hook: ClassVar[str] = "on_tool_end"
    snapshot: StateSnapshot
    result: ToolResultEntry


class ContextChanged(_Event, frozen=True, kw_only=True):
    """The messages changed other than by one more."""

    hook: ClassVar[str] = "on_context_change"
    snapshot: StateSnapshot
    change: ContextChange


class ModelHappened(_Event, frozen=True, kw_only=True):
    """Something happened on the way to a reply, such as a retry."""

    hook: ClassVar[str] = "on_model_event"
    snapshot: StateSnapshot
    event: ModelEvent


class RunEnd(_Event, frozen=True, kw_only=True):
    """A run ended; nothing of it is pending any more."""

    hook: ClassVar[str] = "on_run_end"
    snapshot: StateSnapshot
    error: BaseException | None = None
    """What left the run, or None when it returned."""


class ChildStart(_Event, frozen=True, kw_only=True):
    """A subagent joined the tree."""

    hook: ClassVar[str] = "on_child_start"
    child_id: str
    call_id: str | None
    """The call that started it."""


class ChildEnd(_Event, frozen=True, kw_only=True):
    """A subagent ended; its usage is counted."""

    hook: ClassVar[str] = "on_child_end"
    child_id: str
    outcome: str
    """One of the outcomes of a call."""
    usage: Usage
    """What it spent since it joined."""


Event: TypeAlias = (
    RunStart
    | ThinkStart
    | TextDelta
    | ThinkEnd
    | ToolStart
    | ToolEnd
    | ContextChanged
    | ModelHappened
    | RunEnd
    | ChildStart
    | ChildEnd
)
"""Anything that happens."""
