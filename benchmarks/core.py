"""The figures of the core: `python -m benchmarks.core [--smoke]`.

Every figure stands beside its target and beside bare Python doing the same in this
process. The exit code is 1 when a target is missed. With `--smoke` the counts are so
small that speed says little: only what must be exact decides the exit code.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock, Thread

import attrs
import msgspec

from actors import Message, State
from benchmarks._measure import (
    Row,
    bytes_each,
    duration,
    rate,
    seconds_each,
    show,
    size,
)
from benchmarks.codec import codec_rows

LONG = "at {:,} entries"
PROPERTIES = (
    "answer", "created_at", "extra_data", "finished", "history", "id", "messages",
    "parent_call_id", "parent_id", "pending_calls", "stopped", "turn", "updated_at",
    "usage",
)  # fmt: skip
IMPORT_ROUNDS = 3
# VmHWM and not getrusage: the latter's peak is inherited from the process that forks.
IMPORT_PROGRAM = """
import re, time
begin = time.perf_counter()
import {module}
took = time.perf_counter() - begin
with open("/proc/self/status") as status:
    print(took, int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) / 1024)
"""


@attrs.frozen(kw_only=True)
class Scale:
    """How much is done for each figure."""

    calls: int
    short: int
    long: int
    states: int
    snapshots: int
    threads: int = 8
    messages_each: int
    codec_rounds: int


FULL = Scale(
    calls=20_000, short=100, long=1_000_000, states=5_000, snapshots=3_000,
    messages_each=10_000, codec_rounds=200,
)  # fmt: skip
SMOKE = Scale(
    calls=500, short=100, long=5_000, states=200, snapshots=300, messages_each=500,
    codec_rounds=5,
)  # fmt: skip


class BareRow(msgspec.Struct, frozen=True):
    """What a commit comes to without an actor: one row of a list."""

    at: float
    message: Message


class BareActor:
    """A list and a lock: the least that many threads could share."""

    def __init__(self, message: Message) -> None:
        self.lock = Lock()
        self.rows = [BareRow(0.0, message)]

    def look(self) -> int:
        with self.lock:
            return len(self.rows)

    def add(self, message: Message) -> None:
        with self.lock:
            self.rows.append(BareRow(0.0, message))

    def copy(self) -> list[BareRow]:
        with self.lock:
            return self.rows[:]


def state_of(entries: int) -> State:
    """A State with so many entries, added one by one."""
    state = State()
    message = Message.user("Where is it?")
    for _ in range(entries):
        state.add_message(message)
    return state


def mailbox(scale: Scale) -> Iterator[Row]:
    message = Message.user("Where is it?")
    bare = BareActor(message)
    bare_look = seconds_each(bare.look, scale.calls)
    bare_add = seconds_each(partial(bare.add, message), scale.calls)
    state = state_of(scale.short)
    look = seconds_each(state.clear_tool_results, scale.calls * 5)
    yield rate("round trip that records nothing", look, 1_000_000, bare_look)
    add = seconds_each(partial(state_of(scale.short).add_message, message), scale.calls)
    yield rate(f"commit {LONG.format(scale.short)}", add, 300_000, bare_add)
    big = state_of(scale.long)
    late = seconds_each(partial(big.add_message, message), scale.calls)
    yield rate(f"commit {LONG.format(scale.long)}", late, 300_000, bare_add)
    yield Row(
        figure="commit, long against short",
        target="0.8 to 1.2",
        measured=f"{late / add:.2f}",
        holds=0.8 <= late / add <= 1.2,
    )
    yield from reads(scale, big)
    yield from branches(scale, big)


def reads(scale: Scale, big: State) -> Iterator[Row]:
    at = LONG.format(scale.long)
    bare = seconds_each(partial(getattr, BareRow(0.0, Message.user("x")), "at"), 1_000)
    took = seconds_each(big.snapshot, scale.calls)
    yield duration(f"snapshot {at}", took, 1, bare)
    # Built once for each change; the figure is about reading.
    for name in PROPERTIES:
        getattr(big, name)
    slowest, seconds = max(
        ((name, seconds_each(partial(getattr, big, name), scale.calls))
         for name in PROPERTIES),
        key=lambda pair: pair[1],
    )  # fmt: skip
    yield duration(f"slowest property ({slowest}) {at}", seconds, 1, bare)


def branches(scale: Scale, big: State) -> Iterator[Row]:
    for state, entries in ((state_of(scale.short), scale.short), (big, scale.long)):
        at = LONG.format(entries)
        bare = BareActor(Message.user("x"))
        bare.rows *= entries
        copies = max(3, scale.calls * 10 // entries)
        copy = seconds_each(bare.copy, min(copies, scale.calls))
        fork = seconds_each(state.fork, scale.calls)
        yield duration(f"fork {at}", fork, 3, copy)
        before = state.snapshot()
        state.add_message(Message.user("Another way"))
        restore = seconds_each(partial(state.restore, before), scale.calls)
        yield duration(f"restore {at}", restore, 5, copy)


def creation(scale: Scale) -> Iterator[Row]:
    message = Message.user("Where is it?")
    bare = seconds_each(partial(BareActor, message), scale.calls)
    made = seconds_each(lambda: State(messages=[message]), scale.calls)
    yield rate("a State with one message", made, 200_000, bare)
    yield size("idle State, empty", bytes_each(State, scale.states), 600)
    texts = iter([f"What about number {n}?" for n in range(11 * scale.states)])

    def ten() -> State:
        state = State()
        for _ in range(10):
            state.add_message(Message.user(next(texts)))
        return state

    held = bytes_each(ten, scale.states)
    yield size("idle State, 10 entries beside their texts", held, 6_000)


def kept_snapshots(scale: Scale) -> Iterator[Row]:
    message = Message.user("Where is it?")

    def grow(*, keep: bool) -> tuple[State, list[object]]:
        state, kept = State(), list[object]()
        for _ in range(scale.snapshots):
            state.add_message(message)
            if keep:
                kept.append(state.snapshot())
        return state, kept

    extra = bytes_each(partial(grow, keep=True), 1)
    extra -= bytes_each(partial(grow, keep=False), 1)
    figure = f"{scale.snapshots:,} kept snapshots of one State"
    yield size(figure, extra, 2**20 * scale.snapshots / FULL.snapshots)


def replay(scale: Scale) -> Iterator[Row]:
    entries = min(scale.long, 20_000)
    history = state_of(entries).history
    bare = seconds_each(lambda: [entry.at for entry in history], 1) / entries
    again = seconds_each(lambda: State(history=history), 1) / entries
    yield duration("replay, an entry", again, 2, bare)


def threads(scale: Scale) -> Iterator[Row]:
    state = State()

    def work(number: int) -> None:
        for count in range(scale.messages_each):
            state.add_message(Message.user(f"{number} {count}"))

    workers = [Thread(target=work, args=(each,)) for each in range(scale.threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seen: dict[str, list[int]] = {}
    for message in state.messages:
        number, count = message.text().split()
        seen.setdefault(number, []).append(int(count))
    wanted = list(range(scale.messages_each))
    whole = len(seen) == scale.threads and all(each == wanted for each in seen.values())
    figure = f"{scale.threads} threads x {scale.messages_each:,} messages"
    target = f"{scale.threads * scale.messages_each:,} in order"
    measured = f"{len(state.history):,}{' in order' if whole else ', not in order'}"
    yield Row(figure=figure, target=target, measured=measured, holds=whole)


def importing(scale: Scale) -> Iterator[Row]:
    rounds = IMPORT_ROUNDS if scale is FULL else 1
    runs = [_import("actors") for _ in range(rounds)]
    seconds, megabytes = map(min, zip(*runs, strict=True))
    bare, _ = _import("trio")
    yield Row(
        figure="import actors (beside import trio)",
        target="<= 0.35 s",
        measured=f"{seconds:.3f} s",
        holds=seconds <= 0.35,
        bare=f"{bare:.3f} s, x {seconds / bare:.2f}",
    )
    yield Row(
        figure="memory of a process that imported actors",
        target="<= 35 MB",
        measured=f"{megabytes:.1f} MB",
        holds=megabytes <= 35,
    )


def _import(module: str) -> tuple[float, float]:
    """Seconds and the peak of the resident set in MB, in a fresh interpreter."""
    program = [sys.executable, "-c", IMPORT_PROGRAM.format(module=module)]
    done = subprocess.run(program, check=True, capture_output=True, text=True)
    seconds, megabytes = done.stdout.split()
    return float(seconds), float(megabytes)


PARTS: tuple[Callable[[Scale], Iterator[Row]], ...] = (
    creation,
    kept_snapshots,
    replay,
    threads,
    importing,
    mailbox,
)


def main(arguments: list[str]) -> int:
    scale = SMOKE if "--smoke" in arguments else FULL
    exact = list(threads(scale))
    rows = [row for part in PARTS if part is not threads for row in part(scale)]
    rows += codec_rows(scale.codec_rounds)
    holds = show("The core beside its targets", [*rows, *exact])
    if scale is SMOKE:
        return 0 if all(row.holds for row in exact) else 1
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
