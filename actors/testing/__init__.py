"""Kits and fakes to test agents, and what you build for them."""

from ._check_model import check_model as check_model
from ._check_reporter import check_reporter as check_reporter
from ._check_store import check_store as check_store
from ._disk import Fault as Fault
from ._disk import SimulatedDisk as SimulatedDisk
from ._disk import crash_disk as crash_disk
from ._fakes import FakeHuman as FakeHuman
from ._fakes import FakeModel as FakeModel
from ._fakes import tool_call as tool_call
from ._schedule import seeded as seeded
from ._search import SearchReport as SearchReport
from ._search import search_schedules as search_schedules
from ._sweep import SweepReport as SweepReport
from ._sweep import cancel_sweep as cancel_sweep
from ._trial import Trial as Trial
from ._trial import Violation as Violation

__all__ = [
    "FakeHuman",
    "FakeModel",
    "Fault",
    "SearchReport",
    "SimulatedDisk",
    "SweepReport",
    "Trial",
    "Violation",
    "cancel_sweep",
    "check_model",
    "check_reporter",
    "check_store",
    "crash_disk",
    "search_schedules",
    "seeded",
    "tool_call",
]

for _name in __all__:
    globals()[_name].__module__ = __name__  # tracebacks name the public path
