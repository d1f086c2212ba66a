"""A tool call as a node of the tree: it ends with exactly one result.

1. The result is recorded in synchronous code, with what the call's children used.
2. Whatever is delivered after that comes as a late entry, with what grew since.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

import trio

from protocol import ActorClosed, ToolCall, ToolOutcomeKind, Usage
from protocol._commands import CloseCall, ReportLate
from protocol._entry import NO_USAGE, Content
from protocol._value import Calling

from ._inside import adopt_child, mailbox, send, value_of_state
from ._node import Node
from ._saving import save_soon
from ._statistics import Unstopped

if TYPE_CHECKING:
    from ._state import State
    from ._supervisor import Supervisor


CUT = "and its clean-up did not stop within its grace: it was cut"
DEAF = "and it did not stop within its grace"


class CallNode(Node):
    """One call of a State's open turn."""

    usage = NO_USAGE
    """What its subagents have used."""
    reported = NO_USAGE
    """As much of it as its entries have said."""
    outcome: ToolOutcomeKind | None = None
    error: BaseException | None = None
    has_begun = False
    has_thread = False
    is_cut = False
    timeout: trio.CancelScope | None = None

    def __init__(
        self,
        supervisor: "Supervisor",
        parent: Node,
        state: "State",
        call: ToolCall,
        place: int = 0,
    ) -> None:
        super().__init__(supervisor, parent, call.id)
        supervisor._adopt(self)
        self.state = state
        self.call = call
        self.place = place
        self.child_ids: dict[str, None] = {}  # in order, each once

    @property
    def key(self) -> str:
        """The idempotency key: the same in every process that runs this call."""
        return f"{self.state.id}.{self.call.id}"

    @property
    def call_id(self) -> str | None:
        """The call's id."""
        return self.id

    def was_started(self) -> bool:
        """Whether the history says that this call has begun to run before."""
        value = value_of_state(self.state)
        now = value.open
        if type(now) is not Calling:
            return False
        return now.calls.started(value.size, self.call.id) is not None

    def add_child(self, child_id: str, child: "State") -> None:
        """A subagent joined below this call; the same one may join again."""
        self.child_ids[child_id] = None
        adopt_child(self.state, child)

    def spent(self, usage: Usage) -> None:
        """A subagent of this call has ended and used this."""
        self.usage = self.usage + usage

    def close(
        self,
        content: Content,
        outcome: ToolOutcomeKind,
        error: BaseException | None = None,
    ) -> bool:
        """Record the call's one result; False when it has one already.

        A State that was closed has closed its calls itself.
        """
        box = mailbox(self.state)
        with box.lock:
            if self.outcome is not None:
                return False
            is_closed = box.closed is not None
            self.outcome = "cancelled" if is_closed else outcome
            self.error = error
            self.reported = usage = self.usage
            if is_closed:
                return False
            children = tuple(self.child_ids)
            box.send(CloseCall(self.call, content, outcome, error, children, usage))
            return True

    def report_late(self, content: Content, outcome: ToolOutcomeKind) -> None:
        """Record what came after the result: a value, and what was used since.

        A State that was closed meanwhile takes no more entries: the value is dropped.
        """
        grown = self.usage.since(self.reported)
        self.reported = self.usage
        with suppress(ActorClosed):
            send(self.state, ReportLate(self.call, content, outcome, usage=grown))
            save_soon(self.supervisor, self.state)

    def how_stopped(self) -> tuple[ToolOutcomeKind, str]:
        """The outcome of a call that was cancelled, and why it was, in words."""
        if self.stop is None:
            if self.timeout is not None and self.timeout.cancel_called:
                return "error", "timed out"
            return "interrupted", "interrupted"
        kind, reason = self.stop.kind, self.stop.reason
        return kind, kind if reason is None else f"{kind}: {reason}"

    def leave_thread(self) -> None:
        """Its thread works on without it: name it, as nobody can stop a thread."""
        reason = None if self.stop is None else self.stop.reason
        left = Unstopped(path=self.path, call_id=self.id, reason=reason)
        self.supervisor._unstopped.append(left)

    def take_time_again(self) -> None:
        """A time-out was heard: whatever the call does next has its own time."""
        if self.stop is None:
            self.until = None

    def cut(self) -> None:
        """Its clean-up took longer than its grace."""
        self.is_cut = True

    def give_up(self) -> None:
        """It did not stop within its grace: close it, and say so."""
        how, why = self.how_stopped()
        self.close(f"({why}, {DEAF})" if self.has_begun else f"({why})", how)
        self.end()
