"""Saving what can be read of a damaged State, into another store.

The damaged State stays as it is. What is kept is a beginning of its history: an entry
means nothing without those before it.
"""

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Any, Protocol, TypeGuard

import attrs

from actors._family import Family, Origin
from actors._state import State
from protocol import HistoryEntry, StoreDamaged, UnknownEntry
from protocol._codec import decode_entry
from protocol._fold import fold
from protocol._records import CHAIN_START, scan
from protocol._value import NOTHING_RECORDED

from ._body import unpack
from ._record import Info
from ._store import Store

_HEADER = Struct("<xII")
"""Of a record's header the length of its body and its link; see `protocol._records`."""


@attrs.frozen
class Remains:
    """What is left of a State, as a store finds it."""

    records: Sequence[bytes]
    """The bodies of the records in front of the damage."""
    lost_records: int
    """Whole records behind it."""
    info: Info
    """The info, as far as it is readable."""


class Rescuer(Protocol):
    """A store that can look at what is left of a State."""

    def remains(self, state_id: str) -> Remains | None:
        """What is left; None when there is no such State."""
        ...


@attrs.frozen
class Salvaged:
    """What was saved of a State."""

    id: str
    entries: int
    """How many entries were kept."""
    lost_entries: int
    """Entries that can be read, but not where they belong: they cannot follow."""
    lost_records: int
    """Whole records behind the damage; each held the entries of one save."""


def can_rescue(store: object) -> TypeGuard[Rescuer]:
    """Whether the store can look at what is left of a State."""
    return hasattr(store, "remains")


def salvage(store: Store, state_id: str, into: Store) -> Salvaged:
    """Save the beginning of a State that can still be read, under its id.

    A State without damage is copied whole.

    Args:
        store: Where the damaged State is; it is only read.
        state_id: The State.
        into: Where to save it; it must not have a State of this id.

    Raises:
        LookupError: the store has no such State, or nothing of it can be read.
        StoreConflict: ``into`` has a State of this id.
        TypeError: the store cannot look at what is damaged.
        ValueError: ``into`` is the store itself.
    """
    is_same = into is store
    if not can_rescue(store):
        raise TypeError(
            f"{type(store).__name__} cannot look at what is left of a State: it has "
            f"no 'remains'"
        )
    if is_same:
        raise ValueError(
            f"cannot salvage State {state_id!r} into the store that has it: what is "
            f"damaged stays as it is; name another store"
        )
    left = store.remains(state_id)
    if left is None:
        raise LookupError(f"the store has no State {state_id!r}")
    bodies, broken = _entries(left.records)
    kept = _beginning(bodies)
    if not kept and (bodies or left.lost_records or broken):
        raise LookupError(f"nothing of State {state_id!r} can be read")
    state = State(id=state_id, history=kept)
    origin = left.info.get("forked_from")
    if origin is not None:
        family = Family({}, None, Origin(*origin))
        object.__setattr__(state, "_family", family)
    into.save(state)
    return Salvaged(
        state_id, len(kept), len(bodies) - len(kept), left.lost_records + broken
    )


def _entries(records: Sequence[bytes]) -> tuple[list[bytes], int]:
    """The entries of the records up to one that cannot be read, and how many follow."""
    found: list[bytes] = []
    for number, record in enumerate(records):
        try:
            found += unpack([record])[1]
        except StoreDamaged:
            return found, len(records) - number
    return found, 0


def _beginning(bodies: Iterable[bytes]) -> list[HistoryEntry]:
    """The entries up to one that cannot be decoded, or cannot follow."""
    kept: list[HistoryEntry] = []
    value = NOTHING_RECORDED
    for body in bodies:
        try:
            entry = decode_entry(body)
            if isinstance(entry, UnknownEntry):
                return kept
            value = fold(value, entry)
        except (StoreDamaged, ValueError):
            return kept
        kept.append(entry)
    return kept


def remains_of(data: bytes, first_checksum: int, info: dict[str, Any]) -> Remains:
    """What is left of a log that was damaged somewhere.

    Args:
        data: The log.
        first_checksum: What its first record is chained to.
        info: The info, as far as it is readable.
    """
    found = scan(data, first_checksum)
    return Remains(found.records, _whole_records(data, found.end), info)


def _whole_records(data: bytes, begin: int) -> int:
    """How many whole records stand behind this place, wherever they belong."""
    count = 0
    found = scan(data[begin:], CHAIN_START, begin)
    while found.follows is not None:
        # A record names in its header what it is chained to.
        length, link = _HEADER.unpack_from(data, found.follows)
        found = scan(data[found.follows :], length ^ link, found.follows)
        count += len(found.records)
    return count
