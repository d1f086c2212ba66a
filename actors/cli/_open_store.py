"""From the word on the command line to a store."""

from pathlib import Path

import click

from actors import FileStore, PostgresStore, SQLiteStore, Store, StoreDamaged

_POSTGRES = ("postgresql://", "postgres://")
_DATABASES = frozenset({".db", ".sqlite"})


def opened(ctx: click.Context, param: click.Parameter, value: str) -> Store:
    """Open the store, which has to be there."""
    store = _opened(value, ctx, param)
    if store is None:
        raise click.BadParameter(
            f"there is no store at {value!r}: name the folder of a FileStore, the "
            f"file of a SQLiteStore, or a postgresql:// address",
            ctx,
            param,
        )
    return store


def opened_or_made(ctx: click.Context, param: click.Parameter, value: str) -> Store:
    """Open the store, or make one: a folder, unless the name ends in .db or .sqlite."""
    store = _opened(value, ctx, param)
    if store is not None:
        return store
    place = Path(value)
    return SQLiteStore(place) if place.suffix in _DATABASES else FileStore(place)


def _opened(value: str, ctx: click.Context, param: click.Parameter) -> Store | None:
    place = Path(value)
    try:
        if value.startswith(_POSTGRES):
            return PostgresStore(value)
        if place.is_dir():
            return FileStore(place)
        return SQLiteStore(place) if place.is_file() else None
    except (OSError, ImportError, StoreDamaged) as fault:
        raise click.BadParameter(
            f"cannot open {value!r}: {fault}", ctx, param
        ) from None
