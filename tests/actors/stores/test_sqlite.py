"""What only a SQLite file has: tidying, a full disk, forks of the process."""

import gc
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
import trio

from actors import (
    Message,
    SQLiteStore,
    State,
    StoreConflict,
    StoreDamaged,
    StoreUnknown,
)
from actors.stores import _sqlite_file

ROOT = Path(__file__).parents[3]


def add(store: SQLiteStore, states: list[State], rounds: int) -> None:
    for number in range(rounds):
        for state in states:
            state.add_message(Message.user(f"{state.id} {number}"))
            store.save(state)


def count(place: Path, table: str) -> int:
    db = sqlite3.connect(place)
    (found,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    db.close()
    return int(found)


@pytest.fixture
def often_tidied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sqlite_file, "RECENT_ROWS_MAX", 12)
    monkeypatch.setattr(_sqlite_file, "TIDY_ROWS", 7)


@pytest.mark.usefixtures("often_tidied")
def test_records_that_were_tidied_up_are_read_in_order(tmp_path: Path) -> None:
    place = tmp_path / "states.db"
    with SQLiteStore(place, durability="relaxed") as store:
        states = [State(id=name) for name in "abc"]
        add(store, states, 20)
        assert count(place, "recent") <= 12
        assert count(place, "logs") > 3
        for state in states:
            assert store.load(state.id).history == state.history
        store.delete("b")
        add(store, [states[0], states[2]], 5)
        for state in states[::2]:
            assert store.load(state.id).history == state.history
        for state in states[::2]:
            store.delete(state.id)
    for table in ("states", "recent", "logs"):
        assert count(place, table) == 0, "deleting leaves nothing"


@pytest.mark.usefixtures("often_tidied")
def test_a_piece_of_a_log_that_was_lost_is_found(tmp_path: Path) -> None:
    place = tmp_path / "states.db"
    with SQLiteStore(place, durability="relaxed") as store:
        add(store, [State(id="a")], 40)
        db = sqlite3.connect(place)
        db.execute("DELETE FROM logs WHERE key = (SELECT max(key) FROM logs)")
        db.commit()
        db.close()
        with pytest.raises(StoreDamaged, match="'a' is damaged at record"):
            store.load("a")


