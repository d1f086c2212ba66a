"""Numbers on a command line: those that are none are refused where they are read."""

from math import isfinite
from typing import Any

import click


class Amount(click.FloatRange):
    """A number in a range; not ``nan``, which no range keeps out, and not ``inf``."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the number, or fail as one of usage."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value!r} is no number: leave the option out", param, ctx)
        return number


SECONDS = Amount(0, min_open=True)
DOLLARS = Amount(0)
