"""`callboard survey`: a lead, one subagent for each file of a folder, and a table.

1. Each Python file below the folder gets one subagent; what its tool finds is its row.
2. A file that cannot be read or parsed is a finding with a fault, never a failure.
3. Only a folder that cannot be surveyed at all is an error of usage (exit code 2).
"""

import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import click
import trio
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from actors import Agent, Message, Run, State, open_supervisor
from protocol import ProviderError

from ._console import console_of_results
from ._progress import used
from ._rule import Finding
from ._shift import STOPPED
from ._surveyors import Folder, findings, lead_of, printable

# Twenty rows and the sums fit on one screen.
_ROWS_MAX = 20
_FAULTS_MAX = 10
_PAINT_EVERY_S = 0.2

Found: TypeAlias = tuple[str, Finding]
"""A file's name, and what was found in it."""


@click.command(short_help="Survey the Python files below a folder.")
@click.argument(
    "folder",
    required=False,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option("--model", help="A model in place of the rules that are built in.")
@click.option("--base-url", help="Where that model is.")
def survey(folder: Path | None, model: str | None, base_url: str | None) -> None:
    """Survey the Python files below FOLDER (default: the standard library).

    A lead agent lists them, and sends a subagent to each.
    """
    root = Path(sysconfig.get_path("stdlib")) if folder is None else folder
    files = Folder(root)
    if not files.files:
        raise click.BadParameter(
            f"no Python file below {str(root)!r}: name a folder that has some",
            param_hint="FOLDER",
        )
    if base_url and not model:
        raise click.UsageError("--base-url says where --model is: give both")
    try:
        lead = lead_of(files, model, base_url)
    except ValueError as fault:
        raise click.UsageError(str(fault)) from fault
    console = console_of_results()
    state = State(messages=[Message.user(f"Survey {printable(root)}")])
    try:
        trio.run(_run, console, lead, state, len(files.files))
    except ProviderError as fault:
        raise click.ClickException(str(fault)) from fault
    except BaseException as fault:
        if not _is_ctrl_c(fault):
            raise
        click.echo("stopped: Ctrl+C was pressed", err=True)
        raise SystemExit(STOPPED) from None
    _show(console, root, findings(state))
    console.print(_told(state), markup=False, highlight=False)


def _is_ctrl_c(fault: BaseException) -> bool:
    """Whether this is Ctrl+C and nothing else, in groups or alone."""
    parts: Sequence[BaseException] = getattr(fault, "exceptions", ())
    if parts:
        return all(map(_is_ctrl_c, parts))
    return isinstance(fault, KeyboardInterrupt)


async def _run(console: Console, lead: Agent, state: State, files: int) -> None:
    caught: Exception | None = None
    async with open_supervisor() as supervisor, trio.open_nursery() as nursery:
        run = supervisor.start(lead, state)
        nursery.start_soon(_paint, console, run, files)
        try:
            await run.wait()
        except Exception as error:  # noqa: BLE001 - it goes on below, ungrouped
            caught = error
        nursery.cancel_scope.cancel()
    if caught is not None:
        raise caught


async def _paint(console: Console, run: Run, files: int) -> None:
    """Show how many surveyors are back, until cancelled."""
    if not console.is_terminal:
        return
    with Progress(console=console, transient=True, auto_refresh=False) as progress:
        bar = progress.add_task("Surveying", total=files)
        while True:
            if run.state.phase == "calling":
                left = len(run.state.pending_calls)
                progress.update(bar, completed=files - left, refresh=True)
            await trio.sleep(_PAINT_EVERY_S)


def _told(state: State) -> str:
    """What the lead says, and what the tree came to."""
    sent = sum(e.kind == "tool_result" and bool(e.child_ids) for e in state.history)
    return f"{state.answer}\n1 lead, {sent:,} surveyors: {used(state.usage)}"


def _show(console: Console, root: Path, found: Sequence[Found]) -> None:
    read = [(name, each) for name, each in found if each.fault is None]
    faulty = [(name, each) for name, each in found if each.fault is not None]
    read.sort(key=lambda row: -row[1].longest_lines)
    console.print(_table(console, root, read), markup=False)
    console.print(_sums([each for _, each in read]), markup=False, highlight=False)
    if not faulty:
        return
    console.print(f"{len(faulty):,} files without counts:", highlight=False)
    for name, each in faulty[:_FAULTS_MAX]:
        line = f"  {name}: {each.fault}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if len(faulty) > _FAULTS_MAX:
        console.print(f"  and {len(faulty) - _FAULTS_MAX:,} more", highlight=False)


def _table(console: Console, root: Path, found: Sequence[Found]) -> Table:
    table = Table(
        title=escape(f"Longest functions below {printable(root)}"),
        title_justify="left",
        box=box.SIMPLE if console.is_terminal else None,
    )
    table.add_column("file", overflow="fold")
    # Short headings leave room for the names on a terminal of 80 columns.
    for heading in ("lines", "defs", "classes", "no doc"):
        table.add_column(heading, justify="right")
    table.add_column("longest", overflow="fold")
    table.add_column("lines", justify="right")
    for name, each in found[:_ROWS_MAX]:
        table.add_row(escape(name), *_cells(each))
    return table


def _cells(found: Finding) -> Iterator[str]:
    for count in (found.lines, found.functions, found.classes, found.undocumented):
        yield f"{count:,}"
    yield escape(found.longest or "")
    yield f"{found.longest_lines:,}"


def _sums(found: Sequence[Finding]) -> str:
    def total(field: str) -> str:
        return f"{sum(getattr(each, field) for each in found):,}"

    return (
        f"{len(found):,} files, {total('lines')} lines, "
        f"{total('functions')} functions, {total('classes')} classes, "
        f"{total('undocumented')} public names undocumented"
    )
