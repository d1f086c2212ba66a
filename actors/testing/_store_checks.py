"""The checks of a store that one user at a time can make."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from actors._state import State
from protocol import Message, Reply, StoreConflict, ToolCall, Usage
from protocol._entries import ModelReplyEntry, ModelRequestEntry
from protocol._ids import new_id

from ._store_bench import Bench, Check

BODIES = (b"one", b"", b"\x00\xff\xc1" * 7, b"x" * 100_000)


@contextmanager
def refused(what: str) -> Generator[None]:
    """Fail unless the block raises StoreConflict."""
    try:
        yield
    except StoreConflict:
        return
    raise AssertionError(f"{what} was not refused with StoreConflict")


def what_is_not_there_is_said_to_be_missing(bench: Bench) -> None:
    """`read` gives None, `load` raises LookupError, `delete` does nothing."""
    with bench.open() as hands:
        name = new_id()
        assert hands.read(name) is None, "read found a State that was never written"
        hands.delete(name)
        try:
            hands.load(name)
        except LookupError:
            return
        raise AssertionError("load of a missing id did not raise LookupError")


def what_was_written_is_read(bench: Bench) -> None:
    """Entries come back byte for byte and in order, with the latest info."""
    name = new_id()
    with bench.open() as hands:
        first, second = bench.info("w", turn=1), bench.info("w", turn=2, title="\0é😀")
        given = list(BODIES)
        hands.write(name, given, first, 0)
        given.append(b"not written")
        hands.write(name, [b"five", b"six"], second, 4)
        first["turn"] = 99
        record = hands.read(name)
        assert record is not None, "what was written is missing"
        assert tuple(record.entries) == (*BODIES, b"five", b"six"), "other entries"
        assert dict(record.info) == second, f"other info: {record.info!r}"
    with bench.open() as hands:
        again = hands.read(name)
        assert again is not None, "it is missing in another opening of the store"
        assert tuple(again.entries) == tuple(record.entries), "other entries, reopened"
        assert dict(again.info) == second, "other info in another opening"
        hands.delete(name)


def a_state_without_entries_can_be_written(bench: Bench) -> None:
    """A write may bring no entries."""
    with bench.open() as hands:
        name = new_id()
        hands.write(name, [], bench.info("w"), 0)
        record = hands.read(name)
        assert record is not None, "a State without entries is missing"
        assert not record.entries, "entries that nobody wrote"
        hands.write(name, [b"1"], bench.info("w"), 0)
        hands.write(name, [], bench.info("w", turn=7), 1)
        record = hands.read(name)
        assert record is not None, "the State is missing"
        assert record.info["turn"] == 7, "a write without entries lost its info"
        hands.delete(name)


def a_write_that_expects_another_length_is_refused(bench: Bench) -> None:
    """And it changes nothing."""
    with bench.open() as hands:
        name = new_id()
        with refused("a write behind entries that are not there"):
            hands.write(name, [b"x"], bench.info("w"), 3)
        assert hands.read(name) is None, "a refused write made a State"
        info = bench.info("w")
        hands.write(name, [b"1", b"2"], info, 0)
        for expected in (0, 1, 3):
            with refused(f"a write at {expected} of 2 entries"):
                hands.write(name, [b"x"], bench.info("w", turn=5), expected)
        record = hands.read(name)
        assert record is not None, "the State is missing"
        assert tuple(record.entries) == (b"1", b"2"), "a refused write was stored"
        assert dict(record.info) == info, "a refused write changed the info"
        hands.delete(name)


def an_earlier_writer_is_fenced_off(bench: Bench) -> None:
    """Taking over needs no waiting; whoever was the writer is refused from then on."""
    with bench.open() as hands, bench.open() as other:
        name = new_id()
        hands.write(name, [b"1"], bench.info("first"), 0)
        with refused("a writer that nobody made one"):
            other.write(name, [b"x"], bench.info("stranger"), 1)
        other.write(name, [b"2"], bench.info("second", after="first"), 1)
        for expected in (1, 2):
            with refused("the earlier writer"):
                hands.write(name, [b"x"], bench.info("first"), expected)
            with refused("a writer after the earlier one"):
                hands.write(name, [b"x"], bench.info("third", "first"), expected)
        other.write(name, [b"3"], bench.info("second", after="first"), 2)
        record = hands.read(name)
        assert record is not None, "the State is missing"
        assert tuple(record.entries) == (b"1", b"2", b"3"), "other entries"
        hands.delete(name)


def deleting_leaves_nothing(bench: Bench) -> None:
    """Nor may whoever was its writer go on."""
    with bench.open() as hands, bench.open() as other:
        name = new_id()
        hands.write(name, [b"1"], bench.info("w"), 0)
        other.delete(name)
        assert hands.read(name) is None, "a deleted State can be read"
        assert not hands.list(agent=bench.mark), "a deleted State is listed"
        with refused("the writer of a deleted State"):
            hands.write(name, [b"2"], bench.info("w"), 1)
        hands.write(name, [b"new"], bench.info("other"), 0)
        with refused("the writer of a State that was deleted and made anew"):
            hands.write(name, [b"2"], bench.info("w"), 1)
        record = hands.read(name)
        assert record is not None, "the new State is missing"
        assert tuple(record.entries) == (b"new",), "entries of a deleted State"
        hands.delete(name)


def ids_are_told_apart(bench: Bench) -> None:
    """The longest one, and those that differ in little."""
    with bench.open() as hands:
        base = new_id()
        names = [f"{base}_a", f"{base}-a", f"{base}_", f"_{base}", base.ljust(128, "z")]
        for name in names:
            hands.write(name, [name.encode()], bench.info("w"), 0)
        for name in names:
            record = hands.read(name)
            assert record is not None, f"{name!r} is missing"
            assert tuple(record.entries) == (name.encode(),), f"{name!r} was mixed up"
            hands.delete(name)


def a_list_has_the_newest_first_and_pages(bench: Bench) -> None:
    """Going through the pages shows each State once."""
    with bench.open() as hands:
        names = [new_id() for _ in range(7)]
        for number, name in enumerate(names):
            # Some moments are shared: the order has to be total all the same.
            info = bench.info("w", updated=1_700_000_000.0 + number // 2)
            hands.write(name, [b"1"], info, 0)
        seen = hands.list(agent=bench.mark, limit=3)
        while page := hands.list(agent=bench.mark, limit=3, after=seen[-1]):
            assert len(page) <= 3, "a page is longer than its limit"
            seen += page
        assert sorted(each.id for each in seen) == sorted(names), "not each State once"
        times = [each.updated for each in seen]
        assert times == sorted(times, reverse=True), "not the newest first"
        assert seen[0].info["updated"] == times[0], "the list has another info"
        for name in names:
            hands.delete(name)


def a_list_is_filtered(bench: Bench) -> None:
    """By each filter, and it refuses those that do not exist."""
    with bench.open() as hands:
        mark, done, open_ = bench.mark, new_id(), new_id()
        info = bench.info("w", finished=True, parent=mark, phase="idle", updated=200.5)
        hands.write(done, [b"1"], info, 0)
        hands.write(open_, [b"1"], bench.info("w", phase="calling", updated=100.5), 0)
        asked = {
            (("finished", True),): {done},
            (("finished", False),): {open_},
            (("parent", mark),): {done},
            (("parent", None),): {open_},
            (("phase", "calling"),): {open_},
            (("updated_after", 100.5),): {done},
            (("updated_before", 200.5),): {open_},
            (("updated_after", 1.0), ("phase", "idle"), ("finished", True)): {done},
            (("phase", "thinking"),): set[str](),
        }
        for filters, expected in asked.items():
            found = {each.id for each in hands.list(agent=mark, **dict(filters))}
            assert found == expected, f"list({dict(filters)!r}) found other States"
        try:
            hands.list(colour="blue")
        except TypeError:
            hands.delete(done)
            hands.delete(open_)
            return
        raise AssertionError("a filter that does not exist was not refused")


def busy_state() -> State:
    """A State in the middle of a turn, with values that are hard to keep."""
    at = datetime(2025, 1, 2, 3, 4, 5, 678, UTC)
    hard: dict[str, Any] = {
        "big": 2**80,
        "float": 0.1,
        "text": "é\u2028😀\0",
        "nested": [[], {"": None}],
    }
    call = ToolCall(id="c1", name="search", args=hard)
    reply = Reply(
        message=Message(role="assistant", content=(call,)),
        usage=Usage(input_tokens=3, output_tokens=4, requests=1, cost=0.25),
        model="check/model",
    )
    state = State(messages=[Message.user("begin")], extra_data=hard)
    return State(
        history=[
            *state.history,
            ModelRequestEntry(turn=1, at=at, content="check/model"),
            ModelReplyEntry(turn=1, at=at, content=reply),
        ]
    )


def a_state_comes_back_as_it_was(bench: Bench) -> None:
    """In the middle of a turn too, and it goes on from there."""
    with bench.open() as hands:
        state = busy_state()
        hands.save(state)
        state.add_message(Message.user("held"))
        hands.save(state)
        hands.save(state)
        loaded = hands.load(state.id)
        assert loaded.id == state.id, "another id"
        assert loaded.history == state.history, "another history"
        assert loaded.snapshot() == state.snapshot(), "another value"
        with bench.open() as other:
            copy = other.load(state.id)
            copy.add_message(Message.user("from another opening"))
            other.save(copy)
        loaded.add_message(Message.user("too late"))
        for _ in range(2):
            with refused("a copy that another one has written after"):
                hands.save(loaded)
        assert hands.load(state.id).history == copy.history, "the histories were mixed"
        hands.delete(state.id)


def a_new_state_does_not_take_an_id_that_is_there(bench: Bench) -> None:
    """Nor does a State without entries."""
    with bench.open() as hands:
        name = new_id()
        hands.save(State(id=name))
        with refused("another new State of the same id"):
            hands.save(State(id=name))
        hands.delete(name)


CHECKS: tuple[Check, ...] = (
    what_is_not_there_is_said_to_be_missing,
    what_was_written_is_read,
    a_state_without_entries_can_be_written,
    a_write_that_expects_another_length_is_refused,
    an_earlier_writer_is_fenced_off,
    deleting_leaves_nothing,
    ids_are_told_apart,
    a_list_has_the_newest_first_and_pages,
    a_list_is_filtered,
    a_state_comes_back_as_it_was,
    a_new_state_does_not_take_an_id_that_is_there,
)
