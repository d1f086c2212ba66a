"""The part of a value that only the thread of a graph has.

1. It stands where a conversation has its open turn: a thread never has one, and a
   conversation pays nothing for it.
2. The context is the value's messages. Every other field is kept here in JSON form.
"""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Generic, Literal, TypeVar

import msgspec

from ._entry import NO_DATA, NO_USAGE
from ._exec_meta import START, ExecStatus
from ._graph_entries import Interrupt, NodeEnd, NodeTask, Trim
from ._json import FrozenDict
from ._log import NOTHING, View
from ._usage import Usage

T = TypeVar("T")

NO_FIELDS: FrozenDict[str, Any] = NO_DATA


class Named(Generic[T]):
    """Things by name, in the order in which they came.

    A value, as a tuple is: adding one gives another, in constant time unless the name
    is there already.
    """

    __slots__ = ("_view",)

    def __init__(self, view: View[tuple[str, T]] = NOTHING) -> None:
        self._view = view

    def plus(self, name: str, thing: T) -> "Named[T]":
        """These and one more; it takes the place of one of the same name."""
        view = self._view
        if view.log.has(view.size, name):
            others = [each for each in self.items() if each[0] != name]
            return Named[T].of([*others, (name, thing)])
        longer = view.append((name, thing))
        longer.log.note(view.size, (name,))
        return Named(longer)

    @classmethod
    def of(cls, items: Iterable[tuple[str, T]]) -> "Named[T]":
        """These things, by names that are all different."""
        found: Named[T] = cls()
        for name, thing in items:
            found = found.plus(name, thing)
        return found

    def get(self, name: str) -> T | None:
        """The thing of this name, or None."""
        view = self._view
        index = view.log.find(view.size, name)
        return None if index is None else view.log.at(index)[1]

    def items(self) -> Iterator[tuple[str, T]]:
        """All of them with their names."""
        return self._view.log.iterate(self._view.size)

    def __contains__(self, name: str) -> bool:
        return self._view.log.has(self._view.size, name)

    def __iter__(self) -> Iterator[T]:
        return (thing for _, thing in self.items())

    def __len__(self) -> int:
        return self._view.size

    def __eq__(self, other: Any) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return tuple(self.items()) == tuple(other.items())

    def __hash__(self) -> int:
        return hash(tuple(self.items()))

    def __repr__(self) -> str:
        return f"Named({dict(self.items())!r})"


NONE: Named[Any] = Named()


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
    done: Named[NodeEnd] = NONE
    """The ends, by task, of those of them that have ended with an update."""
    children: Named[str] = NONE
    """The States that hold their work, by task."""
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
