"""`callboard fleet`: ten thousand agents in a night, from one file of tasks.

1. The same command again continues where it was; nothing that is done is done twice.
2. Ctrl+C once begins nothing more and gives what runs a grace; twice stops now.
3. Exit codes: 0 all well, 1 some failed or were cut short, 2 usage, 130 stopped.
"""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click
import trio

from actors import Agent, Limits, SQLiteStore
from actors.report import write_report
from protocol import StoreDamaged
from protocol._rules import told

from ._alone import alone_on
from ._console import console_of
from ._crew import Fleet, Plan
from ._named import named_agent
from ._numbers import DOLLARS, SECONDS
from ._open_store import check_folder
from ._progress import unpriced
from ._results import Spool
from ._shift import Shift
from ._tasks import BadLine, Task, read_tasks
from ._unattended import unattended
from ._written import check_apart, check_page

MAX_RUNNING = 100
"""About what a usual account may ask at once; the gate finds out what is too much."""

_BAD_LINES_MAX = 20

_FILE = click.Path(dir_okay=False, path_type=Path)
_GIVEN_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("tasks", type=_GIVEN_FILE, metavar="TASKS.jsonl")
@click.option("--agent", required=True, metavar="MODULE:NAME", help="Who does them.")
@click.option("--store", type=_FILE, help="Keeps the States [runs.db beside TASKS].")
@click.option("--out", type=_FILE, help="The results [results.jsonl beside TASKS].")
@click.option(
    "--max-running",
    type=click.IntRange(1),
    default=MAX_RUNNING,
    show_default=True,
    help="Tasks at once.",
)
@click.option("--model", help="A model in place of the agent's own.")
@click.option("--base-url", help="Where that model is.")
@click.option("--max-cost", type=DOLLARS, help="Dollars, for all tasks.")
@click.option("--max-requests", type=click.IntRange(0), help="Requests, for all tasks.")
@click.option("--max-tokens", type=click.IntRange(0), help="Tokens, for all tasks.")
@click.option("--timeout-s", type=SECONDS, help="Seconds for each task.")
@click.option("--deadline-s", type=SECONDS, help="Seconds for all tasks.")
@click.option("--retry-failed", is_flag=True, help="Run failed and stopped ones again.")
@click.option("--report", type=_FILE, help="Write an HTML report there, too.")
@click.option("--quiet", is_flag=True, help="Show faults only.")
def fleet(tasks: Path, agent: str, **given: Any) -> None:
    """Run an agent on every line of TASKS.jsonl.

    A line is {"id": ..., "prompt": ..., "extra_data": {...}}, the last one optional.
    The same command again goes on after a stop or a crash.
    """
    store = given["store"] or tasks.with_name("runs.db")
    out = given["out"] or tasks.with_name("results.jsonl")
    for made in (store, out, given["report"] or out):
        check_folder(made)
    page = given["report"]
    check_apart({"TASKS": tasks, "--store": store, "--out": out, "--report": page})
    if page:
        check_page(page, "--report")
    chosen = _agent(agent, given)
    if given["max_cost"] is not None and (fault := unpriced(chosen)):
        _refuse(f"cannot keep to --max-cost, {fault}; or bound --max-tokens")
    good, bad = _read(tasks)
    names = [task.id for task in good]
    with _opened(store) as kept, Spool() as spool:
        crew = Fleet(_plan(chosen.copy(store=kept), good, given), spool)
        shift = Shift(crew, console_of(quiet=given["quiet"]))
        try:
            # Ctrl+C is a signal that the shift listens to; what guards every task
            # against it otherwise is a seventh of what a switch costs.
            trio.run(
                shift.work,
                lambda: spool.write_to(out, names),
                restrict_keyboard_interrupt_to_checkpoints=True,
            )
            shift.sum_up(out)
            if page:
                write_report(kept, names, page, title=tasks.name)
        except (OSError, StoreDamaged) as fault:
            raise click.ClickException(told(fault)) from fault
    raise SystemExit(shift.exit_code(faults=bool(bad)))


@contextmanager
def _opened(place: Path) -> Generator[SQLiteStore]:
    """The store, for this fleet alone; a fault in opening it is one of usage."""
    with ExitStack() as stack:
        try:
            stack.enter_context(alone_on(place))
            store = stack.enter_context(SQLiteStore(place))
        except BlockingIOError:
            _refuse(f"another fleet is at work on {str(place)!r}: wait, or stop it")
        except (OSError, StoreDamaged) as fault:
            _refuse(f"cannot keep States in {str(place)!r}: {told(fault)}")
        yield store


def _agent(name: str, given: dict[str, Any]) -> Agent:
    """The agent as the fleet runs it; a fault is one of usage."""
    settings = {key: given[key] for key in ("model", "base_url", "timeout_s")}
    try:
        return unattended(named_agent(name), **settings)
    except Exception as fault:
        own = isinstance(fault, ValueError | TypeError)
        raise click.UsageError(str(fault) if own else told(fault)) from fault


def _plan(agent: Agent, tasks: Sequence[Task], given: dict[str, Any]) -> Plan:
    return Plan(
        agent=agent,
        store=agent.store,
        tasks=tasks,
        max_running=given["max_running"],
        limits=Limits(
            cost=given["max_cost"],
            requests=given["max_requests"],
            tokens=given["max_tokens"],
        ),
        deadline_s=given["deadline_s"],
        retry_failed=given["retry_failed"],
    )


def _read(path: Path) -> tuple[list[Task], list[BadLine]]:
    found = read_tasks(path)
    for line in found.bad[:_BAD_LINES_MAX]:
        click.echo(f"{path}:{line.number}: {line.fault}", err=True)
    if len(found.bad) > _BAD_LINES_MAX:
        more = len(found.bad) - _BAD_LINES_MAX
        click.echo(f"{path}: and {more:,} more bad lines", err=True)
    if not found.tasks:
        _refuse(f'no task in {str(path)!r}: a line is {{"id": ..., "prompt": ...}}')
    return found.tasks, found.bad


def _refuse(text: str) -> NoReturn:
    raise click.UsageError(text)
