"""What a State looks like as an actor."""

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
