"""A module that cannot be imported: `--agent tests.actors.cli.broken:agent`."""

1 / 0
