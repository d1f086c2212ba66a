"""Where a graph run is: the part of an AgentState that belongs to the runtime.

1. An ExecMeta never changes; each method gives a new one, or raises.
2. It shows; it does not steer. The engine reads `status` of what a node leaves
   behind, and sets everything else itself.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import structs

from ._json import EMPTY_DICT, FrozenDict, freeze

START = "__start__"
"""Where a graph begins: the source of its first edges. No node, and no step."""

END = "__end__"
"""Where a graph ends: the target of its last edges."""

ExecStatus: TypeAlias = Literal[
    "ready", "running", "interrupted_before", "interrupted_after", "completed", "error"
]
InterruptStatus: TypeAlias = Literal["interrupted_before", "interrupted_after"]
StopStatus: TypeAlias = Literal["none", "stop_requested", "stopped"]

_STATUSES = frozenset(get_args(ExecStatus))
_INTERRUPTS = frozenset(get_args(InterruptStatus))
_STOPS = frozenset(get_args(StopStatus))


class ExecMeta(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Where a graph run is, what it waits for, and whether it should stop.

    Raises:
        ValueError: `status` or `stop_current_execution` is not one of its words.
        TypeError: `interrupt_data` or `internal_data` is not JSON.
    """

    current_node: str = START
    """The node that runs or ran last."""
    step: int = 0
    """How many steps the run has taken."""
    status: ExecStatus = "ready"
    """`ready` until a run begins."""
    interrupted_node: str | None = None
    """The node that the run paused at."""
    interrupt_reason: str | None = None
    """Why it paused, for people."""
    interrupt_data: Mapping[str, Any] | None = None
    """Why it paused, for programs."""
    thread_id: str | None = None
    """The State that this run belongs to."""
    stop_current_execution: StopStatus = "none"
    """Whether somebody outside asked this run to stop, and whether it has."""
    internal_data: Mapping[str, Any] = EMPTY_DICT
    """The runtime's own notes; `error` holds the text given to `error`."""

    def __post_init__(self) -> None:
        _one_of("status", self.status, _STATUSES)
        _one_of("stop_current_execution", self.stop_current_execution, _STOPS)
        for name in ("interrupt_data", "internal_data"):
            value = getattr(self, name)
            if value is not None and type(value) is not FrozenDict:
                structs.force_setattr(self, name, _frozen(name, value))

    def is_running(self) -> bool:
        """Whether the run is in progress; a run that never began is not."""
        return self.status == "running"

    def is_interrupted(self) -> bool:
        """Whether the run is paused before or after a node."""
        return self.status in _INTERRUPTS

    def is_stopped_requested(self) -> bool:
        """Whether a stop was requested that has not taken place yet."""
        return self.stop_current_execution == "stop_requested"

    def advance_step(self) -> "ExecMeta":
        """One step further."""
        return structs.replace(self, step=self.step + 1)

    def set_current_node(self, name: str) -> "ExecMeta":
        """At another node.

        Raises:
            TypeError: `name` is not text.
        """
        return structs.replace(self, current_node=_text("the node", name))

    def set_interrupt(
        self,
        node: str,
        reason: str | None = None,
        status: InterruptStatus = "interrupted_before",
        data: Mapping[str, Any] | None = None,
    ) -> "ExecMeta":
        """Paused at a node.

        Args:
            node: where the run paused.
            reason: why, for people.
            status: whether it paused before the node ran or after.
            data: why, for programs; JSON.

        Raises:
            ValueError: `status` is not one of the two.
            TypeError: `node` or `reason` is not text, or `data` is not JSON.
        """
        _one_of("the status of an interrupt", status, _INTERRUPTS)
        return structs.replace(
            self,
            status=status,
            interrupted_node=_text("the node", node),
            interrupt_reason=None if reason is None else _text("the reason", reason),
            interrupt_data=None if data is None else _frozen("interrupt_data", data),
        )

    def clear_interrupt(self) -> "ExecMeta":
        """Running again after an interrupt.

        Raises:
            ValueError: the run is not interrupted.
        """
        if not self.is_interrupted():
            raise ValueError(f"no interrupt to clear: the status is {self.status!r}")
        return structs.replace(
            self,
            status="running",
            interrupted_node=None,
            interrupt_reason=None,
            interrupt_data=None,
        )

    def complete(self) -> "ExecMeta":
        """Completed; once more changes nothing.

        Raises:
            ValueError: the run is interrupted (clear that first) or in error.
        """
        if self.is_interrupted():
            raise ValueError(
                f"cannot complete while interrupted at {self.interrupted_node!r};"
                " call clear_interrupt() first"
            )
        if self.status == "error":
            raise ValueError(
                f"cannot complete after error({self.error_text!r}); start a new run"
            )
        return structs.replace(self, status="completed")

    def error(self, text: str) -> "ExecMeta":
        """Failed, for the reason that `text` gives.

        Raises:
            TypeError: `text` is not text.
        """
        data = freeze({**self.internal_data, "error": _text("the error", text)})
        return structs.replace(self, status="error", internal_data=data)

    @property
    def error_text(self) -> str | None:
        """What was given to `error`, or None when the run is not in error."""
        return self.internal_data.get("error") if self.status == "error" else None


ExecutionState = ExecMeta


def _one_of(what: str, word: object, words: frozenset[str]) -> None:
    if not isinstance(word, str) or word not in words:
        raise ValueError(f"{what} cannot be {word!r}: use one of {sorted(words)}")


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text, not {value!r}")
    return value


def _frozen(what: str, value: Any) -> Any:
    if not issubclass(type(value), Mapping):
        raise TypeError(f"{what} must be a dict of JSON values, not {value!r}")
    return freeze(dict(value), what)
