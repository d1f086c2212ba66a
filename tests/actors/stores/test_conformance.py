"""Every store runs the public kit, and the kit finds stores that lie."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio

from actors import (
    FileStore,
    MemoryStore,
    Message,
    Record,
    Saved,
    SQLiteStore,
    State,
    Store,
    StoreConflict,
)
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


ROUNDS, IDS, TASKS = 3, 20, 200


@pytest.mark.slow
@pytest.mark.parametrize("kind", [memory, relaxed_files, sqlite])
def test_of_200_tasks_one_wins_each_entry(
    kind: Callable[[Path], Callable[[], Store]], tmp_path: Path
) -> None:
    make = kind(tmp_path)

    async def race(stores: list[Store]) -> None:
        won: dict[tuple[str, int], str] = {}
        barrier, ready = trio.Event(), [0]

        async def append(number: int) -> None:
            store, name = stores[number % len(stores)], f"state-{number % IDS}"
            state = await store.aload(name)
            ready[0] += 1
            if ready[0] == TASKS:
                barrier.set()
            await barrier.wait()
            for turn in range(ROUNDS):
                text = f"{number} {turn}"
                state.add_message(Message.user(text))
                try:
                    await store.asave(state)
                except StoreConflict:
                    state = await store.aload(name)
                    continue
                place = name, len(state.history)
                assert place not in won, "two were told they wrote one entry"
                won[place] = text

        async with trio.open_nursery() as nursery:
            for number in range(TASKS):
                nursery.start_soon(append, number)
        for number in range(IDS):
            state = await stores[0].aload(f"state-{number}")
            texts = [message.text() for message in state.messages]
            assert texts == [won[state.id, i + 1] for i in range(len(texts))]
            assert len(texts) >= ROUNDS - 1

    with make() as first, make() as second:
        for number in range(IDS):
            first.save(State(id=f"state-{number}"))
        trio.run(race, [first, second])