def test_a_full_disk_fails_the_save_and_a_later_one_works(tmp_path: Path) -> None:
    program = """
import resource, signal, sys
from actors import Message, SQLiteStore, State, StoreUnknown
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store, state = SQLiteStore(sys.argv[1]), State(id="a")
state.add_message(Message.user("first"))
store.save(state)
before = state.history
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
state.add_message(Message.user("x" * 300_000))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
try:
    store.save(state)
except (OSError, StoreUnknown) as failure:
    print("failed")
assert store.load("a").history == before
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
store.save(state)
assert store.load("a").history == state.history
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "states.db")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.stdout.split() == ["failed", "done"], done.stderr


def test_a_store_works_in_a_forked_process_too(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "states.db") as store:
        state = State(id="a", messages=[Message.user("from the parent")])
        store.save(state)
        assert store.load("a").history == state.history
        child = os.fork()
        if not child:
            mine = State(id="b", messages=[Message.user("from the child")])
            store.save(mine)
            os._exit(0 if store.load("b").history == mine.history else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0
        state.add_message(Message.user("again"))
        store.save(state)
        assert store.load("a").history == state.history
        assert store.load("b").messages[0].text() == "from the child"


def test_a_closed_store_refuses_to_save(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "states.db")
    store.close()
    with pytest.raises(ValueError, match="the store is closed"):
        store.save(State())


def test_a_database_in_memory_is_refused_with_the_store_to_take() -> None:
    with pytest.raises(ValueError, match=r"use MemoryStore\(\)"):
        SQLiteStore(":memory:")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*gone'; make"):
        SQLiteStore(tmp_path / "gone" / "states.db")
    assert not list(tmp_path.iterdir())


def test_a_folder_in_the_place_of_a_file_is_refused_with_the_way_out(
    tmp_path: Path,
) -> None:
    with pytest.raises(IsADirectoryError, match=r"a folder: name a file, .*runs\.db"):
        SQLiteStore(tmp_path)
    assert not list(tmp_path.iterdir())


async def test_many_saves_share_a_commit(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "states.db") as store:
        async with trio.open_nursery() as nursery:
            for _ in range(100):
                nursery.start_soon(store.asave, State(messages=[Message.user("x")]))
        seen = store.statistics()
        assert seen.jobs == 100
        assert seen.groups < 50


async def test_a_task_that_is_cancelled_knows_that_its_save_was_done(
    tmp_path: Path,
) -> None:
    with SQLiteStore(tmp_path / "states.db") as store:
        state = State(messages=[Message.user("x")])
        await store.asave(state)
        state.add_message(Message.user("y"))
        with trio.CancelScope() as scope:

            async def cancel() -> None:
                scope.cancel()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(store.asave, state)
                nursery.start_soon(cancel)
        jobs = store.statistics().jobs
        await store.asave(state)
        assert (await store.aload(state.id)).history == state.history
        assert store.statistics().jobs <= jobs + 1


def run_sql(place: Path, script: str) -> None:
    db = sqlite3.connect(place)
    db.executescript(script)
    db.close()


COMMITS_FAIL = """
CREATE TABLE one (key INTEGER PRIMARY KEY);
CREATE TABLE two (key INTEGER REFERENCES one DEFERRABLE INITIALLY DEFERRED);
CREATE TRIGGER broken AFTER INSERT ON recent BEGIN INSERT INTO two VALUES (7); END;
"""


def test_a_commit_that_fails_is_unknown_and_found_out_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, connect = tmp_path / "states.db", _sqlite_file.connect

    def strict(path: Path, *, full: bool) -> sqlite3.Connection:
        db = connect(path, full=full)
        db.execute("PRAGMA foreign_keys = 1")
        return db

    monkeypatch.setattr(_sqlite_file, "connect", strict)
    with SQLiteStore(place) as store:
        state = State(id="a", messages=[Message.user("first")])
        store.save(state)
        before = state.history
        run_sql(place, COMMITS_FAIL)
        state.add_message(Message.user("second"))
        with pytest.raises(StoreUnknown, match="did not confirm a commit"):
            store.save(state)
        assert store.load("a").history == before
        run_sql(place, "DROP TRIGGER broken")
        store.save(state)
        assert store.load("a").history == state.history


async def test_one_write_that_cannot_be_stored_does_not_harm_its_group(
    tmp_path: Path,
) -> None:
    place = tmp_path / "states.db"
    with SQLiteStore(place) as store:
        run_sql(
            place,
            "CREATE TRIGGER picky BEFORE INSERT ON states WHEN new.id = 'bad' "
            "BEGIN SELECT RAISE(ABORT, 'not this one'); END;",
        )
        failed: list[str] = []

        async def save(name: str) -> None:
            try:
                await store.asave(State(id=name, messages=[Message.user("x")]))
            except OSError as failure:
                assert "not this one" in str(failure)
                failed.append(name)

        async with trio.open_nursery() as nursery:
            for name in ("a", "bad", "c", "d"):
                nursery.start_soon(save, name)
        assert failed == ["bad"]
        assert {each.id for each in store.list()} == {"a", "c", "d"}


def test_deleting_reports_what_the_file_reports(tmp_path: Path) -> None:
    place = tmp_path / "states.db"
    with SQLiteStore(place) as store:
        store.save(State(id="a"))
        run_sql(
            place,
            "CREATE TRIGGER kept BEFORE DELETE ON states "
            "BEGIN SELECT RAISE(ABORT, 'to be kept'); END;",
        )
        with pytest.raises(OSError, match="to be kept"):
            store.delete("a")
        assert store.load("a").history == ()


def test_a_store_that_is_dropped_ends_its_thread(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "states.db")
    store.save(State())
    thread = store._writer._thread
    assert thread is not None
    del store
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()


@pytest.mark.slow
def test_bytes_that_change_in_a_database_never_pass_for_others(tmp_path: Path) -> None:
    place = tmp_path / "states.db"
    with SQLiteStore(place, durability="relaxed") as store:
        state = State(id="a")
        add(store, [state], 20)
    whole, random, told = place.read_bytes(), Random(1), 0
    for _ in range(1_500):
        data = bytearray(whole)
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        place.write_bytes(data)
        try:
            with SQLiteStore(place) as store:
                found = store.load("a")
        except (StoreDamaged, OSError, LookupError):
            told += 1
            continue
        assert found.history == state.history, "a changed entry was believed"
    assert told > 100


def test_what_another_store_wrote_meanwhile_is_known(tmp_path: Path) -> None:
    place = tmp_path / "states.db"
    with SQLiteStore(place) as mine, SQLiteStore(place) as other:
        state = State(id="a", messages=[Message.user("one")])
        mine.save(state)
        taken = other.load("a")
        taken.add_message(Message.user("two"))
        other.save(taken)
        state.add_message(Message.user("three"))
        with pytest.raises(StoreConflict):
            mine.save(state)
        assert mine.load("a").history == taken.history


def test_a_state_that_was_deleted_is_known_no_more(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "states.db") as store:
        state = State(id="a", messages=[Message.user("one")])
        store.save(state)
        store.delete("a")
        state.add_message(Message.user("two"))
        with pytest.raises(StoreConflict):
            store.save(state)
        again = State(id="a", messages=[Message.user("anew")])
        store.save(again)
        assert store.load("a").history == again.history
