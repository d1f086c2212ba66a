"""Kits and fakes to test agents, and what you build for them."""

from ._check_reporter import check_reporter as check_reporter
from ._check_store import check_store as check_store
from ._fakes import FakeHuman as FakeHuman
from ._fakes import FakeModel as FakeModel
from ._fakes import tool_call as tool_call

__all__ = ["FakeHuman", "FakeModel", "check_reporter", "check_store", "tool_call"]

for _name in __all__:
    globals()[_name].__module__ = __name__  # tracebacks name the public path
