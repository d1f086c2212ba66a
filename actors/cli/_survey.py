"""`callboard survey`: one State for each file of a folder, and a table of them.

1. Each Python file below the folder gets one State; what the rule finds is its answer.
2. A file that cannot be read or parsed is a finding with a fault, never a failure.
3. Only a folder that cannot be surveyed at all is an error of usage (exit code 2).
"""

import os
import stat
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from actors import Message, State

from ._rule import Finding, examine

# Twenty rows and the sums fit on one screen.
_ROWS_MAX = 20
_FAULTS_MAX = 10
# Wide enough that a pipe gets each row on one line.
_PLAIN_COLUMNS = 160
# Other people's files, and what Python makes of ours.
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})


@click.command()
@click.argument(
    "folder",
    required=False,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
def survey(folder: Path | None) -> None:
    """Survey the Python files below FOLDER (default: the standard library)."""
    root = Path(sysconfig.get_path("stdlib")) if folder is None else folder
    files = sorted(_python_files(root))
    if not files:
        raise click.BadParameter(
            f"no Python file below {str(root)!r}: name a folder that has some",
            param_hint="FOLDER",
        )
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PLAIN_COLUMNS)
    steps = track(files, "Surveying", console=console, disable=not console.is_terminal)
    states = [_survey_file(path, root) for path in steps]
    _show(console, root, states)


def _python_files(root: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(root):
        inner[:] = [
            name
            for name in inner
            if name not in _SKIPPED_FOLDERS and not name.startswith(".")
        ]
        yield from (Path(folder, name) for name in names if name.endswith(".py"))


def _survey_file(path: Path, root: Path) -> State:
    name = _printable(path.relative_to(root))
    state = State(
        messages=[Message.user(f"Survey the Python file {name}")],
        extra_data={"file": name},
    )
    state.finish(_read(path))
    return state


def _printable(path: Path) -> str:
    """A name that is not UTF-8 has lone surrogates, which no record may hold."""
    return os.fsencode(path).decode("utf-8", "replace")


def _read(path: Path) -> Finding:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            # Reading a pipe that is named like a module would wait for ever.
            return Finding(fault="not readable: not a regular file")
        source = path.read_bytes()
    except OSError as error:
        return Finding(fault=f"not readable: {error.strerror}")
    return examine(source)


def _show(console: Console, root: Path, states: Sequence[State]) -> None:
    read = [state for state in states if state.answer["fault"] is None]
    faulty = [state for state in states if state.answer["fault"] is not None]
    read.sort(key=lambda state: -state.answer["longest_lines"])
    console.print(_table(console, root, read), markup=False)
    console.print(_sums(read), markup=False, highlight=False)
    if not faulty:
        return
    console.print(f"{len(faulty):,} files without counts:", highlight=False)
    for state in faulty[:_FAULTS_MAX]:
        line = f"  {state.extra_data['file']}: {state.answer['fault']}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if len(faulty) > _FAULTS_MAX:
        console.print(f"  and {len(faulty) - _FAULTS_MAX:,} more", highlight=False)


def _table(console: Console, root: Path, states: list[State]) -> Table:
    table = Table(
        title=escape(f"Longest functions below {_printable(root)}"),
        title_justify="left",
        box=box.SIMPLE if console.is_terminal else None,
    )
    table.add_column("file", overflow="fold")
    # Short headings leave room for the names on a terminal of 80 columns.
    for heading in ("lines", "defs", "classes", "no doc"):
        table.add_column(heading, justify="right")
    table.add_column("longest", overflow="fold")
    table.add_column("lines", justify="right")
    for state in states[:_ROWS_MAX]:
        table.add_row(escape(state.extra_data["file"]), *_cells(state))
    return table


def _cells(state: State) -> Iterator[str]:
    found = state.answer
    for field in ("lines", "functions", "classes", "undocumented"):
        yield f"{found[field]:,}"
    yield found["longest"] or ""
    yield f"{found['longest_lines']:,}"


def _sums(states: list[State]) -> str:
    def total(field: str) -> str:
        return f"{sum(state.answer[field] for state in states):,}"

    return (
        f"{len(states):,} files, {total('lines')} lines, "
        f"{total('functions')} functions, {total('classes')} classes, "
        f"{total('undocumented')} public names undocumented"
    )
