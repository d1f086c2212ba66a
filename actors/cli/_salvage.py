"""`callboard salvage`: save what can be read of damaged States into another store."""

from collections.abc import Iterator

import click

from actors import Store, StoreConflict, StoreDamaged, salvage

from ._open_store import opened, opened_or_made

_PAGE_ROWS = 200


@click.command(name="salvage")
@click.argument("store", callback=opened)
@click.argument("into", callback=opened_or_made)
@click.argument("state_ids", metavar="[ID]...", nargs=-1)
def salvage_command(store: Store, into: Store, state_ids: tuple[str, ...]) -> None:
    """Save what can be read of the States ID in STORE into the store INTO.

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
