"""`callboard experiment`: cancel the user's own agents at every step, and draw it.

1. Every failure comes with the command that repeats it alone.
2. Ctrl+C once ends with the run that is under way and writes what was found.
3. Exit codes: 0 nothing broke, 1 something did, 2 usage, 130 stopped.
"""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from protocol._rules import told

from ._console import console_of
from ._numbers import SECONDS
from ._open_store import check_folder
from ._shift import STOPPED
from ._written import check_page

if TYPE_CHECKING:
    from ._sweeper import Sweeper, Wanted

SEEDS = 20
"""Orders of tasks: half of them in turns, half in which some fall behind."""

TIMEOUT_S = 30.0
"""Seconds for a run: one of a script takes milliseconds, and a grace is 5 s."""

STEPS_MAX = 1_000_000
"""The last step of ``A:``: no run takes so many."""

_FILE = click.Path(dir_okay=False, path_type=Path)
_UNNAMED = Path("experiment.html")


def _steps(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> Sequence[int | None] | None:
    """Read ``12``, ``10:20``, ``10:``, ``:20`` or ``none``."""
    if value is None:
        return None
    if value == "none":
        return (None,)
    match = re.fullmatch(r"(\d*)(:?)(\d*)", value)
    if match is None or not (match[1] or match[3]):
        raise click.BadParameter(
            f"{value!r} names no steps: write 12, or 10:20 for those from 10 to 20, or "
            f"'none' for the run that is not cancelled",
            ctx,
            param,
        )
    first = int(match[1] or 0)
    last = int(match[3] or STEPS_MAX) if match[2] else first
    if last < first:
        raise click.BadParameter(f"{value!r} ends before it begins", ctx, param)
    return range(first, last + 1)


@click.command()
@click.argument("scenario", metavar="MODULE:SCENARIO")
@click.option(
    "--invariant",
    "invariants",
    multiple=True,
    metavar="MODULE:NAME",
    help="What must be true after each run, beside what the runtime promises.",
)
@click.option("--prompt", help="What SCENARIO is asked, if it is an Agent.")
@click.option("--model", help="A model in place of that Agent's own.")
@click.option("--base-url", help="Where that model is.")
@click.option("--seeds", type=click.IntRange(1), help=f"Orders of tasks [{SEEDS}].")
@click.option("--seed", type=click.IntRange(0), help="Only this one.")
@click.option(
    "--steps",
    callback=_steps,
    metavar="A:B",
    help="Cancel after these steps only; 'none' does not cancel.",
)
@click.option(
    "--timeout-s",
    type=SECONDS,
    default=TIMEOUT_S,
    show_default=True,
    help="Seconds that a run may take.",
)
@click.option(
    "--out", type=_FILE, help=f"The page [{_UNNAMED}; of a single run there is none]."
)
@click.option("--quiet", is_flag=True, help="Show nothing.")
def experiment(scenario: str, invariants: tuple[str, ...], **given: Any) -> None:
    """Cancel SCENARIO after each of its steps, and draw what broke.

    SCENARIO is an async function of yours, called afresh for each run, or an Agent with
    a --prompt. What the runtime promises is checked after every run, and your
    invariants.
    """
    from ._scenario import bench_of
    from ._sweeper import Sweeper
    from ._verdict import sum_up

    wanted = _wanted(given)
    asked = {name: given[name] for name in ("prompt", "model", "base_url")}
    bench = bench_of(scenario, invariants, **asked)
    sweeper = Sweeper(bench, wanted, console_of(quiet=given["quiet"]))
    command = _command(scenario, invariants, given)
    out = given["out"] or (None if wanted.single else _UNNAMED)

    def write() -> None:
        if out is not None:
            _write(sweeper, scenario, command, invariants, out)

    try:
        sweeper.work(write)
        write()
    except OSError as fault:
        raise click.ClickException(told(fault)) from fault
    summary = sum_up(sweeper, command, single=wanted.single)
    sweeper.say(f"{scenario}: {next(summary)}", *summary)
    if out is not None:
        sweeper.say(f"page: {out}")
    raise SystemExit(_exit_code(sweeper))


def _wanted(given: dict[str, Any]) -> "Wanted":
    from ._sweeper import Wanted

    if given["out"] is not None:
        check_folder(given["out"])
        check_page(given["out"], "--out")
    if given["seed"] is not None and given["seeds"] is not None:
        raise click.UsageError("--seed is one of the --seeds: give one of the two")
    seeds = (given["seed"],) if given["seed"] is not None else None
    return Wanted(
        seeds=seeds or range(given["seeds"] or SEEDS),
        steps=given["steps"],
        timeout_s=given["timeout_s"],
    )


def _command(scenario: str, invariants: Sequence[str], given: dict[str, Any]) -> str:
    """This command without its seeds and steps."""
    words = ["callboard", "experiment", scenario]
    for each in invariants:
        words += ["--invariant", each]
    for name in ("prompt", "model", "base_url"):
        if given[name] is not None:
            words += [f"--{name.replace('_', '-')}", given[name]]
    if given["timeout_s"] != TIMEOUT_S:
        words += ["--timeout-s", f"{given['timeout_s']:g}"]
    return shlex.join(words)


def _write(
    sweeper: "Sweeper",
    scenario: str,
    command: str,
    invariants: Sequence[str],
    out: Path,
) -> None:
    from actors.report._experiment import About, write_experiment

    about = About(
        title=scenario,
        command=command,
        checked=sweeper.checked,
        seconds=sweeper.seconds,
        left=sweeper.left,
    )
    write_experiment(sweeper.sheet, about, out)


def _exit_code(sweeper: "Sweeper") -> int:
    if sweeper.left is not None:
        return STOPPED
    return 1 if sweeper.sheet.broken else 0
