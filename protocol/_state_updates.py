"""How updates change a state: the engine's side of AgentState, all of it pure.

1. A step reads one state and makes one new state; nothing changes the old one, so
   whatever raises leaves everything as it was.
2. Every update of a field goes through its reducer, from wherever it comes, in the
   order given. Two updates of a field that has none are an error.
3. Context under `add_messages` is merged by its index of ids, at the cost of the
   update; it is never walked.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

import attrs

from ._agent_state import VIEW, WRITES, AgentState, fill
from ._declared import fields_of
from ._errors import NodeError
from ._exec_meta import ExecMeta
from ._fields import Field
from ._json import FrozenDict, freeze
from ._message import Message
from ._reducers import MessageIndex, add_messages
from ._sealed import SealedList
from ._shape import recorded_messages

StateT = TypeVar("StateT", bound=AgentState)

Origin = Literal["node", "outside"]
"""Who updates: a node may write `context` and its summary; the `state` key of the
input and a ToolResult may not."""


def copy_for_node(
    state: StateT,
    meta: ExecMeta,
    view: Callable[[], Iterable[Message]] | None = None,
) -> StateT:
    """The copy that a node works on: its writes are its own, and are remembered.

    Args:
        state: The values from before the step.
        meta: What the node sees as `execution_meta`.
        view: Makes the messages that it sees as `context`, when it first reads them;
            None shows the state's own.
    """
    copied = copy_with(state, {"execution_meta": meta})
    if view is not None:
        copied.__dict__.pop("context", None)
        copied.__dict__[VIEW] = view
    return copied


def copy_with(state: StateT, values: Mapping[str, Any]) -> StateT:
    """A copy with some values replaced, and no writes; it shares all the others.

    The values must be what `Field.check` or `Field.merge` returned: they are not
    checked again.
    """
    copied = object.__new__(type(state))
    copied.__dict__.update(state.__dict__)
    copied.__dict__.update(values)
    copied.__dict__[WRITES] = {}
    return copied


def writes_of(copied: AgentState, returned: AgentState | None = None) -> dict[str, Any]:
    """What a node wrote by assigning, as the update it would be if returned.

    Args:
        copied: The copy that the node worked on.
        returned: The state it returned, if it did: of another one than its copy, the
            fields count that were given or assigned and differ from the copy's.
    """
    writes = dict(copied.__dict__[WRITES])
    if returned is not None and returned is not copied:
        writes |= {
            name: value
            for name, value in returned.__dict__[WRITES].items()
            if name != "execution_meta" and value != getattr(copied, name)
        }
    return writes


def check_update(kind: type[AgentState], update: Any, origin: Origin) -> None:
    """Check that an update only names fields that its origin may write.

    Raises:
        TypeError: It is no dict.
        ValueError: It names other fields; the error names them all.
    """
    if not issubclass(update.__class__, Mapping):
        raise TypeError(
            f"an update must be a dict of fields of {kind.__name__}, got {update!r}"
        )
    table = fields_of(kind)
    names = list(update)
    if unknown := [n for n in names if n not in table]:
        raise ValueError(
            f"{kind.__name__} has no field {_listed(unknown)}:"
            f" its fields are {', '.join(table)}"
        )
    kept = (
        {"execution_meta"} if origin == "node" else {n for n in table if table[n].core}
    )
    if refused := [n for n in names if n in kept]:
        raise ValueError(
            f"{_listed(refused)} cannot be updated from here:"
            " it belongs to the runtime; leave it out"
        )


@attrs.frozen
class Merged:
    """What updates make of a state: the changes alone, valid and read-only."""

    values: Mapping[str, Any]
    """New values of the fields that were updated."""
    added: Sequence[Message] = ()
    """Messages that `add_messages` appends to `context`, which is then no part of
    ``values``."""

    def of(self, state: StateT) -> StateT:
        """The state with these changes; copies the context if messages were added."""
        values = dict(self.values)
        if self.added:
            values["context"] = SealedList([*state.context, *self.added])
        return copy_with(state, values)


def merge_update(
    state: AgentState,
    update: Mapping[str, Any],
    origin: Origin,
    index: MessageIndex | None = None,
) -> Merged:
    """Merge one update into a state.

    Args:
        state: The values before; it stays as it is.
        update: Fields to their updates.
        origin: Who updates.
        index: The ids of the state's context, if the caller keeps them; it stays as
            it is, and gets the added messages from the caller.

    Raises:
        TypeError: As `check_update` and `Field.merge`.
        ValueError: The same.
    """
    merge = _Merge(state, index)
    check_update(type(state), update, origin)
    for name, value in update.items():
        merge.take(name, value)
    return merge.done()


def merge_step(
    state: AgentState,
    updates: Iterable[tuple[str, Mapping[str, Any] | Sequence[Mapping[str, Any]]]],
    index: MessageIndex | None = None,
) -> Merged:
    """Merge the updates of a step's nodes, in the order given.

    Args:
        state: The values before the step; it stays as it is.
        updates: Each node's name and its update, in declared order; or its updates,
            which follow each other and do not compete.
        index: As in `merge_update`.

    Raises:
        NodeError: An update cannot be merged, or two nodes wrote a field that has no
            reducer; it names the nodes and the field.
    """
    merge = _Merge(state, index)
    writers: dict[str, tuple[int, str]] = {}
    for writer, (node, given) in enumerate(updates):
        several = issubclass(type(given), list | tuple)
        for update in cast("Sequence[Any]", given if several else (given,)):
            _take_all(merge, update, (writer, node), writers)
    return merge.done()


def _take_all(
    merge: "_Merge",
    update: Mapping[str, Any],
    writer: tuple[int, str],
    writers: dict[str, tuple[int, str]],
) -> None:
    """Merge one update of a step; ``writers`` knows who wrote each field before."""
    node = writer[1]
    try:
        check_update(merge.kind, update, "node")
    except (TypeError, ValueError) as error:
        raise NodeError(node, str(error)) from error
    for name, value in update.items():
        before = writers.setdefault(name, writer)
        if before != writer and not merge.has_reducer(name):
            raise NodeError(
                node,
                f"node {before[1]!r} wrote it in the same step; give it a reducer,"
                " Annotated[T, reducer], or let one of them write it",
                name,
            )
        try:
            merge.take(name, value)
        except (TypeError, ValueError) as error:
            raise NodeError(node, str(error), name) from error


class _Merge:
    """What has been merged so far. One pass: an error abandons it."""

    def __init__(self, state: AgentState, index: MessageIndex | None) -> None:
        self._state = state
        self.kind = type(state)
        self._table: Mapping[str, Field] = fields_of(type(state))
        self._index = index
        self._new = MessageIndex()
        self._added: list[Message] = []
        self._values: dict[str, Any] = {}

    def has_reducer(self, name: str) -> bool:
        return self._table[name].reducer is not None

    def take(self, name: str, update: Any) -> None:
        field = self._table[name]
        if name == "context" and field.reducer is add_messages:
            self._append(update)
            return
        values = self._values
        held = values[name] if name in values else getattr(self._state, name)
        values[name] = field.merge(held, update)

    def _append(self, update: Any) -> None:
        if self._index is None:
            self._index = MessageIndex(self._state.context)
        fresh = self._new.fresh(self._index.fresh(update))
        start = len(self._added)
        self._added += recorded_messages(fresh, "context")
        self._new.add(self._added[start:])

    def done(self) -> Merged:
        return Merged(self._values, tuple(self._added))


def state_to_json(state: AgentState) -> FrozenDict[str, Any]:
    """Every field as frozen JSON, for a record of the whole state."""
    table = fields_of(type(state))
    held = {n: f.to_json(getattr(state, n)) for n, f in table.items()}
    frozen: FrozenDict[str, Any] = freeze(held)
    return frozen


def state_from_json(kind: type[StateT], data: Mapping[str, Any]) -> StateT:
    """The state that `state_to_json` made this of, without writes.

    Fields that the class has lost since are left out, new ones start with their
    defaults.

    Raises:
        TypeError: A field's type cannot read its value any more, or a new field has no
            default.
        ValueError: A field's type does not allow its value any more.
    """
    table = fields_of(kind)
    read = {n: f.from_json(data[n]) for n, f in table.items() if n in data}
    state = object.__new__(kind)
    fill(state, read)
    return state


def _listed(names: Iterable[object]) -> str:
    return ", ".join(repr(name) for name in names)
