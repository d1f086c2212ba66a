"""What the thread of a graph records: runs, nodes, steps, interrupts and trims.

1. A node's end is recorded with what it wants changed; the step's end with what became
   of that. Reducers are users' code and run once: the fold takes their results.
2. Messages stand in the entry of the node that made them, and nowhere again: the end
   of a step puts those in that are not there yet.
3. Values are in JSON form; what types they are read as is the matter of the state
   class that runs.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from ._entry import NO_DATA, NO_USAGE, Entry
from ._exec_meta import InterruptStatus
from ._json import FrozenDict, freeze
from ._message import Message
from ._usage import Usage

NodeOutcome: TypeAlias = Literal["done", "error", "interrupted", "cancelled"]
"""How a node ended: it returned, it raised, it waits for an answer, it was stopped."""


class GraphUpdate(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False
):
    """One update of a graph's state, as it was given."""

    fields: Mapping[str, Any] = NO_DATA
    """Fields to their updates; `context` is not among them."""
    messages: tuple[Message, ...] | None = None
    """The update of `context`, or None when it is not updated."""

    def __post_init__(self) -> None:
        if type(self.fields) is not FrozenDict:
            force_setattr(self, "fields", freeze(self.fields, "update"))


class Goto(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Where a node wants the graph to go."""

    node: str
    """The node's name, or END."""
    input: GraphUpdate | None = None
    """What the node sees changed, for its own copy only."""


class NodeTask(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A node that runs in a step; one node may run several times in one."""

    id: str
    """Unique in the thread."""
    node: str
    input: GraphUpdate | None = None
    """What its copy of the state has changed."""


class GraphStart(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False
):
    """What a run of a graph begins with."""

    messages: tuple[Message, ...] = ()
    """What goes into the context, unless it is there."""
    context: tuple[Message, ...] | None = None
    """The whole context, where its reducer is another than `add_messages`."""
    fields: Mapping[str, Any] = NO_DATA
    """New values of fields; at the first run of a thread, all of them."""
    tasks: tuple[NodeTask, ...] = ()
    """The first step; a run that goes on has none of its own."""
    answers: Mapping[str, Any] = NO_DATA
    """Interrupts to their answers."""
    goes_on: bool = False
    """Whether it goes on from where the last run stopped."""

    def __post_init__(self) -> None:
        for name in ("fields", "answers"):
            held = getattr(self, name)
            if type(held) is not FrozenDict:
                force_setattr(self, name, freeze(held, name))


class GraphStartEntry(Entry, frozen=True, kw_only=True, gc=False, tag="graph_start"):
    """A run of a graph began on this thread."""

    kind: ClassVar[Literal["graph_start"]] = "graph_start"
    content: GraphStart


class NodeStartEntry(Entry, frozen=True, kw_only=True, gc=False, tag="node_start"):
    """A node is about to run."""

    kind: ClassVar[Literal["node_start"]] = "node_start"
    content: NodeTask
    child_id: str | None = None
    """The State that holds what the node asks of models and tools, if it has one."""


class NodeEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """How a node ended, and what it wants."""

    task_id: str
    node: str
    outcome: NodeOutcome
    updates: tuple[GraphUpdate, ...] = ()
    """What it wants changed, in order."""
    goto: tuple[Goto, ...] | None = None
    """Where it goes instead of along its edges; None follows the edges."""
    completes: bool = False
    """Whether the run ends after this step."""
    text: str = ""
    """What went wrong, when something did."""


class NodeEndEntry(Entry, frozen=True, kw_only=True, gc=False, tag="node_end"):
    """A node ended: exactly one for each start."""

    kind: ClassVar[Literal["node_end"]] = "node_end"
    content: NodeEnd
    usage: Usage = NO_USAGE
    """What the States below it spent."""
    child_ids: tuple[str, ...] = ()
    """The States that it started, in start order."""


class StepEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What the updates of a step came to."""

    fields: Mapping[str, Any] = NO_DATA
    """New values of the fields that were updated."""
    context: tuple[Message, ...] | None = None
    """The whole context, where its reducer is another than `add_messages`."""
    tasks: tuple[NodeTask, ...] = ()
    """The next step; none when the run is over."""
    joins: Mapping[str, Any] = NO_DATA
    """Nodes that wait for several others: to those that have run."""

    def __post_init__(self) -> None:
        for name in ("fields", "joins"):
            held = getattr(self, name)
            if type(held) is not FrozenDict:
                force_setattr(self, name, freeze(held, name))


class StepEndEntry(Entry, frozen=True, kw_only=True, gc=False, tag="step_end"):
    """All nodes of a step have ended, and what they wanted is merged."""

    kind: ClassVar[Literal["step_end"]] = "step_end"
    content: StepEnd


class Interrupt(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Something a run of a graph waits for."""

    id: str
    """Stays the same until it is answered; a `resume` names it."""
    node: str
    """The node that asks, or before or after which the run paused."""
    value: Any = None
    """What it asks, in JSON form."""

    def __post_init__(self) -> None:
        if self.value is not None:
            force_setattr(self, "value", freeze(self.value, "interrupt"))


class InterruptEntry(Entry, frozen=True, kw_only=True, gc=False, tag="interrupt"):
    """A run paused and waits for answers."""

    kind: ClassVar[Literal["interrupt"]] = "interrupt"
    content: tuple[Interrupt, ...]
    status: InterruptStatus = "interrupted_before"


class GraphEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """How a run of a graph ended."""

    status: Literal["completed", "error", "stopped"]
    text: str = ""
    """What went wrong, or who stopped it."""


class GraphEndEntry(Entry, frozen=True, kw_only=True, gc=False, tag="graph_end"):
    """A run of a graph ended otherwise than by an interrupt."""

    kind: ClassVar[Literal["graph_end"]] = "graph_end"
    content: GraphEnd


class Trim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What nodes see of the context: a view; the context itself stays whole."""

    kept: tuple[int, ...] = ()
    """Which of the messages before ``upto`` are seen, by index."""
    upto: int = 0
    """Messages from this index on are all seen."""
    summary: str | None = None
    """What stands for the others; None leaves the summary as it is."""


class TrimEntry(Entry, frozen=True, kw_only=True, gc=False, tag="context_trim"):
    """A context manager trimmed what nodes see."""

    kind: ClassVar[Literal["context_trim"]] = "context_trim"
    content: Trim
    usage: Usage = NO_USAGE
    """What the summary cost."""


GraphEntry: TypeAlias = (
    GraphStartEntry
    | NodeStartEntry
    | NodeEndEntry
    | StepEndEntry
    | InterruptEntry
    | GraphEndEntry
    | TrimEntry
)
"""Any entry that only the thread of a graph has."""
