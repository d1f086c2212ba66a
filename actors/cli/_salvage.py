"""`callboard salvage`: save what can be read of damaged States into another store."""

from collections.abc import Iterator
from pathlib import Path

import click

from actors import Store, StoreConflict, StoreDamaged, salvage
from protocol._ids import check_state_id

from ._open_store import GIVEN, opened, opened_or_made

_PAGE_ROWS = 200


def _target(ctx: click.Context, param: click.Parameter, value: str) -> Store:
    """Open or make the store to save into; nothing is made of what is an id."""
    store: Store = ctx.params["store"]
    if _is_same(ctx.meta[GIVEN], value):
        store.close()
        raise click.BadParameter(
            f"{value!r} is STORE itself, and what is damaged stays as it is: name "
            f"another store, a new folder or a file that ends in .db",
            ctx,
            param,
        )
    if not Path(value).exists() and _is_id(store, value):
        store.close()
        raise click.BadParameter(
            f"{value!r} is a State in STORE: the store to save it into stands in front "
            f"of it, a new folder or a file that ends in .db: "
            f"'callboard salvage STORE INTO {value}'",
            ctx,
            param,
        )
    return opened_or_made(ctx, param, value)


def _is_same(one: str, other: str) -> bool:
    first, second = Path(one), Path(other)
    if first.exists() and second.exists():
        return first.samefile(second)
    return one == other


def _is_id(store: Store, text: str) -> bool:
    try:
        return store.read(check_state_id(text)) is not None
    except StoreDamaged:
        return True
    except (ValueError, OSError):
        return False  # no id looks like this, or nobody knows


@click.command(name="salvage", short_help="Save what can be read of a damaged store.")
@click.argument("store", callback=opened)
@click.argument("into", callback=_target)
@click.argument("state_ids", metavar="[ID]...", nargs=-1)
def salvage_command(store: Store, into: Store, state_ids: tuple[str, ...]) -> None:
    """Save what can be read of the States ID in STORE into the store INTO.

    STORE is the folder of a FileStore, the file of a SQLiteStore, or a postgresql://
    address, and so is INTO; when there is nothing yet, INTO is made: a file if it ends
    in .db or .sqlite, and otherwise a folder.

    Without an ID it saves all States. STORE is only read. Of a damaged State the
    entries in front of the damage are kept, under its id; INTO must not have it yet.
    """
    failed = 0
    with store, into:
        for state_id in state_ids or _all(store):
            try:
                saved = salvage(store, state_id, into)
            except (LookupError, TypeError, OSError, StoreConflict, StoreDamaged) as no:
                failed += 1
                click.echo(f"{state_id}: not saved: {no}", err=True)
                continue
            lost = ""
            if saved.lost_entries or saved.lost_records:
                lost = (
                    f"; behind the damage {saved.lost_records} whole records and "
                    f"{saved.lost_entries} entries are lost"
                )
            click.echo(f"{state_id}: {saved.entries} entries saved{lost}")
    if failed:
        raise click.ClickException(f"{failed} States were not saved")


def _all(store: Store) -> Iterator[str]:
    page = store.list(limit=_PAGE_ROWS)
    while page:
        for saved in page:
            yield saved.id
        page = store.list(limit=_PAGE_ROWS, after=page[-1])
