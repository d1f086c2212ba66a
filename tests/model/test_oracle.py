"""A State and its oracle agree on every sequence of commands."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from actors import Message, State

from .generate import run_seed
from .rare import CASES, reached

ROOT = Path(__file__).parents[2]
FAST = [range(start, start + 250) for start in range(0, 2_000, 250)]
SLOW = ((2_000, 27_000), (27_000, 52_000))


@pytest.mark.parametrize("seeds", FAST, ids=str)
def test_a_state_and_its_oracle_agree(seeds: range) -> None:
    for seed in seeds:
        run_seed(seed)


@pytest.mark.slow
def test_a_state_and_its_oracle_agree_on_50_000_sequences() -> None:
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.model", str(first), str(stop)],
                    cwd=ROOT,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            for first, stop in SLOW
        ]
        errors = [process.communicate()[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], "\n".join(errors)


@pytest.mark.slow
def test_the_sequences_reach_every_rare_case() -> None:
    missing = set(CASES)
    for seed in range(5_000):
        for pair in run_seed(seed).pairs:
            missing -= reached(pair.expected)
        if not missing:
            return
    raise AssertionError(f"never reached: {missing}")


def test_a_restore_to_an_equal_snapshot_of_another_state_gives_its_own_values() -> None:
    hello = Message.user("hello")
    again = msgspec.structs.replace(hello, message_id="another")
    state = State(messages=[hello], extra_data={"n": 1})
    other = State(messages=[again], extra_data={"n": True})
    state.finish("done")

    state.restore(other.snapshot())

    assert state.extra_data["n"] is not True
    assert state.messages[0].message_id == hello.message_id
    replayed = State(history=state.history)
    assert replayed.messages[0].message_id == hello.message_id
