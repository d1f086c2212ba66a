"""``python -m tests.sim SEED`` prints every step of a seed; ``FROM-TO`` runs many."""

import sys
import time

from .reached import PATHS, counts
from .simulation import simulate


def main(wanted: str) -> int:
    begin, dash, end = wanted.partition("-")
    if not dash:
        outcome = simulate(int(begin), printing=True)
        print(f"{outcome.steps} steps, {outcome.processes} processes")
        print("\n".join(outcome.faults) or "nothing is wrong")
        return bool(outcome.faults)
    return many(range(int(begin), int(end)))


def many(seeds: range) -> int:
    faulty, began, steps = 0, time.monotonic(), 0
    for seed in seeds:
        outcome = simulate(seed)
        steps += outcome.steps
        if outcome.faults:
            faulty += 1
            print(outcome)
    took = time.monotonic() - began
    for name in sorted(PATHS):
        print(f"{counts[name]:7} {name}")
    print(f"{len(seeds)} seeds, {steps} steps, {faulty} faulty, {took:.1f} s")
    return bool(faulty)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
