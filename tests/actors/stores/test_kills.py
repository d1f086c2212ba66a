"""Processes that are killed at any moment, and processes that want the same State."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest

from actors import State
from tests.actors.stores.writer import open_store

ROOT = Path(__file__).parents[3]
KINDS = ("files", "sqlite")


@contextmanager
def writers(
    kind: str, place: str, name: str, count: int
) -> "Iterator[subprocess.Popen[str]]":
    command = [sys.executable, "-m", "tests.actors.stores.writer"]
    process = subprocess.Popen(
        [*command, kind, place, name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        cwd=ROOT,
    )
    with process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def lines(process: "subprocess.Popen[str]") -> Iterator[list[str]]:
    """What one of the processes says, until it ends."""
    assert process.stdout is not None
    while (line := process.stdout.readline()) != "ended\n":
        yield line.split()


def tell(process: "subprocess.Popen[str]") -> None:
    """To start, and then to begin."""
    assert process.stdin is not None
    process.stdin.write("go\n")


def kill_often(kind: str, place: str, kills: int) -> None:
    """Each process goes on with what the one before left."""
    random, acknowledged = Random(kills), 0
    with writers(kind, place, "a", 10**9) as process:
        for kill in range(kills):
            tell(process)
            said = lines(process)
            _, pid = next(said)
            tell(process)
            for _ in range(random.randrange(1, 6)):
                acknowledged = int(next(said)[0])
            time.sleep(random.random() * 0.004)  # anywhere inside the next writes
            os.kill(int(pid), signal.SIGKILL)
            for entries, *_ in said:
                acknowledged = int(entries)
            with open_store(kind, place) as store:
                size = len(store.load("a").history)
            assert acknowledged <= size <= acknowledged + 1, (
                f"kill {kill}: {acknowledged} acknowledged, {size} stored"
            )


@pytest.mark.filterwarnings("ignore::actors.TornTailWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_process_loses_nothing_it_was_told_is_stored(
    kind: str, tmp_path: Path
) -> None:
    kill_often(kind, str(tmp_path), kills=10)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::actors.TornTailWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_500_killed_processes_lose_nothing(kind: str, tmp_path: Path) -> None:
    kill_often(kind, str(tmp_path), kills=500)


def race(kind: str, place: str, processes: int, count: int) -> None:
    """Many processes append to one State; each is told what became of each append."""
    won: dict[int, list[str]] = {}
    told = 0
    with open_store(kind, place) as store, ExitStack() as stack:
        store.save(State(id="a"))
        crowd = [
            stack.enter_context(writers(kind, place, "a", count))
            for _ in range(processes)
        ]
        said = [lines(process) for process in crowd]
        for process in crowd:
            tell(process)
        for each in said:
            next(each)
        for process in crowd:
            tell(process)
        for each in said:
            for first, *text in each:
                if first == "told":
                    told += 1
                else:
                    assert int(first) not in won, "two were told they wrote one entry"
                    won[int(first)] = text
        state = store.load("a")
    assert sorted(won) == list(range(1, processes * count + 1)), "there is a gap"
    texts = [message.text().split()[:2] for message in state.messages]
    assert texts == [won[number] for number in sorted(won)], "entries were mixed up"
    assert told, "nobody ever met another writer"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_4_processes_append_500_times_to_one_state(kind: str, tmp_path: Path) -> None:
    race(kind, str(tmp_path), processes=4, count=500)
