"""Processes that save and say so, until they are killed: a helper of the tests.

``python -m tests.actors.stores.writer KIND PLACE NAME COUNT`` makes a process for each
line it reads. That process loads or makes the State NAME, says so, and waits for one
line more, so that many can begin together. Then it adds COUNT messages one by one,
saves each, and prints how many entries were acknowledged. When it is told that another
one came before, it loads the State again.
"""

import os
import sys
import warnings
from pathlib import Path

from actors import FileStore, Message, SQLiteStore, State, Store, StoreConflict


def open_store(kind: str, place: str) -> Store:
    if kind == "files":
        return FileStore(place)
    if kind == "sqlite":
        return SQLiteStore(Path(place) / "states.db")
    from actors import PostgresStore

    return PostgresStore(place)


def load(store: Store, name: str) -> State:
    try:
        return store.load(name)
    except LookupError:
        return State(id=name)


def say(text: str) -> None:
    # One system call: what was said before a kill has been said.
    os.write(1, f"{text}\n".encode())


def append(kind: str, place: str, name: str, count: int) -> None:
    with open_store(kind, place) as store:
        state = load(store, name)
        say(f"ready {os.getpid()}")
        os.read(0, len("go\n"))
        done = 0
        while done < count:
            text = f"{os.getpid()} {done}"
            state.add_message(Message.user(f"{text} " + "x" * (done % 50)))
            try:
                store.save(state)
            except StoreConflict:
                say("told")
                state = load(store, name)
                continue
            done += 1
            say(f"{len(state.history)} {text}")


def main(kind: str, place: str, name: str, count: str) -> None:
    warnings.simplefilter("ignore")
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            append(kind, place, name, int(count))
            os._exit(0)
        os.waitpid(child, 0)
        say("ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
