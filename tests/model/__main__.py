"""See one sequence again, or run many.

`python -m tests.model SEED` shows each command on a line; `python -m tests.model
FIRST STOP` runs the seeds from FIRST up to STOP, which is left out.
"""

import sys
from random import Random

from .generate import Sequence, run_seed


def main(seed: int, stop: int | None = None) -> None:
    if stop is None:
        Sequence(Random(seed), log=print).run()
        return
    for each in range(seed, stop):
        run_seed(each)


main(*map(int, sys.argv[1:]))
