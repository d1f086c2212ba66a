"""AgentState: the values that the nodes of a graph share.

1. A field is set whole: checked against its type, then read-only. Nothing is changed
   in place, so a copy shares every value and costs the same at any size.
2. A state remembers what was assigned to it. The engine gives each node a copy and
   merges what the node assigned as if it had been returned.
3. `execution_meta` shows where the run is; only the helper methods change it.
"""

from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from ._declared import declare, fields_of
from ._exec_meta import ExecMeta, InterruptStatus
from ._fields import MISSING
from ._message import Message
from ._reducers import add_messages
from ._sealed import SealedList

WRITES = "__agent_writes__"
"""Where a state keeps what was assigned to it, by field."""

VIEW = "__agent_view__"
"""Where a node's copy keeps what makes its `context`, until it is first read."""

_SHORT = frozenset({"context", "execution_meta"})  # what repr does not write out


class AgentState:
    """The conversation, a summary of what was trimmed, and your own fields.

    Subclass it with annotations and defaults; `Annotated[T, reducer]` says how an
    update merges, where `reducer` is any callable of (left, right)::

        class MyState(AgentState):
            user_id: str = ""
            notes: Annotated[list[str], operator.add] = []

    Values are checked when they are set, and read-only from then on: changing one in
    place raises TypeError. To change a field, assign a new value. In a node that is
    the same as returning the value: it goes through the field's reducer.

    Args:
        values: Fields by name; the others start with their defaults.

    Raises:
        TypeError: There is no such field, one without a default is left out, or a
            value is not of its field's type; the error has the path of the fault.
        ValueError: A value is of its field's type and not allowed.
    """

    context: Annotated[list[Message], add_messages]
    """The conversation. In a node it is the trimmed view of it."""
    context_summary: str | None
    """What stands for the messages that a context manager took out of the view."""
    execution_meta: ExecMeta
    """Where the run is. Read it through the helper methods; it cannot be assigned."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        declare(cls, AgentState)

    def __init__(self, **values: Any) -> None:
        table = fields_of(type(self))
        name = type(self).__name__
        if unknown := [n for n in values if n not in table]:
            raise TypeError(f"{name} has no field {_listed(unknown)}; {_known(self)}")
        given = {n: table[n].check(value) for n, value in values.items()}
        fill(self, given)
        self.__dict__[WRITES] = given

    if not TYPE_CHECKING:  # checkers would take any name for a field

        def __getattr__(self, name: str) -> Any:
            if name == "context" and VIEW in self.__dict__:
                # The view is built when a node first reads it: few do in each step.
                seen = self.__dict__[VIEW]()
                sealed = seen if type(seen) is SealedList else SealedList(seen)
                self.__dict__[name] = sealed
                return sealed
            raise AttributeError(
                f"{type(self).__name__} has no field {name!r}; {_known(self)}",
                name=name,
                obj=self,
            )

    def __setattr__(self, name: str, value: object) -> None:
        field = fields_of(type(self)).get(name)
        if field is None:
            raise AttributeError(
                f"{type(self).__name__} has no field {name!r} to assign;"
                f" {_known(self)}, more can be declared in the class"
            )
        if name == "execution_meta":
            raise AttributeError(
                "execution_meta belongs to the runtime and cannot be assigned; use"
                " complete(), error(text) or another helper method"
            )
        checked = field.check(value)
        self.__dict__[name] = checked
        self.__dict__[WRITES][name] = checked

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name!r} cannot be deleted; assign another value")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, n) == getattr(other, n) for n in fields_of(type(self)))

    __hash__ = None  # type: ignore[assignment]  # it can be assigned to

    def __repr__(self) -> str:
        names = [n for n in fields_of(type(self)) if n not in _SHORT]
        shown = "".join(f", {name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}(context=<{len(self.context)} messages>{shown})"

    def __getstate__(self) -> dict[str, Any]:
        held = {name: getattr(self, name) for name in fields_of(type(self))}
        return {**held, WRITES: dict(self.__dict__[WRITES])}

    def is_running(self) -> bool:
        """Whether the run is in progress; of a state that never ran it is not."""
        return self.execution_meta.is_running()

    def is_interrupted(self) -> bool:
        """Whether the graph is paused at an interrupt."""
        return self.execution_meta.is_interrupted()

    def is_stopped_requested(self) -> bool:
        """Whether a stop was requested that has not taken place yet."""
        return self.execution_meta.is_stopped_requested()

    def advance_step(self) -> None:
        """Show one step more. The run's own count is not changed by it."""
        _set_meta(self, self.execution_meta.advance_step())

    def set_current_node(self, name: str) -> None:
        """Show another node as the current one. Where the run goes stays as it is.

        Raises:
            TypeError: `name` is not text; nothing changed.
        """
        _set_meta(self, self.execution_meta.set_current_node(name))

    def set_interrupt(
        self,
        node: str,
        reason: str | None = None,
        status: InterruptStatus = "interrupted_before",
        data: dict[str, Any] | None = None,
    ) -> None:
        """Show the run as paused at a node; see `ExecMeta.set_interrupt`.

        Raises:
            ValueError: `status` is not an interrupt status; nothing changed.
            TypeError: `node` or `reason` is not text, or `data` not JSON; nothing
                changed.
        """
        _set_meta(self, self.execution_meta.set_interrupt(node, reason, status, data))

    def clear_interrupt(self) -> None:
        """Show the run as running again.

        Raises:
            ValueError: It is not interrupted; nothing changed.
        """
        _set_meta(self, self.execution_meta.clear_interrupt())

    def complete(self) -> None:
        """Mark the run as completed: in a node, it ends after this step.

        Raises:
            ValueError: The run is interrupted or in error; nothing changed.
        """
        _set_meta(self, self.execution_meta.complete())

    def error(self, text: str) -> None:
        """Mark the run as failed: in a node, it ends with `text` as its error.

        Raises:
            TypeError: `text` is not text; nothing changed.
        """
        _set_meta(self, self.execution_meta.error(text))


def fill(state: AgentState, given: dict[str, Any]) -> None:
    """Give a new state its checked values, and the defaults of all other fields.

    Raises:
        TypeError: A field without a default is left out.
    """
    held = {n: field.default for n, field in fields_of(type(state)).items()} | given
    if missing := [name for name, value in held.items() if value is MISSING]:
        raise TypeError(
            f"{type(state).__name__} needs a value for {_listed(missing)}: give one,"
            " or a default in the class"
        )
    state.__dict__.update(held)
    state.__dict__[WRITES] = {}


def _set_meta(state: AgentState, meta: ExecMeta) -> None:
    state.__dict__["execution_meta"] = meta


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _known(state: AgentState) -> str:
    return f"its fields are {', '.join(fields_of(type(state)))}"
