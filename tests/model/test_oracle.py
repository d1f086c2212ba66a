"""A State and its oracle agree on every sequence of commands."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

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
