"""The value of a State: what the fold makes of its history.

1. A value is a candidate while one fold builds it; once published nobody changes it.
2. It shares its long parts (history, messages) with every other value of the State
   as views of append-only logs, so that keeping one costs a few hundred bytes.
3. What seldom changes stands in parts of its own, shared from value to value.
4. A part is kept from the collector only if it can form no cycle: a value can, for its
   history holds exceptions, and so can the calls and their results.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import msgspec

from ._content import ToolCallBlock
from ._entries import AgentInfo, ToolResultEntry
from ._entry import NO_USAGE
from ._graph_value import GraphThread
from ._history import History
from ._json import FrozenDict
from ._log import EMPTY, NOTHING, Log, View
from ._message import Message
from ._stops import Question, Stopped
from ._usage import Usage

PhaseName: TypeAlias = Literal["idle", "thinking", "calling"]


class OpenCalls:
    """The calls of one reply and the results they got so far; shared by views.

    A view is (calls, answered): a call is open in it unless it is among the first
    ``answered`` results. Like a log it has one writer; see `copy`.
    """

    __slots__ = ("_order", "_ranks", "_starts", "answers", "calls", "reply_id")

    def __init__(self, reply_id: str | int, calls: tuple[ToolCallBlock, ...]) -> None:
        self.reply_id = reply_id
        self.calls = calls
        self.answers: list[ToolResultEntry] = []
        # A single call, the commonest, is its own index: it needs no dicts.
        self._order: dict[str, int] | None = None
        self._ranks: dict[str, int] | None = None
        if len(calls) > 1:
            self._order = {call.id: index for index, call in enumerate(calls)}
            self._ranks = {}
        self._starts: dict[str, tuple[int, str]] | None = None

    @property
    def are_different(self) -> bool:
        """Whether no two calls have the same id."""
        return self._order is None or len(self._order) == len(self.calls)

    @property
    def any_started(self) -> bool:
        """Whether a call may have been started, in this view or another one."""
        return self._starts is not None

    def start(self, size: int, call_id: str, key: str) -> None:
        """The entry at ``size`` starts a call; only its first one counts."""
        if self._starts is None:
            self._starts = {}
        if self.started(size, call_id) is None:
            self._starts[call_id] = (size, key)

    def started(self, size: int, call_id: str) -> str | None:
        """The key a call was started with in the first ``size`` entries, or None."""
        if self._starts is None:
            return None
        index, key = self._starts.get(call_id, (size, ""))
        return key if index < size else None

    def is_open(self, answered: int, call_id: str) -> bool:
        """Whether this call has no result among the first ``answered``."""
        order, ranks = self._order, self._ranks
        if order is None or ranks is None:
            return not answered and self.calls[0].id == call_id
        return call_id in order and ranks.get(call_id, answered) >= answered

    def pending(self, answered: int) -> tuple[ToolCallBlock, ...]:
        """The calls without a result, in request order."""
        ranks = self._ranks
        if not answered:
            return self.calls
        if ranks is None:
            return ()
        return tuple([c for c in self.calls if ranks.get(c.id, answered) >= answered])

    def answer(self, answered: int, entry: ToolResultEntry) -> "OpenCalls":
        """Add a result behind the first ``answered``; return the calls that have it."""
        answers = self.answers
        if len(answers) == answered:
            answers.append(entry)
            # No call between question and note: nothing can come between.
            if answers[answered] is entry:
                if self._ranks is not None:
                    self._ranks[entry.call.id] = answered
                return self
        return self.copy(answered).answer(answered, entry)

    def in_order(self, answered: int, last: ToolResultEntry) -> list[ToolResultEntry]:
        """The first ``answered`` results and the last one, in request order."""
        order = self._order
        if order is None:
            return [last]
        answers = [*self.answers[:answered], last]
        answers.sort(key=lambda entry: order[entry.call.id])
        return answers

    def copy(self, answered: int) -> "OpenCalls":
        """The same calls and results with a writer of their own."""
        calls = OpenCalls(self.reply_id, self.calls)
        calls.answers = self.answers[:answered]
        if calls._ranks is not None:
            calls._ranks |= {e.call.id: rank for rank, e in enumerate(calls.answers)}
        if self._starts is not None:
            calls._starts = dict(self._starts)
        return calls


class Thinking(msgspec.Struct, frozen=True, gc=False):
    """A request waits on the model."""

    phase: ClassVar[PhaseName] = "thinking"
    notices: View[Message]
    """The late notices that went in with the request, to wait again if it fails."""
    start: int | None
    """Where they stand in the messages, or None once a compaction moved them."""
    request: int
    """The index of the request's entry."""


