"""`python -m actors` is the `callboard` command."""

from actors.cli import main

main(prog_name="callboard")
