"""Another reading of a history, entry by entry, beside each live State.

It shares nothing with the fold: what it finds is compared with what the State says.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any

from actors import State, ToolResultEntry
from actors._inside import mailbox, value_of_state
from protocol import (
    ErrorEntry,
    ExchangeEntry,
    MessageEntry,
    ModelEventEntry,
    ModelReplyEntry,
    ModelRequestEntry,
    RunStartEntry,
)
from protocol._entries import ContextChangeEntry
from protocol._entry import NO_USAGE
from protocol._value import Value
from protocol._work_entries import (
    AnswerEntry,
    CallStartEntry,
    ChildEndEntry,
    ChildStartEntry,
)

from .reached import reached

if TYPE_CHECKING:
    from .process import Process


FIRST = 4
"""Entries a State has at most when it is met for the first time in its life."""


class Shadow:
    """Follows one State from its first entry."""

    def __init__(self, process: "Process", state: State) -> None:
        self.process = process
        self.world = process.world
        self.state = state
        self.entries: list[Any] = []
        self.asking = False
        self.open: dict[str, Any] = {}
        self.calls: set[str] = set()
        self.delivered: Counter[str] = Counter()
        self.children: list[str] = []
        """Those that have ended."""
        self.sent: set[str] = set()
        """Those that went on in the background."""
        self.sent_here: set[str] = set()
        self.own = NO_USAGE
        self.below = NO_USAGE
        self.held = 0
        self.driven = False
        """Whether anything but people's words was recorded here since."""
        box = mailbox(state)
        with box.lock:
            self.live = False
            self.follow(box.value)
            self.live = True
            self.inherited = self.own
            self.is_new = not self.children and value_of_state(state).size <= FIRST
            self.got = NO_USAGE
            """What models delivered to this copy since."""
            box.listen(self.heard)

    def heard(self, before: Value, after: Value) -> None:
        """Told of each commit, in the step itself: nothing may be raised here."""
        try:
            self.follow(after)
        except Exception as error:
            self.fault(f"the shadow raised {error!r}")

    def fault(self, what: str) -> None:
        self.world.fault(f"{self.state.id}: {what}")

    def must(self, truth: object, what: str) -> None:
        if not truth:
            self.fault(what)

    def follow(self, value: Value) -> None:
        """Read on to this value."""
        known = len(self.entries)
        self.must(value.size >= known, "a history became shorter")
        if known:
            last = value.history.at(known - 1)
            self.must(last is self.entries[-1], "an entry was replaced")
        for index in range(known, value.size):
            entry = value.history.at(index)
            self.entries.append(entry)
            self.read(index, entry)
        if value.facts is not None:
            self.compare(value)

    def compare(self, value: Value) -> None:
        """What the fold says is what was read."""
        phase = "thinking" if self.asking else "calling" if self.open else "idle"
        self.must(value.phase == phase, f"is {value.phase}, and should be {phase}")
        pending = [call.id for call in value.pending]
        self.must(pending == list(self.open), f"{pending} wait, not {list(self.open)}")
        usage = self.own + self.below
        self.must(value.usage == usage, f"used {value.usage}, not {usage}")
        self.must(value.held.size == self.held, "messages are held that are not")

    def read(self, index: int, entry: Any) -> None:
        """Note what an entry says; what it may not say here is a fault."""
        if self.live:
            self.mark(entry)
            self.driven = self.driven or not isinstance(
                entry, MessageEntry | AnswerEntry | ContextChangeEntry
            )
            if self.world.printing:
                self.world.log(self.state.id[:12], f"#{index} {describe(entry)}")
        match entry:
            case ModelRequestEntry():
                self.must(not self.asking and not self.open, "asks in mid-turn")
                self.asking = True
            case ModelReplyEntry(content=reply):
                self.must(self.asking, "a reply to no request")
                self.asking = False
                self.own += reply.usage
                self.open_calls(reply)
            case ErrorEntry(call=None):
                self.asking = False
            case ToolResultEntry():
                self.result(entry)
            case CallStartEntry(call=call):
                self.must(call.id in self.open, f"{call.id} begins, and is not open")
            case ExchangeEntry(usage=usage):
                self.own += usage
            case ContextChangeEntry(content=change):
                self.own += change.usage
            case ChildStartEntry(content=begun):
                self.must(begun.child_id not in self.sent, "a child is sent twice")
                self.sent.add(begun.child_id)
                if self.live:
                    self.sent_here.add(begun.child_id)
                    if begun.call_id not in self.open:
                        reached("a child in the background went up to another owner")
            case ChildEndEntry(content=end, usage=usage):
                twice = end.child_id in self.children
                self.must(not twice, f"{end.child_id} has ended twice")
                self.children.append(end.child_id)
                self.below += usage
                if self.live:
                    self.mark_end(end)
            case _:
                pass
        self.hold(entry)

    def hold(self, entry: Any) -> None:
        if isinstance(entry, MessageEntry) and (self.asking or self.open):
            self.held += 1
        elif not self.asking and not self.open:
            self.held = 0

    def open_calls(self, reply: Any) -> None:
        for call in reply.tool_calls:
            self.must(call.id not in self.calls, f"{call.id} is a call already")
            self.calls.add(call.id)
            self.open[call.id] = call

    def result(self, entry: ToolResultEntry) -> None:
        call_id = entry.call.id
        if entry.late:
            known = call_id in self.calls and call_id not in self.open
            self.must(known, f"a late result of {call_id}, which is none")
        else:
            self.must(self.open.pop(call_id, None), f"a second result of {call_id}")
        if entry.outcome == "done":
            self.delivered[call_id] += 1
            self.must(self.delivered[call_id] == 1, f"{call_id} delivered twice")
        self.below += entry.usage
        for child_id in entry.child_ids:
            if child_id in self.sent:
                continue  # it has an end of its own
            self.must(child_id not in self.children, f"{child_id} has ended twice")
            self.children.append(child_id)

    def mark_end(self, end: Any) -> None:
        """What became of a child in the background."""
        if end.child_id in self.sent_here:
            if not self.open:
                reached("a child in the background outlived its turn")
        else:
            reached("a child in the background was seen to by another process")

    def mark(self, entry: Any) -> None:
        """Rare paths that can be seen in a history."""
        match entry:
            case ToolResultEntry():
                mark_result(entry)
            case ErrorEntry(call=None) if self.asking:
                reached("a request was taken back")
            case ModelEventEntry(content=event):
                if event.kind == "retry":
                    reached("a request was tried again")
                elif event.kind == "wait":
                    reached("a request waited for another's Retry-After")
            case ModelReplyEntry(content=reply):
                if any(call.model_id is not None for call in reply.tool_calls):
                    reached("a call's id was taken")
            case ExchangeEntry(content=exchange):
                if "its run was given up" in exchange.question:
                    reached("a reply came for a run that was given up")
            case MessageEntry() if self.asking or self.open:
                reached("a message was held")
            case AnswerEntry(content=said) if not said.answered:
                reached("a question was closed without an answer")
            case RunStartEntry(parent_id=str()) if any(
                isinstance(each, RunStartEntry) for each in self.entries[:-1]
            ):
                reached("a child went on in another process")
            case _:
                pass


