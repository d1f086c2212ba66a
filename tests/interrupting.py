"""Raising where Ctrl+C could: at the k-th place where the interpreter looks for it.

CPython runs signal handlers when a function begins, after each call, and when a loop
jumps back. In between nothing can be interrupted, so nothing is tried there: leaving a
`with` block, for one, is safe from its last call up to the one that releases the lock.
"""

import dis
from collections.abc import Callable
from functools import cache
from types import CodeType, FrameType

from tests.watching import watch

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
        try:
            watch(fn, self._look)
        except KeyboardInterrupt:
            assert self.where is not None, "somebody really pressed Ctrl+C"
            return True
        finally:
            self._last.clear()
        return False

    def _look(self, frame: FrameType, offset: int) -> None:
        if self.where is not None:
            return
        before = self._last.get(frame, "")
        self._last[frame] = _names(frame.f_code).get(offset, "")
        if before.startswith(CHECKED):
            self.left -= 1
            if self.left == 0:
                self.where = f"{frame.f_code.co_qualname}:{frame.f_lineno}"
                raise KeyboardInterrupt
