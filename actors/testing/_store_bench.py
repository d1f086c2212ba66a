"""What a check of a store works with: openings of it, and infos as saves make them."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import trio

from actors._state import State
from actors.stores._info import EQUAL_FILTERS
from actors.stores._record import Info, Record, Saved
from actors.stores._store import Store
from protocol._ids import new_id


class Hands:
    """One opening of the store, used from plain code, or each time in a trio run."""

    def __init__(self, store: Store, *, tasks: bool) -> None:
        self.store = store
        self._tasks = tasks

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if self._tasks:
            return trio.run(partial(getattr(self.store, f"a{name}"), *args, **kwargs))
        return getattr(self.store, name)(*args, **kwargs)

    def write(
        self, state_id: str, entries: Sequence[bytes], info: Info, expected: int
    ) -> None:
        """See `Store.write`."""
        self._call("write", state_id, entries, info, expected=expected)

    def read(self, state_id: str) -> Record | None:
        """See `Store.read`."""
        found: Record | None = self._call("read", state_id)
        return found

    def list(self, **asked: Any) -> list[Saved]:
        """See `Store.list`."""
        return list(self._call("list", **asked))

    def delete(self, state_id: str) -> None:
        """See `Store.delete`."""
        self._call("delete", state_id)

    def save(self, state: State) -> None:
        """See `Store.save`."""
        self._call("save", state)

    def load(self, state_id: str) -> State:
        """See `Store.load`."""
        state: State = self._call("load", state_id)
        return state


class Bench:
    """What a check works with: openings of the store, and States nobody else has."""

    def __init__(self, make_store: Callable[[], Store], *, tasks: bool) -> None:
        self._make_store = make_store
        self._tasks = tasks
        self.mark = new_id()
        """Stands as ``agent`` in the infos of this bench, so that lists find them."""

    @contextmanager
    def open(self) -> Generator[Hands]:
        """Open the store, and close it at the end."""
        with self._make_store() as store:
            yield Hands(store, tasks=self._tasks)

    def info(
        self, writer: str, after: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """An info as a save makes it."""
        plain = dict.fromkeys(EQUAL_FILTERS)
        return {
            **plain,
            "epoch": 1 if after is None else 2,
            "writer": writer,
            "after": after,
            "updated": 1_700_000_000.25,
            "agent": self.mark,
            "finished": False,
            **more,
        }


Check = Callable[[Bench], None]
"""Raises an exception when the store does not keep a promise; its name says which."""
