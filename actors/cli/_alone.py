"""One fleet at a time on one store."""

from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


@contextmanager
def alone_on(store: Path) -> Generator[None]:
    """Keep other fleets off a store in the block.

    Two of them would take each other's States over in the middle of a turn. The lock
    is a file of its own: SQLite loses its locks when somebody else closes its file. It
    goes with the process, however that ends, and the empty file stays: who removed it
    would let two in. Where the system has no such locks there is none.

    Raises:
        BlockingIOError: another fleet is at work on the store.
        OSError: the file cannot be made.
    """
    if find_spec("fcntl") is None:
        yield
        return
    import fcntl

    with Path(f"{store}-fleet").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
