"""A store in a PostgreSQL database, for processes on many machines."""

from functools import partial
from importlib.util import find_spec

from ._file import Durability, is_full
from ._tables import TableStore
from ._writer import Writer


class PostgresStore(TableStore):
    """Keeps States in two tables of a PostgreSQL database, which it makes itself.

    One thread writes, and commits all that waits at once. It connects at the first
    use, and again when the connection was lost.

    Args:
        dsn: Where the database is: ``"postgresql://user@host/name"`` or
            ``"host=... dbname=..."``.
        durability: ``"full"``: a write returns when the server has it on disk.
            ``"relaxed"``: a crash of the server may take the writes of the last
            fraction of a second.

    Raises:
        ValueError: there is no such durability.
        ImportError: psycopg is not installed.
    """

    def __init__(self, dsn: str, *, durability: Durability = "full") -> None:
        if find_spec("psycopg") is None:
            raise ImportError(
                "PostgresStore needs psycopg: pip install 'callboard[postgres]'"
            )
        from . import _postgres_tables as postgres

        full = is_full(durability)
        self._writer = Writer(
            "callboard-postgres", partial(postgres.PostgresCommitter, dsn, full=full)
        )
        self._tables = postgres.PostgresTables(dsn, full=full)
        self._delete = postgres.delete
