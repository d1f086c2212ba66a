"""Where States are kept: in memory, in files, in SQLite, in PostgreSQL."""

from ._file import FileStore as FileStore
from ._file import TornTailWarning as TornTailWarning
from ._lease import refuse_conflict as refuse_conflict
from ._memory import MemoryStore as MemoryStore
from ._postgres import PostgresStore as PostgresStore
from ._record import Record as Record
from ._record import Saved as Saved
from ._salvage import Salvaged as Salvaged
from ._salvage import salvage as salvage
from ._sqlite import SQLiteStore as SQLiteStore
from ._store import Store as Store

__all__ = [
    "FileStore",
    "MemoryStore",
    "PostgresStore",
    "Record",
    "SQLiteStore",
    "Salvaged",
    "Saved",
    "Store",
    "TornTailWarning",
    "refuse_conflict",
    "salvage",
]

for _name in __all__:
    globals()[_name].__module__ = "actors"  # pickles and tracebacks name this path
