"""Between the typed state that nodes see and the JSON form that history keeps.

1. An update is read back from its recorded form before it is merged, live and loaded
   alike: a reducer sees the same in every process.
2. What has no JSON form that can be read back is refused where a node returns it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ._agent_state import AgentState
from ._declared import fields_of
from ._entry import NO_DATA
from ._exec_meta import ExecMeta
from ._fields import Field
from ._graph_entries import GraphUpdate, Interrupt
from ._graph_fold import view_of
from ._graph_value import GraphThread
from ._json import FrozenDict, freeze
from ._message import Message
from ._reducers import MessageIndex, add_messages
from ._shape import recorded_messages, update_to_json
from ._state_updates import Merged, Origin, check_update, copy_with
from ._value import Value

StateT = TypeVar("StateT", bound=AgentState)


def record_update(
    kind: type[AgentState], update: Mapping[str, Any], origin: Origin
) -> GraphUpdate:
    """An update in the form that history keeps.

    Raises:
        TypeError: a value has no JSON form, or is not of its field's type.
        ValueError: it names fields that its origin may not write, or a value of the
            right type is not allowed.
    """
    check_update(kind, update, origin)
    table = fields_of(kind)
    messages: tuple[Message, ...] | None = None
    fields: dict[str, Any] = {}
    for name, value in update.items():
        if name == "context":
            messages = tuple(recorded_messages(value, "context"))
        else:
            fields[name] = _recorded(table[name], value)
    kept = FrozenDict(fields) if fields else NO_DATA
    return GraphUpdate(fields=kept, messages=messages)


def _recorded(field: Field, value: Any) -> Any:
    if field.reducer is None:
        return field.to_json(field.check(value))
    if field.shape.kind == "json":
        return freeze(value, field.name)
    return update_to_json(value, field.name)


def read_update(
    kind: type[AgentState], update: GraphUpdate, *, fields_only: bool = False
) -> dict[str, Any]:
    """The update that `record_update` made this of, with its fields' types."""
    table = fields_of(kind)
    read = {
        name: _read(table[name], data)
        for name, data in update.fields.items()
        if name in table
    }
    if update.messages is not None and not fields_only:
        read["context"] = list(update.messages)
    return read


def _read(field: Field, data: Any) -> Any:
    try:
        return field.from_json(data)
    except (TypeError, ValueError):
        return data  # an update of another type than its field: the reducer's matter


def fields_json(state: AgentState, names: Iterable[str]) -> FrozenDict[str, Any]:
    """These fields of a state in JSON form."""
    table = fields_of(type(state))
    return FrozenDict({n: table[n].to_json(getattr(state, n)) for n in names})


def own_fields(kind: type[AgentState]) -> list[str]:
    """The fields that a thread keeps beside its context."""
    table = fields_of(kind)
    return [n for n in table if n not in ("context", "execution_meta")]


def state_of(initial: StateT, value: Value) -> StateT:
    """The state that a thread's fields mean; its context is left to a view.

    Fields that the class has lost since are left out, new ones are as in ``initial``.

    Raises:
        TypeError, ValueError: a field's type cannot read its value any more.
    """
    table = fields_of(type(initial))
    thread = value.open
    assert type(thread) is GraphThread, "the State is the thread of a graph"
    kept = thread.fields
    read = {n: table[n].from_json(kept[n]) for n in kept if n in table}
    return copy_with(initial, read)


def appends(kind: type[AgentState]) -> bool:
    """Whether context only grows, so that a step costs what it adds."""
    return fields_of(kind)["context"].reducer is add_messages


class ContextIndex(MessageIndex):
    """The ids of a value's context, which its log knows: nothing is walked."""

    __slots__ = ("_value",)

    def __init__(self, value: Value) -> None:
        super().__init__()
        self._value = value

    def __contains__(self, message_id: str | int) -> bool:
        return self._value.messages.has(self._value.count, message_id)


def changed_json(
    kind: type[AgentState], merged: Merged
) -> tuple[FrozenDict[str, Any], tuple[Message, ...] | None]:
    """What a merge changed, as history keeps it: fields, and a replaced context."""
    table = fields_of(kind)
    values = merged.values
    fields = {n: table[n].to_json(values[n]) for n in values if n != "context"}
    context = tuple(values["context"]) if "context" in values else None
    return FrozenDict(fields) if fields else NO_DATA, context


def context_view(value: Value) -> list[Message]:
    """What nodes see of the context."""
    thread = value.open
    if type(thread) is GraphThread and thread.trim is not None:
        return [message for _, message in view_of(value)]
    return list(value.messages.iterate(value.count))


def meta_of(thread: GraphThread, thread_id: str) -> ExecMeta:
    """Where a thread is, as nodes and callers are shown it."""
    interrupts: Sequence[Interrupt] = thread.interrupts
    first = interrupts[0] if interrupts else None
    return ExecMeta(
        current_node=thread.node,
        step=thread.step,
        status=thread.status,
        interrupted_node=None if first is None else first.node,
        interrupt_data=None if first is None else _data_of(interrupts),
        thread_id=thread_id,
        stop_current_execution="stopped" if thread.stopped else "none",
        internal_data=FrozenDict({"error": thread.text}) if thread.text else NO_DATA,
    )


def _data_of(interrupts: Sequence[Interrupt]) -> FrozenDict[str, Any]:
    return FrozenDict({each.id: each.value for each in interrupts})
