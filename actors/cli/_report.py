"""`callboard report`: a conversation and everything below it, as one HTML file."""

from pathlib import Path

import click

from actors import Store, StoreDamaged
from actors.report import write_report

from ._open_store import check_folder, opened
from ._written import check_page


@click.command(short_help="Write what a State and those below it did, as HTML.")
@click.argument("store", callback=opened)
@click.argument("state_id", metavar="ID")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The file to write.",
)
def report(store: Store, state_id: str, out: Path) -> None:
    """Write what the State ID in STORE and its subtree did, as one HTML file.

    STORE is the folder of a FileStore, the file of a SQLiteStore, or a postgresql://
    address.
    """
    check_folder(out)
    check_page(out, "--out")
    with store:
        if not _is_there(store, state_id):
            raise click.ClickException(
                f"the store has no State {state_id!r}: 'callboard show' lists them"
            )
        try:
            count = write_report(store, [state_id], out, title=state_id)
        except OSError as fault:
            raise click.ClickException(str(fault)) from fault
    click.echo(f"{count:,} agent{'' if count == 1 else 's'} in {out}")


def _is_there(store: Store, state_id: str) -> bool:
    """Whether the store has the State, damaged or not."""
    try:
        return store.read(state_id) is not None
    except StoreDamaged:
        return True
