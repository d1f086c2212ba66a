"""The `callboard` command."""

from ._main import main as main

__all__ = ["main"]
