"""What an experiment came to, as lines for a person."""

import traceback
from collections.abc import Iterator
from pathlib import Path

from actors.report._sheet import Breach, Sheet, Suspect
from actors.testing._where import is_users

from ._progress import in_time
from ._sweeper import Sweeper

SUSPECTS_SHOWN = 3
"""Lines of the user's that are named of an invariant that broke."""


def sum_up(sweeper: Sweeper, command: str, *, single: bool) -> Iterator[str]:
    """Say what was run, what broke and where, and how it is repeated.

    Args:
        sweeper: What has run.
        command: The command without its seeds and steps.
        single: Whether it was one run: then all of it is told, and not how to repeat
            it.
    """
    sheet, checked = sweeper.sheet, len(sweeper.checked)
    yield f"{_runs(sheet)}, in {in_time(sweeper.seconds)}"
    if sweeper.left is not None:
        yield f"{sweeper.left}: the rest was not tried"
    elif sweeper.in_vain:
        yield "no run was cancelled: all of them ended before these steps"
    broken = len(sheet.breaches)
    if broken:
        yield f"{_count(sheet.broken, 'run')} broke {broken} of {checked} invariants:"
    else:
        yield f"nothing broke: {checked} invariants held"
    for breach in sheet.breaches.values():
        yield f"  {breach.invariant}: in {_count(breach.runs, 'run')}"
        told = _trace(breach) if single else _repeated(sheet, breach, command)
        for line in (*breach.fault.text.splitlines(), *told):
            yield f"    {line}"
    if single:
        yield from _stood(sheet)


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def _runs(sheet: Sheet) -> str:
    runs, orders = _count(sheet.runs, "run"), _count(len(sheet.rows), "order")
    # A run that the cancel has ended does not tell how many steps there are.
    most = f" of up to {_count(sheet.steps, 'step')}" if sheet.steps else ""
    return f"{runs}{most} in {orders}"


def _repeated(sheet: Sheet, breach: Breach, command: str) -> Iterator[str]:
    yield from map(_suspected, sheet.suspects(breach)[:SUSPECTS_SHOWN])
    step = "none" if breach.step is None else breach.step
    yield f"again: {command} --seed {breach.seed} --steps {step}"


def _suspected(suspect: Suspect) -> str:
    file, line, function = suspect.frame
    return (
        f"{suspect.broken:,} of {_count(suspect.runs, 'run')} cancelled with "
        f"{suspect.who} at {Path(file).name}:{line} {function}"
    )


def _trace(breach: Breach) -> list[str]:
    """The way of the error through the user's code."""
    error, trace = breach.error, breach.error.__traceback__
    while trace is not None and not is_users(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).splitlines()


def _stood(sheet: Sheet) -> Iterator[str]:
    """Where a single run stood when it was cancelled."""
    for scene in sheet.scenes.values:
        spots = [*([] if scene.spot is None else [scene.spot]), *scene.others]
        yield "when it was cancelled:"
        yield from (f"  {spot.at}" for spot in spots)
        yield f"  open: {', '.join(scene.open) or 'nothing'}"
