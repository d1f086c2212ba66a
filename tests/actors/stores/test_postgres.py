"""PostgresStore against a real server."""

import importlib.util
from typing import Any

import pytest

from actors import Message, PostgresStore, State, StoreDamaged
from actors.testing import check_store
from tests.actors.stores.test_kills import kill_often, race


@pytest.mark.slow
def test_postgres_keeps_what_a_store_promises(postgres: str) -> None:
    assert len(check_store(lambda: PostgresStore(postgres))) == 26
    assert check_store(lambda: PostgresStore(postgres, durability="relaxed"))


def test_a_killed_process_loses_nothing_in_postgres(postgres: str) -> None:
    kill_often("postgres", postgres, kills=5)


@pytest.mark.slow
def test_processes_that_append_to_one_state_in_postgres_leave_no_gap(
    postgres: str,
) -> None:
    race("postgres", postgres, processes=4, count=100)


def saved(store: PostgresStore) -> State:
    state = State(id="a")
    for number in range(3):
        state.add_message(Message.user(f"{number}"))
        store.save(state)
    return state


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE callboard_records SET record = 'x' WHERE number = 1",
        "DELETE FROM callboard_records WHERE number = 2",
        "UPDATE callboard_states SET info = '{'",
    ],
)
def test_rows_of_postgres_that_were_changed_are_found(
    damage: str, postgres: str
) -> None:
    import psycopg

    with PostgresStore(postgres) as store:
        saved(store)
        with psycopg.connect(postgres) as db:
            db.execute(damage.encode())
        db.close()
        with pytest.raises(StoreDamaged, match="'a'"):
            store.load("a")
        assert [each.id for each in store.list()] == ["a"]


def test_a_lost_connection_is_made_again(postgres: str) -> None:
    import psycopg

    with PostgresStore(postgres) as store:
        state = saved(store)
        assert store.load("a").history == state.history
        with psycopg.connect(postgres) as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND application_name = 'callboard'"
            )
        db.close()
        state.add_message(Message.user("after"))
        store.save(state)
        assert store.load("a").history == state.history


def test_a_server_that_is_not_there_is_named() -> None:
    with PostgresStore("host=127.0.0.1 port=1 connect_timeout=1") as store:
        with pytest.raises(ConnectionError, match="port 1"):
            store.save(State())
        with pytest.raises(ConnectionError, match="port 1"):
            store.list()


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(name: str, *args: Any) -> Any:
        return None if name == "psycopg" else find_spec(name, *args)

    find_spec = importlib.util.find_spec
    monkeypatch.setattr("actors.stores._postgres.find_spec", without)
    with pytest.raises(ImportError, match=r"pip install 'callboard\[postgres\]'"):
        PostgresStore("dbname=x")
