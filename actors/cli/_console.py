"""Where the commands that take long show how they are getting on."""

from rich.console import Console

_PLAIN_COLUMNS = 160


def console_of(*, quiet: bool) -> Console:
    """The console on standard error; results that a pipe reads are not among it.

    Args:
        quiet: Whether it shows nothing.
    """
    console = Console(stderr=True, quiet=quiet, highlight=False, markup=False)
    if not console.is_terminal:
        return Console(
            stderr=True,
            quiet=quiet,
            highlight=False,
            markup=False,
            width=_PLAIN_COLUMNS,
        )
    return console
