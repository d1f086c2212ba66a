"""What can go wrong, by name.

Misuse is a plain TypeError, ValueError, KeyError or LookupError. The classes here
tell the rest apart by whose fault it is and by whether trying again is safe.

1. An exception keeps its constructor's values as `args`, so that it survives
   pickling and copying; attributes are the same values by name.
2. Nothing here derives from BaseException alone: `except Exception` sees all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class ActorClosed(Exception):
    """The State was closed before it handled this command.

    Not handled: nothing was recorded. Trying again on the same State is safe
    and useless; use another State.
    """

    def __init__(self, message: str, reason: str | None = None) -> None:
        super().__init__(message, reason)
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[0])


class RunCancelled(Exception):
    """The run was cancelled; `reason` is what its canceller gave, or None.

    Raised to whoever waits for the run's answer. Its history is valid, so the
    State can be run again.
    """

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        if self.reason is None:
            return "the run was cancelled"
        return f"the run was cancelled: {self.reason}"


class ToolError(Exception):
    """Raised by a tool to tell the model, in words, that its call failed.

    The text becomes the call's result with outcome `error`; the run goes on.
    """


class ToolInputError(ToolError):
    """The arguments of a call cannot be used; the text says how to fix them.

    The text becomes the call's result with outcome `input_error`; the run goes
    on.
    """


class OutputError(Exception):
    """The model gave no answer of the type asked for, also after the retries."""


class CutOffError(Exception):
    """The output limit cut the model's reply off before it said anything.

    The request was taken back. Trying again is safe; raise the limit first.
    """


class NoHumanError(Exception):
    """Something asked a human, and the agent has none to ask."""


class PermissionWarning(UserWarning):
    """No permission said anything about a call, so it was denied."""


class ResumeWarning(UserWarning):
    """An agent goes on with a State that was saved under other settings.

    `changes` maps each setting that differs (`"model"`, `"tools"`, ...) to the
    pair of its recorded and its present value.
    """

    def __init__(self, changes: Mapping[str, tuple[object, object]]) -> None:
        super().__init__(changes)
        self.changes = changes

    def __str__(self) -> str:
        told = (f"{k} was {a!r}, is {b!r}" for k, (a, b) in self.changes.items())
        return "the State was recorded under other settings: " + "; ".join(told)


class ProviderError(Exception):
    """The model's provider refused or failed a request.

    The request was taken back. `transient` tells whether the same request may
    succeed later.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        transient: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status, or None when no response came."""
        self.retry_after_s = retry_after_s
        """Seconds that the provider asks to wait, or None."""
        self.transient = transient
        """Whether the same request may succeed later."""


class AuthError(ProviderError):
    """The provider does not accept the key, or the key may not do this."""


class RateLimitError(ProviderError):
    """The provider refuses more requests for now; `retry_after_s` says how long."""


class ContextTooLongError(ProviderError):
    """The request does not fit into the model's context; compact it first."""


class BudgetExceeded(Exception):
    """A limit that a run above this one owns has been reached.

    Not handled: the request, child or call that would have crossed it was not
    started. The run that owns the limit returns instead of raising.
    """

    def __init__(self, limit: str, owner: str) -> None:
        super().__init__(limit, owner)
        self.limit = limit
        """The name of the limit, such as `"requests"`."""
        self.owner = owner
        """The id of the State whose run owns it."""

    def __str__(self) -> str:
        return (
            f"the limit on {self.limit} that the run of {self.owner!r} owns is reached"
        )


class StoreConflict(Exception):
    """Another writer has written this State, or has taken it over.

    Conflict: nothing of this write was stored. Load the State again to go on.
    """


class StoreUnknown(Exception):
    """A write was not acknowledged, so it may or may not have been stored.

    Outcome unknown: trying again blindly is not safe; the store reads its log
    again and appends what is missing.
    """


class StoreDamaged(Exception):
    """What the store holds is not what was written; the text says where.

    Damaged: trying again does not help. The readable part can be salvaged.
    """


class GraphError(Exception):
    """A graph, or what one of its nodes returned, breaks a rule.

    Takes one text for each fault, so that all faults are reported at once.
    """

    def __init__(self, *faults: str) -> None:
        super().__init__(*faults)
        self.faults = faults

    def __str__(self) -> str:
        if len(self.faults) == 1:
            return self.faults[0]
        listed = "".join(f"\n- {fault}" for fault in self.faults)
        return f"{len(self.faults)} faults in this graph:{listed}"


class NodeError(GraphError):
    """What a node returned cannot be merged; names the node, and the field if any.

    The saved state is as it was before the step.
    """

    def __init__(self, node: str, problem: str, field: str | None = None) -> None:
        where = f"node {node!r}" if field is None else f"node {node!r}, field {field!r}"
        super().__init__(f"{where}: {problem}")
        self.args = (node, problem, field)
        self.node = node
        self.field = field


class GraphRecursionError(GraphError):
    """A run took `limit` steps, the most its config allows, without ending."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the graph did not end within {limit} steps; give its loop a way out,"
            ' or raise "recursion_limit" in the config'
        )
        self.args = (limit,)
        self.limit = limit