class Calling(msgspec.Struct, frozen=True):
    """Calls of the last reply have no result yet."""

    phase: ClassVar[PhaseName] = "calling"
    calls: OpenCalls
    answered: int


class Results(msgspec.Struct, frozen=True, gc=False):
    """Where tool results stand in the messages, and which were blanked."""

    places: View[tuple[int, int]] = NOTHING
    """For each result the index of its message and of its block, in order."""
    cleared: int = 0
    """How many of the first results are blanked."""
    more: frozenset[int] = frozenset()
    """Further blanked results, by their number; only hand-made histories have any."""
    changed: View[tuple[int, Message]] = NOTHING
    """Messages that read differently now, by index; a later one replaces an earlier."""
    anchors: int = 0
    """Messages before this index have lost their token counts."""
    counted: int = 0
    """Token counts of messages before this index count what a compaction took out."""


class Facts(msgspec.Struct, frozen=True, gc=False):
    """What changes a few times in a conversation."""

    extra_data: FrozenDict[str, Any] = FrozenDict()
    first_user: Message | None = None
    """Stays in front of every compaction."""
    finished: bool = False
    finish_answer: Any = None
    """The last answer given to finish that was not None."""
    stopped: Stopped | None = None
    parent: tuple[str, str | None] | None = None
    """The first link: the parent's id, and its call's."""
    ran: tuple[int, AgentInfo] | None = None
    """Where the last run start stands in the history, and who ran."""
    questions: tuple[Question, ...] = ()
    """What waits for an answer, in the order it was asked."""
    answers: tuple[tuple[Question, Any], ...] = ()
    """Answers that calls of the open turn got."""
    children: int = 0
    """How many background children began and have not ended."""


NO_RESULTS = Results()
NO_FACTS = Facts()


class Value(msgspec.Struct):
    """Everything a history means. Read `protocol._fold` for how each part changes."""

    history: History
    size: int = 0
    """How many entries of ``history`` are this value's."""
    messages: Log[Message] = msgspec.field(default_factory=lambda: EMPTY)
    count: int = 0
    """How many messages of ``messages`` are this value's."""
    results: Results = NO_RESULTS
    open: Thinking | Calling | GraphThread | None = None
    """The open turn; or what makes this State the thread of a graph, for good."""
    held: View[Message] = NOTHING
    """Messages that go in when the phase ends."""
    late: View[Message] = NOTHING
    """Notices of late results, waiting for the next request."""
    turn: int = 0
    usage: Usage = NO_USAGE
    reply_answer: str | None = None
    """The text of the last reply without calls."""
    facts: Facts = NO_FACTS

    if TYPE_CHECKING:

        def __copy__(self) -> Self: ...

    @property
    def phase(self) -> PhaseName:
        """idle, thinking or calling."""
        return "idle" if self.open is None else self.open.phase

    @property
    def answer(self) -> Any:
        """The last finish answer, else the last reply's text, else None."""
        given = self.facts.finish_answer
        return self.reply_answer if given is None else given

    @property
    def pending(self) -> tuple[ToolCallBlock, ...]:
        """The open calls, in request order."""
        now = self.open
        return now.calls.pending(now.answered) if type(now) is Calling else ()

    def branch(self) -> "Value":
        """The same value for another State, which becomes the writer of its copy."""
        new = self.__copy__()
        new.history = self.history.branch(self.size)
        branch_messages(new)
        if type(self.open) is Calling:
            calls, answered = self.open.calls, self.open.answered
            new.open = Calling(calls.copy(answered), answered)
        return new


NOTHING_RECORDED = Value(History(base=Log.SEALED))
"""The value of a State with no history."""


def branch_messages(value: Value) -> None:
    """Give a candidate segments of its own for everything that messages stand in."""
    if value.count:
        value.messages = value.messages.branch(value.count)
    else:
        value.messages = EMPTY
    if value.results is not NO_RESULTS:
        results = value.results
        value.results = msgspec.structs.replace(
            results, places=results.places.branch(), changed=results.changed.branch()
        )
    if value.held.size:
        value.held = value.held.branch()
    if value.late.size:
        value.late = value.late.branch()
