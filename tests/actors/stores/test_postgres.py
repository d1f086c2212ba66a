"""PostgresStore against a real server."""

import importlib.util
import os
from threading import Thread
from typing import Any

import pytest

from actors import (
    Message,
    PostgresStore,
    State,
    StoreConflict,
    StoreDamaged,
    StoreUnknown,
)
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


def test_a_commit_that_fails_is_unknown_and_found_out_later(postgres: str) -> None:
    import psycopg

    with PostgresStore(postgres) as store, psycopg.connect(postgres) as db:
        state = saved(store)
        before = state.history
        db.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'at the end'; END $$"
        )
        db.execute(
            "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON callboard_records "
            "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
        db.commit()
        state.add_message(Message.user("more"))
        with pytest.raises(StoreUnknown, match="did not confirm a commit"):
            store.save(state)
        assert store.load("a").history == before
        db.execute("DROP TRIGGER late ON callboard_records")
        db.commit()
        store.save(state)
        assert store.load("a").history == state.history
    db.close()


@pytest.mark.slow
def test_of_two_that_make_one_state_at_once_the_second_is_told(postgres: str) -> None:
    import psycopg

    told: list[Exception] = []

    def make(store: PostgresStore) -> None:
        try:
            store.save(State(id="a"))
        except StoreConflict as conflict:
            told.append(conflict)

    with PostgresStore(postgres) as store, psycopg.connect(postgres) as db:
        store.save(State(id="b"))
        db.execute(
            "INSERT INTO callboard_states (id, entries, records, checksum, updated, "
            "writer, info) VALUES ('a', 0, 0, 0, 0, 'other', '{}')"
        )
        thread = Thread(target=make, args=(store,))
        thread.start()
        waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'transactionid'"
        with psycopg.connect(postgres, autocommit=True) as watch:
            while watch.execute(waits).fetchone() is None:
                pass
        watch.close()
        db.commit()
        thread.join()
        assert len(told) == 1
    db.close()


def test_a_server_that_refuses_is_quoted(postgres: str) -> None:
    import psycopg

    with PostgresStore(postgres) as store, psycopg.connect(postgres) as db:
        saved(store)
        assert len(store.list()) == 1
        db.execute("ALTER TABLE callboard_states RENAME TO hidden")
        db.commit()
        with pytest.raises(OSError, match="callboard_states"):
            store.save(State())
        with pytest.raises(OSError, match="callboard_states"):
            store.list()
        db.execute("ALTER TABLE hidden RENAME TO callboard_states")
        db.commit()
        assert [each.id for each in store.list()] == ["a"]
        db.execute("UPDATE callboard_format SET version = 99")
        db.commit()
        with (
            PostgresStore(postgres) as newer,
            pytest.raises(StoreDamaged, match="have format 99, and this version"),
        ):
            newer.list()
    db.close()


def test_a_store_works_in_a_forked_process_too(postgres: str) -> None:
    with PostgresStore(postgres) as store:
        state = saved(store)
        assert store.load("a").history == state.history
        child = os.fork()
        if not child:
            store.save(State(id="b"))
            os._exit(0 if store.load("a").history == state.history else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0
        state.add_message(Message.user("more"))
        store.save(state)
        assert store.load("a").history == state.history
        assert store.load("b").history == ()
