"""Watching every bytecode instruction of a call, on any Python."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from types import CodeType, FrameType
from typing import Any

Watcher = Callable[[FrameType, int], None]
"""Told of the frame and the offset of the instruction that comes next; it may raise."""


def watch(fn: Callable[[], object], watcher: Watcher) -> None:
    """Call `fn`, and tell `watcher` of each instruction below it, in this thread."""
    with _collector_waits():
        if sys.version_info >= (3, 12):
            # There `sys.settrace` shows no instruction of a function's first call.
            _monitor(fn, watcher)
        else:
            _trace(fn, watcher)


@contextmanager
def _collector_waits() -> Iterator[None]:
    """Others have it call them (hypothesis does), at any moment."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _trace(fn: Callable[[], object], watcher: Watcher) -> None:
    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        if event == "opcode":
            watcher(frame, frame.f_lasti)
        return trace

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        fn()
    finally:
        sys.settrace(outer)


def _monitor(fn: Callable[[], object], watcher: Watcher) -> None:
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 - 3.11 knows it not
    tool, own, thread = 4, {_monitor.__code__}, get_ident()

    def instruction(code: CodeType, offset: int) -> None:
        # Every thread of the interpreter is shown.
        if code not in own and get_ident() == thread:
            watcher(sys._getframe(1), offset)

    monitoring.use_tool_id(tool, "tests.watching")
    monitoring.register_callback(tool, monitoring.events.INSTRUCTION, instruction)
    monitoring.set_events(tool, monitoring.events.INSTRUCTION)
    try:
        fn()
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)
