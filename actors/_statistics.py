"""What a State looks like as an actor, and what a supervisor looks like."""

import attrs

from protocol._value import PhaseName


@attrs.frozen(kw_only=True)
class StateStatistics:
    """A picture of a State as an actor."""

    entries: int
    """Entries in its history."""
    messages: int
    """Messages the model sees."""
    held: int
    """Messages that go in when the phase ends."""
    waiting: int
    """Thinks that stand in the mailbox."""
    outside: int
    """Senders of further thinks, who wait for room in it."""
    phase: PhaseName
    """``idle``, ``thinking`` or ``calling``."""
    compacting: bool
    """Whether a compaction is under way."""
    closed: bool
    """Whether it takes no more entries."""


@attrs.frozen(kw_only=True)
class Unstopped:
    """Something that did not stop within its grace, or a thread that works on."""

    path: tuple[str, ...]
    """Ids from the root's State down to the State, or the call."""
    call_id: str | None
    """The call, when it is one."""
    reason: str | None
    """Why it was asked to stop."""


@attrs.frozen(kw_only=True)
class SupervisorStatistics:
    """A frozen picture of a supervisor."""

    runs: int
    """Runs in the tree now."""
    calls: int
    """Calls in the tree now."""
    waiting: int
    """Runs that wait for a place (``max_running``)."""
    started: int
    """Runs and calls started so far."""
    threads: int
    """Worker threads in use, those included that nobody waits for any more."""
    unstopped: tuple[Unstopped, ...]
    """What did not stop in time, so far."""
