"""Every store runs the public kit, and the kit finds stores that lie."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from actors import FileStore, MemoryStore, Record, Saved, SQLiteStore, Store
from actors.testing import check_store


def memory(_place: Path) -> Callable[[], Store]:
    store = MemoryStore()
    return lambda: store


def files(place: Path) -> Callable[[], Store]:
    return lambda: FileStore(place / "states")


def relaxed_files(place: Path) -> Callable[[], Store]:
    return lambda: FileStore(place / "states", durability="relaxed")


def sqlite(place: Path) -> Callable[[], Store]:
    return lambda: SQLiteStore(place / "states.db")


def relaxed_sqlite(place: Path) -> Callable[[], Store]:
    return lambda: SQLiteStore(place / "states.db", durability="relaxed")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [memory, files, relaxed_files, sqlite, relaxed_sqlite])
def test_a_store_of_ours_keeps_what_it_promises(
    kind: Callable[[Path], Callable[[], Store]], tmp_path: Path
) -> None:
    names = check_store(kind(tmp_path))
    assert len(names) == len(set(names)) >= 26


class OnlyAsync(Store):
    """A user's store with the ``a`` forms alone."""

    def __init__(self) -> None:
        self.inner = MemoryStore()

    async def awrite(
        self, state_id: str, entries: Sequence[bytes], info: Any, *, expected: int
    ) -> None:
        await self.inner.awrite(state_id, entries, info, expected=expected)

    async def aread(self, state_id: str) -> Record | None:
        return await self.inner.aread(state_id)

    async def alist(self, **asked: Any) -> Sequence[Saved]:
        return await self.inner.alist(**asked)

    async def adelete(self, state_id: str) -> None:
        await self.inner.adelete(state_id)


class OnlyPlain(Store):
    """A user's store with the plain forms alone, which never calls our init."""

    def __init__(self) -> None:
        self.inner = MemoryStore()

    def write(
        self, state_id: str, entries: Sequence[bytes], info: Any, *, expected: int
    ) -> None:
        self.inner.write(state_id, entries, info, expected=expected)

    def read(self, state_id: str) -> Record | None:
        return self.inner.read(state_id)

    def list(self, **asked: Any) -> Sequence[Saved]:
        return self.inner.list(**asked)

    def delete(self, state_id: str) -> None:
        self.inner.delete(state_id)


@pytest.mark.parametrize(("kind", "checks"), [(OnlyAsync, 15), (OnlyPlain, 26)])
def test_a_user_implements_one_form_of_a_store(
    kind: Callable[[], Store], checks: int
) -> None:
    store = kind()
    assert len(check_store(lambda: store)) == checks


class Forgetful(OnlyPlain):
    """Keeps no more than three entries."""

    def read(self, state_id: str) -> Record | None:
        record = super().read(state_id)
        return record and Record(record.entries[:3], record.info)


class Careless(OnlyPlain):
    """Lets everybody write."""

    def write(
        self, state_id: str, entries: Sequence[bytes], info: Any, *, expected: int
    ) -> None:
        record = self.inner.read(state_id)
        held = info if record is None else {**info, "after": record.info["writer"]}
        self.inner.write(state_id, entries, held, expected=expected)


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (Forgetful, "what_was_written_is_read (plain code): AssertionError: other"),
        (Careless, "an_earlier_writer_is_fenced_off (tasks): AssertionError: a writer"),
        (Store, "Store has neither 'read' nor 'aread'"),
    ],
)
def test_the_kit_finds_a_store_that_does_not_keep_its_promises(
    kind: Callable[[], Store], found: str
) -> None:
    store = kind()
    with pytest.raises(AssertionError, match="checks of the store failed") as failure:
        check_store(lambda: store)
    assert found in str(failure.value)
