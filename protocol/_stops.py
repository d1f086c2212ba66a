"""Why a run stops, and how a call ended.

1. A stop is a value in the history; nothing stops because an object was lost.
2. Every call ends with exactly one outcome.
"""

from typing import Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from ._content import ToolCallBlock
from ._json import freeze

ToolOutcomeKind: TypeAlias = Literal[
    "done", "error", "input_error", "denied", "cancelled", "interrupted", "aborted"
]
"""How a call ended.

``done`` the tool returned; ``error`` it raised or timed out; ``input_error`` its
name or arguments were unusable; ``denied`` a permission said no; ``cancelled`` a
supervisor, a policy, a permission or a fork ended it while its run went on;
``interrupted`` its run was cancelled; ``aborted`` an exception left the run, or the
outcome is unknown after a crash.
"""


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something a call of a run waits for a person to answer."""

    id: str
    """Unique among all questions; an answer names it."""
    state_id: str
    """The State whose call asks."""
    path: tuple[str, ...] = ()
    """Ids from the root's State down to ``state_id``."""
    call: ToolCallBlock | None = None
    """The call that asks, or None when the run itself asks."""
    prompt: str
    """The question, in words for a person."""
    returns: Any = None
    """The JSON schema an answer must fit, or None for any text."""

    def __post_init__(self) -> None:
        if self.returns is not None:
            force_setattr(self, "returns", freeze(self.returns, "returns"))


class _Stop(msgspec.Struct, frozen=True, tag_field="stop", gc=False):
    """What all reasons to stop have in common: a frozen tagged value."""


class StoppedByFinish(_Stop, frozen=True, tag="finish"):
    """``state.finish(answer)`` was called."""

    kind: ClassVar[Literal["finish"]] = "finish"
    answer: Any = None
    """The answer in JSON form, or None."""

    def __post_init__(self) -> None:
        if self.answer is not None:
            force_setattr(self, "answer", freeze(self.answer, "answer"))


class StoppedByPermission(_Stop, frozen=True, tag="permission"):
    """A permission denied ``call`` and asked for the run to stop."""

    kind: ClassVar[Literal["permission"]] = "permission"
    call: ToolCallBlock
    """The call that was denied."""
    permission: str
    """The name of the permission that denied it."""


class StoppedByUntil(_Stop, frozen=True, tag="until"):
    """An ``until`` function of the loop returned true."""

    kind: ClassVar[Literal["until"]] = "until"
    name: str
    """The function's name."""


class StoppedByLimit(_Stop, frozen=True, tag="limit"):
    """The loop ran as many turns as it was allowed."""

    kind: ClassVar[Literal["limit"]] = "limit"
    turns: int
    """The loop's limit, in turns."""


class StoppedByBudget(_Stop, frozen=True, tag="budget"):
    """A limit of the tree was reached; this run owns that limit."""

    kind: ClassVar[Literal["budget"]] = "budget"
    limit: str
    """The name of the limit, such as ``requests``."""
    owner: str
    """The id of the State, or the name of the scope, that owns the limit."""


class StoppedByQuestion(_Stop, frozen=True, tag="question"):
    """Calls wait for answers; the next run goes on from them."""

    kind: ClassVar[Literal["question"]] = "question"
    questions: tuple[Question, ...]
    """The questions that were open when the run returned."""


Stopped: TypeAlias = (
    StoppedByFinish
    | StoppedByPermission
    | StoppedByUntil
    | StoppedByLimit
    | StoppedByBudget
    | StoppedByQuestion
)
"""Any reason to stop; ``kind`` tells which, for people and type checkers."""