def mark_result(entry: ToolResultEntry) -> None:
    text = entry.content if isinstance(entry.content, str) else ""
    if entry.late and entry.outcome == "done":
        reached("a value came late")
        if entry.call.name == "plain":
            reached("a thread's value came late")
    for part, name in RESULTS.items():
        if part in text:
            reached(name)


RESULTS = {
    "the process ended while this call ran": "a call's outcome was unknown",
    "and it did not stop within its grace": "a call did not stop within its grace",
    "its clean-up did not stop within its grace": "a clean-up was cut",
    "timed out": "a tool timed out",
    "a sibling failed": "a sibling's failure cancelled a call",
    "another call failed": "a sibling's failure cancelled a call",
    "interrupted before it": "a call never began",
    "not started: the limit": "a call was not started for a limit",
    "(denied": "a call was denied",
    "(aborted: BudgetExceeded)": "a limit further up stopped a child",
}
"""What stands in a result, and the rare path that led to it."""


def describe(entry: Any) -> str:
    """An entry in one line."""
    match entry:
        case ModelReplyEntry(content=reply):
            calls = [f"{call.name}({call.id})" for call in reply.tool_calls]
            what = f"{reply.text!r} {' '.join(calls)}"
        case ToolResultEntry(call=call, outcome=outcome, content=content):
            late = " late" if entry.late else ""
            children = f" children {list(entry.child_ids)}" if entry.child_ids else ""
            what = f"{call.name}({call.id}) {outcome}{late}: {content!r}{children}"
        case MessageEntry(message=message):
            what = repr(message.text())
        case CallStartEntry(call=call):
            what = f"{call.name}({call.id})"
        case _:
            what = str(getattr(entry, "content", ""))
    return f"{entry.kind} {what}"[:160]
