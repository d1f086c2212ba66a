"""Where commands write: results to standard output, how they are getting on beside."""

from rich.console import Console

_PLAIN_COLUMNS = 160
"""Wide enough that a pipe gets each row on one line."""


def console_of_results() -> Console:
    """The console on standard output, for what a command was asked for."""
    return _wide_enough(Console())


def console_of(*, quiet: bool) -> Console:
    """The console on standard error; results that a pipe reads are not among it.

    Args:
        quiet: Whether it shows nothing.
    """
    console = Console(stderr=True, quiet=quiet, highlight=False, markup=False)
    return _wide_enough(console)


def _wide_enough(console: Console) -> Console:
    if not console.is_terminal:
        console.width = _PLAIN_COLUMNS
    return console
