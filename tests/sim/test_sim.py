"""The whole runtime under a nemesis: whatever a seed does to it, it stays in order.

A failure prints the line that does that seed again and shows every step of it.
"""

import re

import pytest

from .reached import PATHS, counts
from .simulation import simulate

FEW = 40
SEEDS = 2_000
REACHED_IN = 1_000


def run(seeds: range) -> None:
    found = [outcome for seed in seeds if (outcome := simulate(seed)).faults]
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize("seed", range(FEW))
def test_the_runtime_stays_in_order_whatever_a_seed_does_to_it(seed: int) -> None:
    run(range(seed, seed + 1))


@pytest.mark.slow
def test_2_000_seeds_leave_the_runtime_in_order_and_reach_every_rare_path() -> None:
    for begin in range(0, SEEDS, REACHED_IN):
        counts.clear()
        run(range(begin, begin + REACHED_IN))
        assert not PATHS - counts.keys(), "never reached"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_seed_does_the_same_each_time(seed: int) -> None:
    # Only where an object stands in memory, which some errors say, may differ.
    first, again = (
        [re.sub(r"0x[0-9a-f]+", "", line) for line in simulate(seed).trace]
        for _ in range(2)
    )
    assert first == again
