"""The files that a command writes: refused beforehand where that would harm others."""

from pathlib import Path

import click

_PAGE = b"<!doctype html"


def check_apart(files: dict[str, Path | None]) -> None:
    """Refuse one file in two roles: what is written would replace what is kept.

    Args:
        files: The file of each role, by its name on the command line.

    Raises:
        click.UsageError: it names both roles.
    """
    seen: dict[Path, str] = {}
    for role, file in files.items():
        if file is None:
            continue
        other = seen.setdefault(file.resolve(), role)
        if other != role:
            raise click.UsageError(
                f"{role} would write over {other}, {str(file)!r}: name another file"
            )


def check_page(file: Path, option: str) -> None:
    """Refuse to write a page over a file that is there and is none.

    Raises:
        click.UsageError: it names the file.
    """
    if not file.is_file():
        return
    with file.open("rb") as found:
        start = found.read(len(_PAGE))
    if start and start.lower() != _PAGE:
        raise click.UsageError(
            f"{option} would write a page over {str(file)!r}, which is none: name "
            f"another file"
        )
