"""What a call costs, counted and not timed, so that it is the same on any machine."""

import gc
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any


def instructions(fn: Callable[[], object]) -> int:
    """How many bytecode instructions the call runs."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        return trace

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        fn()
    finally:
        sys.settrace(outer)
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
