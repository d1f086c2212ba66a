"""The figures of the stores: `python -m benchmarks.stores [--smoke]`.

Each durable figure depends on how long this disk takes to sync; the bare program beside
it, which commits each turn without a sync, is run right before and after in the same
process, and the ratio of the best times counts. The exit code is 1 when a target is
missed. With `--smoke` the counts are so small that only what does not depend on speed
decides it.
"""

import os
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import attrs
import trio

from actors import (
    Agent,
    FileStore,
    FunctionModel,
    Message,
    SQLiteStore,
    State,
    Store,
    open_supervisor,
)
from benchmarks._measure import Row, beside, show, size
from protocol import HistoryEntry, ModelReplyEntry, ModelRequestEntry, Reply, Usage
from protocol._codec import decode_entry, encode_entry
from protocol._entries import MessageEntry

QUESTION = "Where is the bug? Look at the tests first, then at the module."
ANSWER = "It is in line 3 of the module, where the index starts at one."
AT = datetime(2025, 1, 2, 3, 4, 5, 678, UTC)


@attrs.frozen
class Scale:
    """How much is measured."""

    states: int
    turns: int
    rounds: int
    long_turns: int
    entries: int


FULL = Scale(states=100, turns=30, rounds=3, long_turns=5_000, entries=100_000)
SMOKE = Scale(states=10, turns=2, rounds=1, long_turns=200, entries=1_000)


def answer(_request: object) -> str:
    return ANSWER


def durable_turns(scale: Scale) -> Iterator[Row]:
    """Turns of many running States: each thinks when its turn before is on disk."""
    ours: list[float] = []
    bare: list[float] = []
    for number in range(scale.rounds):
        with TemporaryDirectory() as folder:
            bare.append(trio.run(_bare_turns, Path(folder) / "bare.db", scale))
            with SQLiteStore(Path(folder) / f"{number}.db") as store:
                ours.append(trio.run(_turns, store, scale))
    turns = scale.states * scale.turns
    ratio = min(bare) / min(ours)
    yield Row(
        figure=f"durable turns of {scale.states} busy States, SQLite",
        target=">= 0.5 x a bare loop that commits each turn, unsynced",
        measured=f"{turns / min(ours):,.0f}/s",
        holds=ratio >= 0.5,
        bare=f"{turns / min(bare):,.0f}/s, x {ratio:.2f}",
    )


async def _turns(store: Store, scale: Scale) -> float:
    async def loop(agent: Agent, state: State) -> None:
        for _ in range(scale.turns):
            await agent.athink(state)

    model = FunctionModel(answer)
    agent = Agent(model, store=store, reporter=None, human=None, loop=loop)
    begin = perf_counter()
    async with open_supervisor() as supervisor:
        for _ in range(scale.states):
            supervisor.start(agent, State(messages=[Message.user(QUESTION)]))
    return perf_counter() - begin


