"""The part of a value that only the thread of a graph has.

1. It stands where a conversation has its open turn: a thread never has one, and a
   conversation pays nothing for it.
2. The context is the value's messages. Every other field is kept here in JSON form.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import msgspec

from ._entry import NO_DATA, NO_USAGE
from ._exec_meta import START, ExecStatus
from ._graph_entries import Interrupt, NodeEnd, NodeTask, Trim
from ._json import FrozenDict
from ._log import NOTHING, View
from ._usage import Usage

NO_FIELDS: FrozenDict[str, Any] = NO_DATA


class Ends:
    """Tasks of a step that have ended with an update, in the order of ending.

    A value, as a tuple is: adding one gives another, in constant time.
    """

    __slots__ = ("_view",)

    def __init__(self, view: View[NodeEnd] = NOTHING) -> None:
        self._view = view

    def plus(self, end: NodeEnd) -> "Ends":
        """These and one more."""
        view = self._view.append(end)
        view.log.note(self._view.size, (end.task_id,))
        return Ends(view)

    def has(self, task_id: str) -> bool:
        """Whether the task is among them."""
        return self._view.log.has(self._view.size, task_id)

    def __iter__(self) -> Iterator[NodeEnd]:
        return self._view.log.iterate(self._view.size)

    def __len__(self) -> int:
        return self._view.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ends):
            return NotImplemented
        return tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Ends{tuple(self)!r}"


NO_ENDS = Ends()


class GraphThread(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a thread is, and the values of its fields."""

    phase: ClassVar[Literal["idle"]] = "idle"

    fields: FrozenDict[str, Any] = NO_FIELDS
    status: ExecStatus = "ready"
    step: int = 0
    """Steps that the present run has taken."""
    node: str = START
    """The node that began or ended last."""
    tasks: tuple[NodeTask, ...] = ()
    """The step that runs, or that is next."""
    task_ids: frozenset[str] = frozenset()
    """Their ids."""
    done: Ends = NO_ENDS
    """Those of them that have ended with an update."""
    children: FrozenDict[str, str] = NO_FIELDS
    """Tasks of it to the State that holds their work."""
    joins: FrozenDict[str, Any] = NO_FIELDS
    """Nodes that wait for several others: to those that have run."""
    interrupts: tuple[Interrupt, ...] = ()
    """What waits for an answer."""
    answers: FrozenDict[str, Any] = NO_FIELDS
    """Answers that nodes of the step got."""
    passed: bool = False
    """Whether the pause before this step's nodes is behind it."""
    stopped: bool = False
    """Whether somebody outside stopped the run."""
    text: str = ""
    """What went wrong with the last run, if something did."""
    trim: Trim | None = None
    begin: int = 0
    """How many messages there were before the present run."""
    spent: Usage = NO_USAGE
    """What had been spent before the present run."""

    @property
    def can_go_on(self) -> bool:
        """Whether the last run stopped before its end."""
        return self.status not in ("ready", "completed")


NEW_THREAD = GraphThread()
