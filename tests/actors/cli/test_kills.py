"""Fleets that are cut off at any moment, and continued until all is done."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio

from actors import MemoryStore, SQLiteStore
from actors.cli._crew import Fleet, Plan
from actors.cli._results import Spool
from actors.cli._tasks import Task
from tests.actors.cli.agents import LOG, payer

ROOT = Path(__file__).parents[3]


class CutStore(MemoryStore):
    """Takes so many writes and then no more, as the disk of a process that is gone."""

    left = 10**9

    def write(
        self,
        state_id: str,
        entries: Sequence[bytes],
        info: Mapping[str, Any],
        *,
        expected: int,
    ) -> None:
        if not self.left:
            raise OSError("the process is gone")
        self.left -= 1
        super().write(state_id, entries, info, expected=expected)

    async def awrite(
        self,
        state_id: str,
        entries: Sequence[bytes],
        info: Mapping[str, Any],
        *,
        expected: int,
    ) -> None:
        await trio.lowlevel.checkpoint()
        self.write(state_id, entries, info, expected=expected)


async def work(store: CutStore, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    agent = payer.copy(store=store, reporter=None, human=None)
    with Spool() as spool:
        plan = Plan(agent=agent, store=store, tasks=tasks, max_running=5)
        await Fleet(plan, spool).work(lambda: None)
        return [json.loads(spool.line(task.id)) for task in tasks]


def check(lines: list[dict[str, Any]], log: Path, names: list[str]) -> None:
    assert [line["id"] for line in lines] == names
    assert {line["status"] for line in lines} == {"done"}
    assert {line["answer"] for line in lines} == {"Paid."}
    assert {line["usage"]["requests"] for line in lines} == {3}
    effects = Counter(log.read_text().splitlines())
    paid = {line: n for line, n in effects.items() if line.startswith("pay")}
    assert set(paid.values()) == {1}, "a payment was made twice"
    put = {line for line in effects if line.startswith("put")}
    assert len(put) == len(names), "what may be done twice is done at least once"


async def test_a_fleet_cut_off_at_any_write_goes_on_and_repeats_no_payment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "effects.log"
    log.touch()
    monkeypatch.setenv(LOG, str(log))
    random, store = Random(1), CutStore()
    tasks = [Task(id=f"t{n}", prompt="Pay") for n in range(8)]
    for _ in range(10):
        store.left = random.randrange(1, 15)
        await work(store, tasks)
    store.left = 10**9
    check(await work(store, tasks), log, [task.id for task in tasks])


@contextmanager
def fleet(folder: Path, agent: str) -> "Iterator[subprocess.Popen[str]]":
    name = f"tests.actors.cli.agents:{agent}"
    process = subprocess.Popen(
        [sys.executable, "-m", "actors", "fleet", "tasks.jsonl", "--agent", name],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), LOG: str(folder / "effects.log")},
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def prepare(folder: Path, count: int) -> list[str]:
    names = [f"t{n}" for n in range(count)]
    rows = [json.dumps({"id": name, "prompt": "Pay"}) for name in names]
    (folder / "tasks.jsonl").write_text("\n".join(rows))
    (folder / "effects.log").touch()
    return names


def wait_for(folder: Path, effects: int, process: "subprocess.Popen[str]") -> None:
    """Wait until so many effects have been noted."""
    log = folder / "effects.log"
    while log.read_bytes().count(b"\n") < effects and process.poll() is None:
        time.sleep(0.002)


def lines_of(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "results.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.slow
def test_a_fleet_of_1000_killed_ten_times_does_everything_once(tmp_path: Path) -> None:
    names, random = prepare(tmp_path, 1_000), Random(7)
    for kill in range(10):
        with fleet(tmp_path, "payer") as process:
            # 2,000 effects in all: somewhere in the next tenth, at any moment.
            wait_for(
                tmp_path, random.randrange(kill * 190 + 1, kill * 190 + 190), process
            )
            time.sleep(random.random() * 0.01)
            assert process.poll() is None
            process.kill()
        assert not (tmp_path / "results.jsonl").exists()
    with fleet(tmp_path, "payer") as process:
        assert process.wait() == 0, process.communicate()
    check(lines_of(tmp_path), tmp_path / "effects.log", names)
    with SQLiteStore(tmp_path / "runs.db") as store:
        for line in lines_of(tmp_path):
            state = store.load(line["id"])
            replies = sum(entry.kind == "model_reply" for entry in state.history)
            assert state.usage.requests == replies == line["usage"]["requests"]


@pytest.mark.slow
def test_ctrl_c_once_begins_nothing_more_and_says_how_to_go_on(tmp_path: Path) -> None:
    prepare(tmp_path, 150)
    with fleet(tmp_path, "sleeper") as process:
        wait_for(tmp_path, 100, process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "100 running tasks have 5 s to end; Ctrl+C again stops now" in said
    assert "50 tasks are left: run the same command again to go on" in said
    statuses = Counter(line["status"] for line in lines_of(tmp_path))
    assert statuses == {"done": 100, "cancelled": 50}
    with fleet(tmp_path, "sleeper") as process:
        assert process.wait() == 0
    assert (tmp_path / "effects.log").read_text().count("nap") == 150


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["waiter", "hanger"])
def test_ctrl_c_twice_stops_now_even_tools_that_do_not_stop(
    agent: str, tmp_path: Path
) -> None:
    rows = [json.dumps({"id": f"t{n}", "prompt": "wait"}) for n in range(3)]
    (tmp_path / "tasks.jsonl").write_text("\n".join(rows))
    (tmp_path / "effects.log").touch()
    with fleet(tmp_path, agent) as process:
        wait_for(tmp_path, 3, process)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert "3 running tasks" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=5) == 130
    assert [line["status"] for line in lines_of(tmp_path)] == ["cancelled"] * 3
    with fleet(tmp_path, agent) as process:
        assert process.wait() == 0, "the calls are closed, and the run goes on"
