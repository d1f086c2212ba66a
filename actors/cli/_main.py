"""The group of commands; each command has a module of its own."""

import click

from ._doctor import doctor
from ._survey import survey


@click.group()
@click.version_option(package_name="callboard")
def main() -> None:
    """Run and inspect agents that are actors."""


main.add_command(doctor)
main.add_command(survey)
