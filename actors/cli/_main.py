"""The group of commands; each command has a module of its own."""

import click

from ._doctor import doctor
from ._experiment import experiment
from ._fleet import fleet
from ._report import report
from ._salvage import salvage_command
from ._show import show
from ._survey import survey


@click.group()
@click.version_option(package_name="callboard")
def main() -> None:
    """Run and inspect agents that are actors."""


main.add_command(doctor)
main.add_command(experiment)
main.add_command(salvage_command)
main.add_command(show)
main.add_command(fleet)
main.add_command(report)
main.add_command(survey)
