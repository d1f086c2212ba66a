"""Restarting a run that failed, from its own history.

1. A restart is one more run of the same State: what was done is not done again.
2. More failures than allowed, within the time, end it: the last one is raised.
"""

from collections import deque
from typing import Any

import attrs
import trio

from protocol import ActorClosed, BudgetExceeded


def _positive(_: object, field: "attrs.Attribute[Any]", value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not value > 0:  # type: ignore[operator] # a number, as just asked
        raise ValueError(f"Restart({field.name}=...) is a number > 0, not {value!r}")


@attrs.frozen(kw_only=True)
class Restart:
    """How often a run may fail and begin again."""

    times: int = attrs.field(validator=_positive)
    """Failures that are met with a restart ..."""
    within_s: float = attrs.field(default=60.0, validator=_positive)
    """... in any stretch of so many seconds; one more is raised."""
    backoff_s: float = attrs.field(default=1.0, validator=_positive)
    """Seconds before the first restart; each further one waits twice as long."""


class Restarts:
    """The restarts of one run."""

    __slots__ = ("_began_at", "_failures", "_policy")

    def __init__(self, policy: Restart) -> None:
        self._policy = policy
        self._failures: deque[float] = deque()
        self._began_at: float | None = None

    def since(self, now: float) -> float:
        """When the run began for the first time: now, if it has not begun before."""
        if self._began_at is None:
            self._began_at = now
        return self._began_at

    async def again(self, error: BaseException | None) -> bool:
        """Whether to begin again after this; waits for the back-off first.

        Cancelled while it waits, it raises and nothing begins.
        """
        if not isinstance(error, Exception) or isinstance(error, _FINAL):
            return False
        now = trio.current_time()
        failures = self._failures
        while failures and now - failures[0] > self._policy.within_s:
            failures.popleft()
        if len(failures) >= self._policy.times:
            return False
        await trio.sleep(self._policy.backoff_s * 2 ** len(failures))
        failures.append(now)
        return True


_FINAL = (trio.Cancelled, BudgetExceeded, ActorClosed)
"""What a second try would meet again."""
