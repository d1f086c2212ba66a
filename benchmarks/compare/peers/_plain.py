"""Conversations by hand: lists of dicts, and what is done with them.

The programs of bare trio, asyncio and pykka share it, for these libraries know nothing
of messages.
"""

import json
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from benchmarks.compare.peers._script import (
    ANSWER,
    FOUND,
    KEY,
    LONG,
    QUESTION,
    Rows,
    Watch,
)

Message: TypeAlias = dict[str, Any]
Messages: TypeAlias = list[Message]

TOKENS = 100
"""What each reply used."""


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def said(place: int, calls: int = 1) -> Message:
    """A reply with so many calls."""
    asked = [{"id": f"c{place}-{n}", "args": {"key": KEY}} for n in range(calls)]
    return {"role": "assistant", "content": "", "calls": asked, "tokens": TOKENS}


LAST: Message = {"role": "assistant", "content": ANSWER, "calls": [], "tokens": TOKENS}


def script(turns: int, calls: int = 1) -> Sequence[Message]:
    """So many replies with calls, and the answer."""
    return [*(said(place, calls) for place in range(turns)), LAST]


def result(call: Message, text: str) -> Message:
    return {"role": "tool", "id": call["id"], "content": text}


def tree_tokens(width: int, agents: int) -> int:
    """What a tree of three levels used: a leaf is asked once, the others twice."""
    return TOKENS * (2 * (agents + 1) - width**3)


@contextmanager
def database() -> Generator[sqlite3.Connection]:
    """A new file for messages, in which each commit is synced."""
    with TemporaryDirectory() as folder:
        place = Path(folder, "messages.db")
        with closing(sqlite3.connect(place, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("CREATE TABLE messages (conversation INTEGER, message TEXT)")
            yield db


def store(db: sqlite3.Connection, number: int, messages: Messages) -> None:
    """Commit the messages of a turn."""
    texts = [(number, json.dumps(message)) for message in messages]
    db.execute("BEGIN")
    db.executemany("INSERT INTO messages VALUES (?, ?)", texts)
    db.execute("COMMIT")


STORED = "by hand: one synced commit for each question, in the loop's own thread"


def snapshot(count: int, watch: Watch) -> None:
    messages = _long()
    with watch:
        for _ in range(count):
            messages.copy()


def fork(count: int, watch: Watch) -> None:
    messages = _long()
    with watch:
        for _ in range(count):
            _ = {"messages": messages.copy()}


def restore(count: int, watch: Watch) -> None:
    messages = _long()
    before = messages.copy()
    with watch:
        for _ in range(count):
            messages[:] = before


def _long() -> Messages:
    return [user(f"{QUESTION} {number}") for number in range(LONG)]


def _many(count: int) -> Messages:
    reply = said(0)
    turn = [user(QUESTION), reply, result(reply["calls"][0], FOUND), LAST]
    return (turn * (count // len(turn) + 1))[:count]


def encode(count: int, watch: Watch) -> None:
    messages = _many(count)
    with watch:
        for message in messages:
            json.dumps(message)


def decode(count: int, watch: Watch) -> None:
    texts = [json.dumps(message) for message in _many(count)]
    with watch:
        for text in texts:
            json.loads(text)


PLAIN_ROWS: Rows = {
    "snapshot": snapshot,
    "fork": fork,
    "restore": restore,
    "encode": encode,
    "decode": decode,
}
