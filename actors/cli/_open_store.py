"""From the word on the command line to a store."""

import shlex
from pathlib import Path

import click

from actors import FileStore, PostgresStore, SQLiteStore, Store, StoreDamaged

GIVEN = "callboard.store"
"""Where a command finds how its store was named."""

_POSTGRES = ("postgresql://", "postgres://")
_DATABASES = frozenset({".db", ".sqlite"})


def opened(ctx: click.Context, param: click.Parameter, value: str) -> Store:
    """Open the store, which has to be there; its word is kept as `GIVEN`."""
    ctx.meta[GIVEN] = value
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
    is_file = place.suffix in _DATABASES
    if is_file:
        check_folder(place, ctx, param)
    try:
        return SQLiteStore(place) if is_file else FileStore(place)
    except OSError as fault:
        text = f"cannot make {value!r}: {fault}"
        raise click.BadParameter(text, ctx, param) from None


def check_folder(
    file: Path,
    ctx: click.Context | None = None,
    param: click.Parameter | None = None,
) -> None:
    """Refuse a file that is to be made in a folder that there is not.

    Raises:
        click.BadParameter: it names the folder.
    """
    if not file.parent.is_dir():
        raise click.BadParameter(
            f"there is no folder {str(file.parent)!r} for {file.name!r}: make it "
            f"(mkdir -p {shlex.quote(str(file.parent))}), or name another file",
            ctx,
            param,
        )


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
