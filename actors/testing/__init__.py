"""Kits and fakes to test agents, and what you build for them."""

from ._check_reporter import check_reporter as check_reporter
from ._check_store import check_store as check_store

__all__ = ["check_reporter", "check_store"]

for _name in __all__:
    globals()[_name].__module__ = __name__  # tracebacks name the public path
