"""A module that misses another: `--agent tests.actors.cli.lacking:agent`."""

import surely_not  # noqa: F401 - there is none
