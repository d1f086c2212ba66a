"""Where States are kept: in memory, in files, in SQLite, in PostgreSQL."""

from ._lease import refuse_conflict as refuse_conflict
from ._memory import MemoryStore as MemoryStore
from ._record import Record as Record
from ._record import Saved as Saved
from ._store import Store as Store

__all__ = ["MemoryStore", "Record", "Saved", "Store", "refuse_conflict"]

for _name in __all__:
    globals()[_name].__module__ = "actors"  # pickles and tracebacks name this path
