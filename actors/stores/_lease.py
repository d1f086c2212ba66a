"""Who may write a State: one live copy of it, in one process, at a time.

1. Each live copy has a lease: its own name (``writer``), which no other copy ever has,
   and an epoch, one more than that of the copy whose record it was loaded from.
2. A write is admitted from the writer whose lease the store holds, and from one that
   names that writer as the one it comes ``after``: this takes the State over.
3. A write names the number of entries it expects; with another number it is refused.

Loading takes no lease, the first write does, and it never waits for the other copy:
that one's next write is refused, however long it was asleep in between.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from protocol import StoreConflict
from protocol._ids import new_id


@attrs.frozen
class Lease:
    """What a live copy writes under."""

    epoch: int
    """1 for the copy that made the State, one more for each that took it over."""
    writer: str
    """The copy's own name."""
    after: str | None
    """The writer this copy takes over from; None for a new State."""

    def as_info(self) -> dict[str, Any]:
        """The lease as it stands in the info of a write."""
        return {"epoch": self.epoch, "writer": self.writer, "after": self.after}


def new_lease() -> Lease:
    """The lease of a State that no store has yet."""
    return Lease(1, new_id(), None)


def next_lease(info: Mapping[str, Any]) -> Lease:
    """The lease of a copy that was loaded with this info."""
    return Lease(info.get("epoch", 0) + 1, new_id(), info.get("writer"))


def refuse_conflict(
    state_id: str,
    stored: Mapping[str, Any] | None,
    entries: int,
    info: Mapping[str, Any],
    expected: int,
) -> None:
    """Refuse a write that another writer has come before.

    A store calls this inside the step that appends, so that nobody can come between.

    Args:
        state_id: The State to be written.
        stored: The info that the store holds, None when it has no such State.
        entries: How many entries it holds.
        info: The info of the write.
        expected: How many entries the writer says there are.

    Raises:
        StoreConflict: the write must not be done.
    """
    if stored is None:
        if expected or info.get("after") is not None:
            raise StoreConflict(
                f"cannot append to State {state_id!r}: it is no longer in the store"
            )
        return
    if stored.get("writer") not in {info.get("writer"), info.get("after")}:
        if expected == 0 < entries:
            raise StoreConflict(
                f"cannot begin State {state_id!r}: the store has one of this id "
                f"already, with {entries} entries; load it to go on with it, or give "
                f"the new one another id"
            )
        raise StoreConflict(
            f"cannot append to State {state_id!r} at entry {expected}: another live "
            f"copy of it is the writer now (epoch {stored.get('epoch')!r}, "
            f"{entries} entries); load it again to go on from there"
        )
    if entries != expected:
        raise StoreConflict(
            f"cannot append to State {state_id!r} at entry {expected}: the store has "
            f"{entries} entries; load it again to go on from there"
        )
