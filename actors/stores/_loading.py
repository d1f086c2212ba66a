"""From a record to a State, and the tie between a State and its store."""

from contextlib import suppress
from typing import TypeGuard

from actors._family import Family, Library, Origin
from actors._state import State, _fill
from protocol import HistoryEntry, StoreDamaged, UnknownEntry
from protocol._codec import decode_entry
from protocol._fold import replay
from protocol._lazy import rest_in, value_from_rest
from protocol._value import Value

from ._binding import ENTRIES_INLINE_MAX
from ._record import Record


def is_long(record: Record | None) -> TypeGuard[Record]:
    """Whether a task should leave the decoding of this to a worker thread."""
    if record is None or "rest" in record.info:
        return False
    return len(record.entries) > ENTRIES_INLINE_MAX


def state_of(library: Library, state_id: str, record: Record | None) -> State:
    """The State with this record, bound to the store it comes from.

    Raises:
        LookupError: there is no record.
        StoreDamaged: an entry cannot be decoded, or cannot follow those before it.
        ValueError: an entry is of a kind that this version does not know.
    """
    if record is None:
        raise LookupError(
            f"the store has no State {state_id!r}: store.list() shows those it has"
        )
    value = value_of(state_id, record)
    origin = record.info.get("forked_from")
    family = Family({}, library, None if origin is None else Origin(*origin))
    state = State.__new__(State)
    _fill(state, state_id, value, family)
    return state


def value_of(state_id: str, record: Record) -> Value:
    """What the entries of a record mean; of a long one most stay as bytes for now."""
    rest = rest_in(record.info.get("rest"))
    if rest is not None:
        # Whatever is wrong with it is told below, where the place is known.
        with suppress(StoreDamaged, ValueError):
            value = value_from_rest(rest, record.entries)
            if value is not None:
                return value
    entries: list[HistoryEntry] = []
    for index, body in enumerate(record.entries):
        try:
            entry = decode_entry(body)
        except StoreDamaged as damage:
            raise StoreDamaged(
                f"State {state_id!r} is damaged at entry {index}: {damage}"
            ) from damage
        if isinstance(entry, UnknownEntry):
            raise ValueError(  # noqa: TRY004 - of the right type, its kind is not
                f"State {state_id!r} has an entry {index} of kind {entry.kind!r}, "
                f"which this version does not know: load it with the version that "
                f"wrote it, or a newer one"
            )
        entries.append(entry)
    try:
        return replay(entries)
    except ValueError as fault:
        raise StoreDamaged(
            f"State {state_id!r} is damaged: {fault}; salvage what stands before it"
        ) from fault


def bind(state: State, library: Library) -> None:
    """Let the State open its children from this store, unless it has one already."""
    family = state._family
    if family is not None and family.library is not None:
        return
    with state._mailbox.lock:
        if state._family is None:
            object.__setattr__(state, "_family", Family({}, library))
        elif state._family.library is None:
            state._family.library = library
