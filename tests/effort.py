"""What a call costs, counted and not timed, so that it is the same on any machine."""

import gc
import tracemalloc
from collections.abc import Callable
from types import FrameType

from tests.watching import watch


def instructions(fn: Callable[[], object]) -> int:
    """How many bytecode instructions the call runs."""
    count = 0

    def counting(frame: FrameType, offset: int) -> None:
        nonlocal count
        count += 1

    watch(fn, counting)
    return count


def peak_bytes(fn: Callable[[], object]) -> int:
    """How many bytes the call needs at most, what it returns included."""
    gc.collect()
    tracemalloc.start()
    try:
        fn()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
