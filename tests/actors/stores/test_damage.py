"""Bits that flip and logs that end too early, in every place of a short log."""

import sqlite3
from pathlib import Path

import pytest

from actors import (
    FileStore,
    MemoryStore,
    Message,
    SQLiteStore,
    State,
    Store,
    StoreConflict,
    StoreDamaged,
    salvage,
)

RECORDS = 20


def twenty_records(store: Store) -> State:
    state = State(id="a")
    for number in range(RECORDS):
        state.add_message(Message.user(f"message {number}"))
        store.save(state)
    return state


def is_told(store: Store, state: State) -> bool:
    """Whether the store refuses the State; else what it gives is a true beginning."""
    try:
        found = store.load("a")
    except (StoreDamaged, LookupError):
        return True
    size = len(found.history)
    assert found.history == state.history[:size], "a changed entry was believed"
    return False


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::actors.TornTailWarning")
def test_every_bit_that_flips_in_a_file_is_found(tmp_path: Path) -> None:
    flips(tmp_path, step=1)


@pytest.mark.filterwarnings("ignore::actors.TornTailWarning")
def test_bits_that_flip_in_a_file_are_found(tmp_path: Path) -> None:
    flips(tmp_path, step=97)


def flips(tmp_path: Path, step: int) -> None:
    store = FileStore(tmp_path, durability="relaxed")
    state = twenty_records(store)
    log = tmp_path / "a.log"
    whole = log.read_bytes()
    told = 0
    for bit in range(0, 8 * len(whole), step):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        log.write_bytes(data)
        if is_told(FileStore(tmp_path), state):
            told += 1
        else:
            # A flip in the last record looks like a write that did not end.
            assert len(log.read_bytes()) < len(whole), f"bit {bit} was not found"
            assert bit // 8 > len(whole) - 300
    assert told > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::actors.TornTailWarning")
def test_every_truncation_of_a_file_leaves_a_true_beginning(tmp_path: Path) -> None:
    truncations(tmp_path, step=1)


@pytest.mark.filterwarnings("ignore::actors.TornTailWarning")
def test_truncations_of_a_file_leave_a_true_beginning(tmp_path: Path) -> None:
    truncations(tmp_path, step=29)


def truncations(tmp_path: Path, step: int) -> None:
    store = FileStore(tmp_path, durability="relaxed")
    state = twenty_records(store)
    log = tmp_path / "a.log"
    whole = log.read_bytes()
    for size in range(0, len(whole), step):
        log.write_bytes(whole[:size])
        is_told(FileStore(tmp_path), state)


def test_damage_in_the_middle_names_the_place_and_refuses_to_open(
    tmp_path: Path,
) -> None:
    store = FileStore(tmp_path)
    twenty_records(store)
    log = tmp_path / "a.log"
    data = bytearray(log.read_bytes())
    data[500] ^= 1
    log.write_bytes(data)
    with pytest.raises(StoreDamaged, match=r"is damaged at byte \d+: .* salvage"):
        FileStore(tmp_path).load("a")
    with pytest.raises(StoreDamaged):
        FileStore(tmp_path).write("a", [b"x"], {"writer": "w"}, expected=20)
    assert log.read_bytes() == data, "a refusal changes nothing"


def test_a_damaged_state_does_not_hide_the_others(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    twenty_records(store)
    for name in ("b", "c"):
        store.save(State(id=name, messages=[Message.user(name)]))
    log = tmp_path / "a.log"
    log.write_bytes(log.read_bytes()[:100] + b"junk" + log.read_bytes()[100:])
    listed = {each.id: each.damage for each in FileStore(tmp_path).list(agent="none")}
    assert set(listed) == {"a"}
    assert "damaged at byte" in str(listed["a"])
    assert {each.id for each in store.list()} == {"a", "b", "c"}


def test_a_renamed_log_is_not_taken_for_another_state(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    twenty_records(store)
    (tmp_path / "a.log").rename(tmp_path / "b.log")
    with pytest.raises(StoreDamaged, match="is that of 'a'"):
        FileStore(tmp_path).load("b")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE recent SET record = x'c1' WHERE number = 7",
        "UPDATE recent SET record = substr(record, 1, 40) WHERE number = 7",
        "DELETE FROM recent WHERE number = 7",
        "DELETE FROM recent WHERE number = 19",
        "UPDATE states SET checksum = 1",
        "UPDATE states SET entries = 19",
        "UPDATE states SET info = '{'",
        "UPDATE states SET info = CAST(x'7bff' AS TEXT)",
    ],
)
def test_rows_that_were_changed_or_lost_are_found(damage: str, tmp_path: Path) -> None:
    place = tmp_path / "states.db"
    with SQLiteStore(place, durability="relaxed") as store:
        twenty_records(store)
        store.save(State(id="b", messages=[Message.user("b")]))
    with sqlite3.connect(place) as db:
        db.execute(damage)
    db.close()
    with SQLiteStore(place) as store:
        if "states" in damage:
            with_b = store.list()
            assert {each.id for each in with_b} == {"a", "b"}
        with pytest.raises(StoreDamaged, match="'a'"):
            store.load("a")
        store.list()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "states.db"
    place.write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreDamaged, match="not a database"):
        SQLiteStore(place)
    assert place.read_bytes() == b"this is no database" * 100


def test_a_database_of_another_version_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "states.db"
    SQLiteStore(place).close()
    with sqlite3.connect(place) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreDamaged, match="has format 99, and this version reads 1"):
        SQLiteStore(place)


def test_salvage_keeps_what_stands_before_the_damage(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "from")
    state = twenty_records(store)
    log = tmp_path / "from" / "a.log"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    into = MemoryStore()
    saved = salvage(FileStore(tmp_path / "from"), "a", into)
    kept = into.load("a").history
    assert kept == state.history[: saved.entries]
    assert saved.entries + saved.lost_records == RECORDS - 1, "one record is damaged"
    assert 5 < saved.entries < 15
    assert log.read_bytes() == data, "the damaged log stays as it is"
    with pytest.raises(StoreConflict):
        salvage(FileStore(tmp_path / "from"), "a", into)


def test_salvage_keeps_what_stands_before_a_lost_row(tmp_path: Path) -> None:
    place = tmp_path / "states.db"
    with SQLiteStore(place, durability="relaxed") as store:
        fork = twenty_records(store).fork()
        store.save(fork)
        with sqlite3.connect(place) as db:
            db.execute("DELETE FROM recent WHERE number = 7")
        db.close()
        into = MemoryStore()
        saved = salvage(store, "a", into)
        assert (saved.entries, saved.lost_records) == (7, 12)
        whole = salvage(store, fork.id, into)
        assert (whole.entries, whole.lost_records) == (RECORDS, 0)
        assert into.load(fork.id).forked_from == fork.forked_from


def test_salvage_of_what_cannot_be_salvaged_says_why(tmp_path: Path) -> None:
    store, into = FileStore(tmp_path), MemoryStore()
    with pytest.raises(LookupError, match="no State 'a'"):
        salvage(store, "a", into)
    with pytest.raises(TypeError, match="MemoryStore cannot look"):
        salvage(into, "a", into)
    with pytest.raises(ValueError, match=r"into the store that has it: .* another"):
        salvage(store, "a", store)
    store.write("a", [b"no entry"], {"writer": "w"}, expected=0)
    with pytest.raises(LookupError, match="nothing of State 'a' can be read"):
        salvage(store, "a", into)
    assert into.list() == []
