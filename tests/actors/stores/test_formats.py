"""What earlier versions have stored is read for ever.

The files of a version are written once and never again: a new version of a format gets
files of its own beside them.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from actors import FileStore, Message, SQLiteStore, Store
from protocol._codec import from_json

DATA = Path(__file__).parents[2] / "data" / "stores"


def files_1(place: Path) -> Store:
    shutil.copy(DATA / "golden-1.log", place / "golden.log")
    return FileStore(place)


def sqlite_1(place: Path) -> Store:
    shutil.copy(DATA / "states-1.db", place / "states.db")
    return SQLiteStore(place / "states.db")


@pytest.mark.parametrize("make", [files_1, sqlite_1])
def test_what_a_version_has_stored_is_read_and_written_on(
    make: Callable[[Path], Store], tmp_path: Path
) -> None:
    lines = (DATA / "golden.jsonl").read_text("utf-8").strip("\n").split("\n")
    with make(tmp_path) as store:
        (listed,) = store.list(agent="golden")
        assert (listed.info["title"], listed.info["turn"]) == ("begin", len(lines) - 1)
        state = store.load("golden")
        assert state.history == tuple(from_json(line) for line in lines)
        state.add_message(Message.user("more"))
        store.save(state)
        assert store.load("golden").history == state.history
