"""Raising where Ctrl+C could: at the k-th place where the interpreter looks for it.

CPython runs signal handlers when a function begins, after each call, and when a loop
jumps back. In between nothing can be interrupted, so nothing is tried there: leaving a
`with` block, for one, is safe from its last call up to the one that releases the lock.
"""

import dis
import sys
from collections.abc import Callable
from functools import cache
from types import CodeType, FrameType
from typing import Any

CHECKED = ("CALL", "JUMP_BACKWARD", "RESUME")
"""How the names of the instructions begin that look for signals."""


@cache
def _names(code: CodeType) -> dict[int, str]:
    return {each.offset: each.opname for each in dis.get_instructions(code)}


class Interrupt:
    """Runs functions, and raises KeyboardInterrupt at the k-th chance in them."""

    def __init__(self, k: int) -> None:
        self.left = k
        self.where: str | None = None
        self._last: dict[FrameType, str] = {}

    def run(self, fn: Callable[[], object]) -> bool:
        """Run `fn`; False when it ended before the k-th chance."""
        outer = sys.gettrace()
        sys.settrace(self._trace)
        try:
            fn()
        except KeyboardInterrupt:
            assert self.where is not None, "somebody really pressed Ctrl+C"
            return True
        finally:
            sys.settrace(outer)
            self._last.clear()
        return False

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code is _RUN:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        if event == "opcode" and self.where is None:
            before = self._last.get(frame, "")
            self._last[frame] = _names(frame.f_code)[frame.f_lasti]
            if before.startswith(CHECKED):
                self._chance(frame)
        return self._trace

    def _chance(self, frame: FrameType) -> None:
        self.left -= 1
        if self.left == 0:
            self.where = f"{frame.f_code.co_qualname}:{frame.f_lineno}"
            raise KeyboardInterrupt


_RUN = Interrupt.run.__code__
