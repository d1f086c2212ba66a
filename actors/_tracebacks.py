"""Tracebacks that a person reads: the lines of his own code, and where it broke."""

from collections.abc import Iterator
from types import TracebackType

_RUNTIME = frozenset({"actors", "protocol", "trio", "outcome", "contextlib"})
"""Packages whose frames between those of other code say nothing about it."""


def shorten(error: BaseException) -> None:
    """Leave out of a traceback what the runtime did on the way to other code.

    All frames behind the last one of other code stay: there it was raised. Without
    any other code nothing is left out.
    """
    steps = list(_steps(error.__traceback__))
    others = [place for place, step in enumerate(steps) if not _is_runtime(step)]
    if not others:
        return
    last = others[-1]
    kept = [steps[place] for place in others] + steps[last + 1 :]
    shorter: TracebackType | None = None
    for step in reversed(kept):
        shorter = TracebackType(shorter, step.tb_frame, step.tb_lasti, step.tb_lineno)
    error.__traceback__ = shorter


def _steps(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _is_runtime(step: TracebackType) -> bool:
    name = str(step.tb_frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] in _RUNTIME
