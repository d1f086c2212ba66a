"""The port behind which States are kept, and how a State goes in and out.

1. A store keeps bytes: it appends entries to a State's record, whole or not at all,
   behind the number of entries that the writer expects.
2. What it acknowledged it gives back, whatever happens to the process or the machine.
3. Saving, loading and who may write are built on that here, once for all stores.
"""

from collections.abc import Sequence
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Any, Self
from weakref import WeakKeyDictionary

import trio

from actors._state import State

from ._binding import (
    Binding,
    Read,
    Step,
    Wait,
    Work,
    Write,
    binding_of_loaded,
    binding_of_new,
    saving,
)
from ._loading import bind, is_long, state_of
from ._record import Info, Record, Saved


class Store:
    """A place that keeps States.

    Derive a store of your own from it and implement `write`, `read`, `list` and
    `delete`, or their ``a`` forms, or both; `actors.testing.check_store` tries out
    whether it keeps what this class promises. With the plain forms alone it works from
    tasks too, in worker threads; with the ``a`` forms alone `save`, `load` and the
    other plain methods raise TypeError.
    """

    _bindings: WeakKeyDictionary[State, Binding]
    _bindings_lock: Lock

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        """Make a store; a class derived from it need not call ``super().__init__``."""
        store = super().__new__(cls)
        store._bindings = WeakKeyDictionary()
        store._bindings_lock = Lock()
        return store

    def write(
        self, state_id: str, entries: Sequence[bytes], info: Info, *, expected: int
    ) -> None:
        """Append entries to a State's record, and replace its info.

        In one step that nobody can come between: call
        `actors.stores.refuse_conflict` with what is stored, then append. On return
        all of it survives a crash of the machine; when it raises anything but
        StoreUnknown, none of it was stored.

        Args:
            state_id: The State; one that is not stored yet is made.
            entries: What to append, in order; may be empty.
            info: What is told of the State from now on, in JSON form.
            expected: How many entries the record has before.

        Raises:
            StoreConflict: as `refuse_conflict` says.
            StoreUnknown: it may or may not have been stored.
            StoreDamaged: the record is not what was written.
        """
        raise self._missing("write")

    async def awrite(
        self, state_id: str, entries: Sequence[bytes], info: Info, *, expected: int
    ) -> None:
        """The same for a task.

        Cancelled, it may leave the outcome unknown: the record is read again before
        the next write.
        """
        write = self._plain_form("write")
        await trio.to_thread.run_sync(
            partial(write, state_id, entries, info, expected=expected)
        )

    def read(self, state_id: str) -> Record | None:
        """The State's whole record, or None when there is no such State.

        Raises:
            StoreDamaged: the record is not what was written; the text says where.
        """
        raise self._missing("read")

    async def aread(self, state_id: str) -> Record | None:
        """The same for a task."""
        read = self._plain_form("read")
        record: Record | None = await trio.to_thread.run_sync(read, state_id)
        return record

    def list(
        self, *, limit: int = 100, after: Saved | None = None, **filters: Any
    ) -> Sequence[Saved]:
        """One page of the States in the store, the latest updated first.

        A damaged State does not hide the others: it is listed with its `damage`,
        whatever the filters.

        Args:
            limit: How many at most.
            after: The last one of the page before; None for the first page. A State
                that is updated between two pages moves to the front.
            filters: ``agent``, ``finished``, ``parent``, ``phase``: the info has this
                value; ``updated_after``, ``updated_before``: the latest entry is
                younger, older than this moment in POSIX seconds.

        Raises:
            TypeError: there is no such filter.
            ValueError: ``limit`` is no int >= 0.
        """
        raise self._missing("list")

    async def alist(
        self, *, limit: int = 100, after: Saved | None = None, **filters: Any
    ) -> Sequence[Saved]:
        """The same for a task."""
        read = self._plain_form("list")
        found: Sequence[Saved] = await trio.to_thread.run_sync(
            partial(read, limit=limit, after=after, **filters)
        )
        return found

    def delete(self, state_id: str) -> None:
        """Remove everything of a State; nothing when there is no such State.

        A live copy of it gets StoreConflict at its next save.
        """
        raise self._missing("delete")

    async def adelete(self, state_id: str) -> None:
        """The same for a task."""
        await trio.to_thread.run_sync(self._plain_form("delete"), state_id)

    def close(self) -> None:
        """Give back what the store holds open; it is not used afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def save(self, state: State) -> None:
        """Write what the store does not have yet of a State, and bind the two.

        On return every entry that the State had at the call is durable. Costs nothing
        when there is nothing new. Any number of threads and tasks may save one State
        at once.

        Raises:
            StoreConflict: another live copy of the State, or another State of this
                id, is in the store; nothing was stored. Every later save of this
                copy raises it too: load the State again.
            StoreUnknown: it may or may not have been stored, and the record cannot be
                read; the next save finds out and appends what is missing.
            OSError: the medium failed or is full; nothing was stored, and a later
                save may work.
            TypeError: the store works only asynchronously.
            ValueError: this is a trio thread, and a task is saving the State.
        """
        self._plain_form("write")
        steps = saving(state, self._binding(state))
        try:
            step = next(steps)
            while True:
                try:
                    answer = self._do(step)
                except BaseException as error:  # noqa: BLE001 - the steps decide
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration:
            bind(state, self)

    async def asave(self, state: State) -> None:
        """The same for a task; `save` says what it does and raises.

        Cancelled, it leaves entries unsaved or their outcome unknown; the next save
        goes on from there. Nothing that was saved is written again.
        """
        steps = saving(state, self._binding(state))
        step = next(steps, None)
        if step is None:
            await trio.lowlevel.checkpoint()
        try:
            while step is not None:
                try:
                    answer = await self._ado(step)
                except BaseException as error:  # noqa: BLE001 - the steps decide
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration:
            pass
        bind(state, self)

    def load(self, state_id: str) -> State:
        """A new live copy of a saved State, bound to this store.

        It takes no lease: another copy goes on writing until this one saves its first
        entry.

        Raises:
            LookupError: the store has no such State.
            StoreDamaged: its record is not what was written; the text says where.
            ValueError: it has an entry of a kind that this version does not know.
            TypeError: the store works only asynchronously.
        """
        record = self.read(state_id)
        return self._bound(state_of(self, state_id, record), record)

    async def aload(self, state_id: str) -> State:
        """The same for a task."""
        record = await self.aread(state_id)
        if is_long(record):
            state = await trio.to_thread.run_sync(state_of, self, state_id, record)
        else:
            state = state_of(self, state_id, record)
        return self._bound(state, record)

    def _bound(self, state: State, record: Record | None) -> State:
        assert record is not None, "state_of refuses what is not there"
        binding = binding_of_loaded(record.info, state._mailbox.value)
        with self._bindings_lock:
            self._bindings[state] = binding
        return state

    def _binding(self, state: State) -> Binding:
        given: Any = state
        if not isinstance(given, State):
            raise TypeError(f"a store saves a State, not {given!r}")
        with self._bindings_lock:
            binding = self._bindings.get(state)
            if binding is None:
                binding = self._bindings[state] = binding_of_new(state)
            return binding

    def _do(self, step: Step) -> Any:
        match step:
            case Write(state_id, entries, info, expected):
                return self.write(state_id, entries, info, expected=expected)
            case Read(state_id):
                return self.read(state_id)
            case Wait(turn):
                return turn.wait()
            case Work(fn):
                return fn()

    async def _ado(self, step: Step) -> Any:
        match step:
            case Write(state_id, entries, info, expected):
                return await self.awrite(state_id, entries, info, expected=expected)
            case Read(state_id):
                return await self.aread(state_id)
            case Wait(turn):
                return await turn.await_()
            case Work(fn):
                return await trio.to_thread.run_sync(fn)

    def _plain_form(self, name: str) -> Any:
        if getattr(type(self), name) is getattr(Store, name):
            raise self._missing(name)
        return getattr(self, name)

    def _missing(self, name: str) -> TypeError:
        kind = type(self)
        if getattr(kind, f"a{name}") is not getattr(Store, f"a{name}"):
            return TypeError(
                f"{kind.__name__} works only asynchronously: use 'await store."
                f"a{name}(...)', 'asave' and 'aload'"
            )
        return TypeError(
            f"{kind.__name__} has neither {name!r} nor 'a{name}': a store implements "
            f"one of the two"
        )