async def _bare_turns(place: Path, scale: Scale) -> float:
    row = encode_entry(request()) + encode_entry(reply())
    with closing(sqlite3.connect(place, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("CREATE TABLE turns (state INTEGER, number INTEGER, row BLOB)")

        async def work() -> None:
            for number in range(scale.turns):
                db.execute("INSERT INTO turns VALUES (1, ?, ?)", (number, row))
                await trio.lowlevel.checkpoint()

        return await _side_by_side(work, scale.states)


async def _side_by_side(work: Callable[[], Awaitable[None]], count: int) -> float:
    begin = perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(work)
    return perf_counter() - begin


def request() -> HistoryEntry:
    return ModelRequestEntry(turn=1, at=AT, content="openai/large")


def reply() -> HistoryEntry:
    usage = Usage(input_tokens=800, output_tokens=100, requests=1, cost=0.0031)
    message = Message.assistant(ANSWER)
    return ModelReplyEntry(
        turn=1,
        at=AT,
        content=Reply(
            message=message, usage=usage.for_model("openai/large"), model="openai/large"
        ),
    )


def one_turn() -> list[HistoryEntry]:
    question = MessageEntry(turn=1, at=AT, message=Message.user(QUESTION))
    return [question, request(), reply()]


def saved_turn_by_turn(store: Store, turns: int) -> State:
    """A State that was saved after each turn, written as its saves would write it."""
    state = State(id="long")
    history: list[HistoryEntry] = []
    for _ in range(turns):
        history += one_turn()
    state = State(id="long", history=history)
    bodies = [encode_entry(entry) for entry in history]
    for turn in range(turns - 1):
        begin = 3 * turn
        store.write("long", bodies[begin : begin + 3], info(turn), expected=begin)
    loaded = store.load("long")
    for _ in range(3):
        loaded.add_message(Message.user(QUESTION))
    store.save(loaded)
    return state


def info(turn: int) -> dict[str, object]:
    """What a save tells beside the entries, and how much of it changes each time."""
    return {
        "epoch": 1,
        "writer": "bench",
        "entries": 3 * turn,
        "updated": AT.timestamp() + turn,
        "turn": turn,
        "phase": "idle",
        "finished": False,
        "agent": "bench",
        "model": "openai/large",
        "title": QUESTION,
        "requests": turn,
        "input_tokens": 800 * turn,
        "output_tokens": 100 * turn,
        "cost": 0.0031 * turn,
    }


def sizes(scale: Scale) -> Iterator[Row]:
    """What a small turn takes on disk, and that it stays the same."""
    for name, make, suffix in STORES:
        with TemporaryDirectory() as folder:
            taken = [
                _bytes_of(make, Path(folder) / f"{turns}{suffix}", turns)
                for turns in (200, 400)
            ]
        yield size(f"a small turn on disk, {name}", taken[1] / 400, 1_000)
        yield Row(
            figure=f"bytes of 400 turns, {name}",
            target="<= 2.2 x those of 200",
            measured=f"{taken[1] / taken[0]:.2f} x",
            holds=taken[1] <= 2.2 * taken[0],
        )


def _bytes_of(make: Callable[[Path], Store], place: Path, turns: int) -> int:
    """What a State of so many turns, saved after each, takes on disk."""
    with make(place) as store:
        saved_turn_by_turn(store, turns)
    return _bytes_below(place)


def _bytes_below(place: Path) -> int:
    if place.is_file():
        return place.stat().st_size
    return sum(each.stat().st_size for each in place.iterdir())


def loading(scale: Scale) -> Iterator[Row]:
    """A long State: to load it, and to have its first turn."""
    bodies = [encode_entry(entry) for entry in one_turn() * scale.long_turns]
    by_hand = _best(lambda: [decode_entry(body) for body in bodies], scale.rounds)
    for name, make, suffix in STORES:
        with (
            TemporaryDirectory() as folder,
            make(Path(folder) / f"long{suffix}") as store,
        ):
            saved_turn_by_turn(store, scale.long_turns)
            load = _best(partial(store.load, "long"), scale.rounds)
            first = min(_first_turn(store) for _ in range(scale.rounds))
        yield Row(
            figure=f"loading {scale.long_turns:,} turns, {name}",
            target="<= 1.2 x decoding them by hand",
            measured=f"{load * 1e3:.1f} ms",
            holds=load <= 1.2 * by_hand,
            bare=f"{by_hand * 1e3:.1f} ms, x {load / by_hand:.2f}",
        )
        yield Row(
            figure=f"loading them and recording a turn, {name}",
            target="<= 10 ms",
            measured=f"{first * 1e3:.1f} ms",
            holds=first <= 0.010,
        )


def _first_turn(store: Store) -> float:
    async def work() -> float:
        agent = Agent(FunctionModel(answer), reporter=None, human=None)
        begin = perf_counter()
        await agent.athink(store.load("long"))
        return perf_counter() - begin

    return trio.run(work)


def one_more_entry(scale: Scale) -> Iterator[Row]:
    """What a save costs does not depend on how much was saved before."""
    short = long = float("inf")
    for _ in range(scale.rounds):  # in turns: the machine is not the same all the time
        short = min(short, _save_s(10))
        long = min(long, _save_s(scale.entries))
    yield Row(
        figure=f"saving one entry more after {scale.entries:,}",
        target="as after 10",
        measured=f"{long * 1e6:,.0f} us",
        holds=long <= 1.3 * short,
        bare=beside(long, short),
    )


def _save_s(entries: int) -> float:
    state = State(history=[one_turn()[0]] * entries)
    best = float("inf")
    with TemporaryDirectory() as folder:
        # Relaxed, so that the disk's syncs do not hide what the store itself does.
        place = Path(folder) / "states.db"
        with SQLiteStore(place, durability="relaxed") as store:
            store.save(state)
            for _ in range(200):
                state.add_message(Message.user(QUESTION))
                begin = perf_counter()
                store.save(state)
                best = min(best, perf_counter() - begin)
    return best


def _best(call: Callable[[], object], rounds: int) -> float:
    best = float("inf")
    for _ in range(2 * rounds):
        begin = perf_counter()
        call()
        best = min(best, perf_counter() - begin)
    return best


STORES: tuple[tuple[str, Callable[[Path], Store], str], ...] = (
    ("SQLite", lambda place: SQLiteStore(place, durability="relaxed"), ".db"),
    ("files", lambda place: FileStore(place, durability="relaxed"), ""),
)


def main(arguments: list[str]) -> int:
    scale = SMOKE if "--smoke" in arguments else FULL
    exact = list(sizes(scale))
    parts = (durable_turns, loading, one_more_entry)
    rows = [row for part in parts for row in part(scale)]
    holds = show(f"Stores, {os.cpu_count()} processors", [*rows, *exact])
    if scale is SMOKE:
        return 0 if all(row.holds for row in exact) else 1
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
