"""What only a folder of logs has."""

from pathlib import Path
from typing import Any, cast

import pytest

from actors import FileStore, Message, SQLiteStore, State, StoreDamaged
from actors.stores import _file
from actors.stores._body import pack
from protocol import CHAIN_START, seal


def saved(store: FileStore, name: str = "a") -> State:
    state = State(id=name, messages=[Message.user("first")])
    store.save(state)
    return state


@pytest.mark.parametrize(
    ("info", "told"),
    [
        ({"format": 99, "id": "a"}, "has format 99, and this version reads 1"),
        ({"format": 1, "id": "b"}, "is that of 'b': its file was renamed"),
    ],
)
def test_a_log_of_another_version_or_state_is_refused(
    info: dict[str, object], told: str, tmp_path: Path
) -> None:
    store = FileStore(tmp_path)
    (tmp_path / "a.log").write_bytes(seal(CHAIN_START, pack([b"x"], info, {})))
    with pytest.raises(StoreDamaged, match=told):
        store.load("a")
    (listed,) = store.list()
    assert told in str(listed.damage)


def test_a_whole_record_that_no_store_wrote_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(seal(CHAIN_START, b"\x05"))
    with pytest.raises(StoreDamaged, match="'a': record 0 cannot be read"):
        FileStore(tmp_path).load("a")


def test_the_first_write_to_a_log_that_was_forgotten_reads_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_file, "LOGS_KNOWN_MAX", 1)
    store = FileStore(tmp_path)
    states = [saved(store, name) for name in "abc"]
    for state in states:
        state.add_message(Message.user("more"))
        store.save(state)
        assert store.load(state.id).history == state.history


def test_a_list_reads_the_log_when_the_copy_of_its_info_is_lost_or_old(
    tmp_path: Path,
) -> None:
    store = FileStore(tmp_path)
    saved(store)
    copy = tmp_path / "a.info"
    whole = copy.read_bytes()
    for content in (None, b"", whole[:-1], whole[:-1] + b"x", whole + b"x"):
        copy.unlink() if content is None else copy.write_bytes(content)
        (listed,) = FileStore(tmp_path).list()
        assert listed.info["title"] == "first"


def test_a_copy_that_cannot_be_written_fails_no_save(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    (tmp_path / "a.info").mkdir()
    state = saved(store)
    assert store.load("a").history == state.history


def test_an_empty_log_is_no_state(tmp_path: Path) -> None:
    (tmp_path / "a.log").touch()
    store = FileStore(tmp_path)
    assert store.read("a") is None
    assert store.list() == []
    state = saved(store)
    assert store.load("a").history == state.history


def test_a_refused_write_leaves_no_file(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    state = saved(store)
    store.delete("a")
    assert list(tmp_path.iterdir()) == []
    state.add_message(Message.user("more"))
    with pytest.raises(Exception, match="no longer in the store"):
        store.save(state)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../a", "", "a.b", "ä", "x" * 129])
def test_an_id_that_is_none_reaches_no_file(name: str, tmp_path: Path) -> None:
    for store in (FileStore(tmp_path / "f"), SQLiteStore(tmp_path / "s.db")):
        with store:
            for call in (store.read, store.load, store.delete):
                with pytest.raises(ValueError, match="id"):
                    call(name)
            with pytest.raises(ValueError, match="id"):
                store.write(name, [b"x"], {"writer": "w"}, expected=0)


@pytest.mark.parametrize("kind", [FileStore, SQLiteStore])
def test_an_unknown_durability_is_refused(
    kind: type[FileStore] | type[SQLiteStore], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="'full' or 'relaxed', not 'most'"):
        kind(tmp_path / "x", durability=cast("Any", "most"))
    assert list(tmp_path.iterdir()) == []


def test_a_system_without_locks_is_told_what_to_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_file, "find_spec", lambda _name: None)
    with pytest.raises(OSError, match="use SQLiteStore"):
        FileStore(tmp_path)


def test_a_file_in_the_place_of_a_folder_is_refused_with_the_way_out(
    tmp_path: Path,
) -> None:
    place = tmp_path / "runs.db"
    place.write_text("mine")
    with pytest.raises(NotADirectoryError, match="a file: name a folder, or use SQL"):
        FileStore(place)
    assert place.read_text() == "mine"
