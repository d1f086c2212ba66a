"""The end of a run's time."""

from math import inf

import trio


class Deadline:
    """The end of a run's time, which waiting for a human may leave out."""

    __slots__ = ("_left", "_pauses", "_scope")

    def __init__(self, scope: trio.CancelScope) -> None:
        self._scope = scope
        self._pauses = 0
        self._left = 0.0

    def pause(self) -> None:
        """Stand still, until as many waits have ended as have begun."""
        if not self._pauses:
            self._left = self._scope.deadline - trio.current_time()
            self._scope.deadline = inf
        self._pauses += 1

    def go_on(self) -> None:
        """One wait has ended."""
        self._pauses -= 1
        if not self._pauses:
            self._scope.deadline = trio.current_time() + self._left
