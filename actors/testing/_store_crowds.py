"""The checks of a store that take many users at once."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from threading import Thread

import trio

from actors._state import State
from actors.stores._store import Store
from protocol import Message, StoreConflict
from protocol._ids import new_id

from ._store_bench import Bench, Check

TASKS = 20
WRITES = 5


def many_tasks_save_one_state(bench: Bench) -> None:
    """Each entry is stored once, in order, and saved when its save returns."""
    with bench.open() as hands:
        state = State()

        async def add_and_save(number: int) -> None:
            for turn in range(WRITES):
                state.add_message(Message.user(f"{number} {turn}"))
                size = len(state.history)
                await hands.store.asave(state)
                record = await hands.store.aread(state.id)
                assert record is not None, "a saved State is missing"
                assert len(record.entries) >= size, "save returned before it was stored"

        trio.run(_side_by_side, [partial(add_and_save, n) for n in range(TASKS)])
        assert hands.load(state.id).history == state.history, "another history"
        hands.delete(state.id)


def many_threads_save_one_state(bench: Bench) -> None:
    """Each in a trio run of its own."""
    with bench.open() as hands:
        state = State()
        failures: list[BaseException] = []

        def add_and_save(number: int) -> None:
            try:
                for turn in range(WRITES):
                    state.add_message(Message.user(f"{number} {turn}"))
                    trio.run(hands.store.asave, state)
            except BaseException as error:  # noqa: BLE001 - reported by the check
                failures.append(error)

        threads = [Thread(target=add_and_save, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        assert hands.load(state.id).history == state.history, "another history"
        hands.delete(state.id)


def many_copies_race_for_one_state(bench: Bench) -> None:
    """One wins, all others are told, and what they brought is nowhere."""
    with bench.open() as hands, bench.open() as other:
        first = State(messages=[Message.user("begin")])
        hands.save(first)
        loaded: list[State] = []
        won: list[State] = []

        async def take_over(store: Store, start: trio.Event) -> None:
            copy = await store.aload(first.id)
            copy.add_message(Message.user(f"copy {len(loaded)}"))
            loaded.append(copy)
            if len(loaded) == TASKS:
                start.set()
            await start.wait()
            try:
                await store.asave(copy)
            except StoreConflict:
                return
            won.append(copy)

        async def race() -> None:
            start = trio.Event()
            async with trio.open_nursery() as nursery:
                for number in range(TASKS):
                    store = (hands, other)[number % 2].store
                    nursery.start_soon(take_over, store, start)

        trio.run(race)
        assert len(won) == 1, f"{len(won)} of {TASKS} copies were told that they won"
        assert hands.load(first.id).history == won[0].history, "another history"
        hands.delete(first.id)


def many_states_are_written_at_once(bench: Bench) -> None:
    """Each has its own entries."""
    with bench.open() as hands:
        names = [new_id() for _ in range(TASKS)]

        async def write(name: str) -> None:
            for turn in range(WRITES):
                body = f"{name} {turn}".encode()
                info = bench.info("w", turn=turn)
                await hands.store.awrite(name, [body], info, expected=turn)

        trio.run(_side_by_side, [partial(write, name) for name in names])
        for name in names:
            record = hands.read(name)
            assert record is not None, "a State is missing"
            expected = tuple(f"{name} {turn}".encode() for turn in range(WRITES))
            assert tuple(record.entries) == expected, "States were mixed up"
            hands.delete(name)


async def _side_by_side(jobs: Sequence[Callable[[], Awaitable[None]]]) -> None:
    async with trio.open_nursery() as nursery:
        for job in jobs:
            nursery.start_soon(job)


CROWDS: tuple[Check, ...] = (
    many_tasks_save_one_state,
    many_threads_save_one_state,
    many_copies_race_for_one_state,
    many_states_are_written_at_once,
)
