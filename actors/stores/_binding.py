"""What a store knows of one live State, and the steps of saving it.

1. One writer at a time: whoever comes meanwhile waits, and finds its entries written.
2. A write that did not end with success or a conflict leaves the binding in doubt.
   Before the next write the record is read again, and only what is missing is written.
3. A copy that met a conflict has lost the State for good, and says so at every save.

The steps do nothing themselves: they yield what is to be done, so that plain code and
tasks run the same ones.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

import attrs
import msgspec

from actors._state import State
from protocol import HistoryEntry, StoreConflict, StoreUnknown
from protocol._codec import encode_entry
from protocol._value import Value

from ._info import Facts, facts_of, info_of
from ._lease import Lease, new_lease, next_lease
from ._record import Info, Record
from ._turns import Turn

ENTRIES_INLINE_MAX = 500
"""More entries than this are encoded and decoded in a worker thread, where a task
would hold up all others for milliseconds."""


class Write(msgspec.Struct, frozen=True):
    """Append these entries."""

    state_id: str
    entries: Sequence[bytes]
    info: Info
    expected: int


class Read(msgspec.Struct, frozen=True):
    """Read the record; the answer is the record or None."""

    state_id: str


class Wait(msgspec.Struct, frozen=True):
    """Wait until this turn was given back."""

    turn: Turn


class Work(msgspec.Struct, frozen=True):
    """Do this, which takes long; the answer is what it returns."""

    fn: Callable[[], Any]


Step: TypeAlias = Write | Read | Wait | Work
Steps: TypeAlias = Generator[Step, Any, None]


@attrs.define(eq=False)
class Binding:
    """What a store knows of one live State."""

    lease: Lease
    facts: Facts
    saved: int = 0
    """How many of its entries the store has."""
    known: bool = False
    """Whether the store has the State at all: one without entries can be saved."""
    doubt: bool = False
    """Whether the last write's outcome is unknown."""
    lost: str | None = None
    """Why this copy may not write any more."""
    turn: Turn = attrs.field(factory=Turn)

    def covers(self, size: int) -> bool:
        """Whether the store is known to have the first ``size`` entries."""
        return self.known and self.saved >= size and not self.doubt


def binding_of_new(state: State) -> Binding:
    """The binding of a State that the store has not seen."""
    family = state._family
    origin = None if family is None else family.origin
    return Binding(new_lease(), Facts(origin=origin))


def binding_of_loaded(info: Info, value: Value) -> Binding:
    """The binding of a State that was loaded with this info and value."""
    facts = facts_of(info, value)
    return Binding(next_lease(info), facts, saved=value.size, known=True)


def saving(state: State, binding: Binding) -> Steps:
    """The steps after which the store has all that the State has now.

    Raises:
        StoreConflict: another copy is the writer; nothing was stored.
        StoreUnknown: what became of the write cannot be found out.
    """
    wanted = state._mailbox.value.size
    while not binding.covers(wanted):
        if not binding.turn.take():
            yield Wait(binding.turn)
            continue
        try:
            if not binding.covers(wanted):
                yield from _write_missing(state, binding)
        finally:
            binding.turn.give_back()


def _write_missing(state: State, binding: Binding) -> Steps:
    """Write once; when the outcome is unknown find it out, and write once more."""
    try:
        yield from _write_once(state, binding)
    except StoreUnknown as unknown:
        try:
            yield from _write_once(state, binding)
        except OSError as fault:
            raise unknown from fault


def _write_once(state: State, binding: Binding) -> Steps:
    if binding.lost is not None:
        raise StoreConflict(binding.lost)
    if binding.doubt:
        record: Record | None = yield Read(state.id)
        _settle(state.id, binding, record)
    value = state._mailbox.value
    if binding.covers(value.size):
        return
    entries = value.history.read(value.size, binding.saved)
    if len(entries) > ENTRIES_INLINE_MAX:
        encoded = yield Work(lambda: _encode(entries))
    else:
        encoded = _encode(entries)
    binding.doubt = True
    try:
        yield Write(state.id, encoded, _info(binding, value), binding.saved)
    except StoreConflict as conflict:
        binding.lost = str(conflict)
        raise
    binding.doubt, binding.known, binding.saved = False, True, value.size


def _encode(entries: tuple[HistoryEntry, ...]) -> list[bytes]:
    return [encode_entry(entry) for entry in entries]


def _info(binding: Binding, value: Value) -> dict[str, Any]:
    binding.facts.note(value)
    return binding.lease.as_info() | info_of(value, binding.facts)


def _settle(state_id: str, binding: Binding, record: Record | None) -> None:
    """Find out what became of the last write: the writer of each entry is known."""
    if record is None:
        if binding.known:
            raise _lost(binding, f"State {state_id!r} is no longer in the store")
        binding.doubt = False
        return
    entries, writer = len(record.entries), record.info.get("writer")
    if writer == binding.lease.writer:
        # Nobody else ever writes under this name, so what is there is ours.
        binding.saved, binding.known = entries, True
    elif writer != binding.lease.after or entries != binding.saved:
        raise _lost(
            binding,
            f"State {state_id!r} has another writer since (epoch "
            f"{record.info.get('epoch')!r}, {entries} entries); load it again to go "
            f"on from there",
        )
    binding.doubt = False


def _lost(binding: Binding, why: str) -> StoreConflict:
    binding.lost = f"cannot append: {why}"
    return StoreConflict(binding.lost)
