"""What every store gets from the port: saving, loading, one writer for each State."""

import gc
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import trio
import trio.testing

from actors import (
    AgentInfo,
    FileStore,
    MemoryStore,
    Message,
    ModelReplyEntry,
    ModelRequestEntry,
    Record,
    Reply,
    RunStartEntry,
    SQLiteStore,
    State,
    Store,
    StoreConflict,
    StoreDamaged,
    StoreUnknown,
    ToolCall,
    ToolResultEntry,
    refuse_conflict,
)
from actors.testing._store_checks import busy_state
from protocol._codec import encode_entry


def state_with(*texts: str, name: str | None = None) -> State:
    state = State(id=name)
    for text in texts:
        state.add_message(Message.user(text))
    return state


class Watched(MemoryStore):
    """Counts what is written, and fails when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[list[bytes]] = []
        self.before: list[BaseException | None] = []
        self.after: list[BaseException | None] = []
        self.reads = 0

    def write(
        self, state_id: str, entries: Sequence[bytes], info: Any, *, expected: int
    ) -> None:
        failure = self.before.pop(0) if self.before else None
        if failure is not None:
            raise failure
        super().write(state_id, entries, info, expected=expected)
        self.writes.append(list(entries))
        failure = self.after.pop(0) if self.after else None
        if failure is not None:
            raise failure

    def read(self, state_id: str) -> Record | None:
        self.reads += 1
        return super().read(state_id)


def entries_of(store: Store, state: State) -> list[bytes]:
    record = store.read(state.id)
    return [] if record is None else list(record.entries)


def is_whole(store: Store, state: State) -> bool:
    return entries_of(store, state) == [encode_entry(e) for e in state.history]


def test_what_is_no_state_is_refused_and_not_stored() -> None:
    store = MemoryStore()
    given: Any = "talk"
    with pytest.raises(TypeError, match="a store saves a State, not 'talk'"):
        store.save(given)
    assert not store.list()


def test_a_save_writes_only_what_is_new() -> None:
    store, state = Watched(), state_with("a", "b")
    store.save(state)
    store.save(state)
    state.add_message(Message.user("c"))
    store.save(state)
    assert [len(each) for each in store.writes] == [2, 1]
    assert is_whole(store, state)


def test_twice_the_turns_write_twice_the_bytes() -> None:
    def bytes_for(turns: int) -> int:
        store, state = Watched(), State()
        for turn in range(turns):
            state.add_message(Message.user(f"turn {turn:04}"))
            store.save(state)
        return sum(len(body) for write in store.writes for body in write)

    assert bytes_for(400) <= 2.2 * bytes_for(200)


def test_a_loaded_state_goes_on_where_it_was() -> None:
    store = Watched()
    state = busy_state()
    store.save(state)
    loaded = store.load(state.id)
    assert loaded.snapshot() == state.snapshot()
    loaded.add_message(Message.user("more"))
    store.save(loaded)
    assert len(store.writes[-1]) == 1
    assert store.load(state.id).history == loaded.history


def test_loading_takes_no_lease() -> None:
    store, state = MemoryStore(), state_with("a", name="x")
    store.save(state)
    loaded = store.load("x")
    store.save(loaded)
    state.add_message(Message.user("b"))
    store.save(state)
    assert is_whole(store, state)


def test_of_two_owners_the_second_to_write_is_told_for_good() -> None:
    store = MemoryStore()
    store.save(state_with("a", name="x"))
    first, second = store.load("x"), store.load("x")
    first.add_message(Message.user("from the first"))
    second.add_message(Message.user("from the second"))
    store.save(first)
    for _ in range(2):
        with pytest.raises(StoreConflict, match=r"another live copy .*\(epoch 2"):
            store.save(second)
    first.add_message(Message.user("and on"))
    store.save(first)
    assert is_whole(store, first)


def test_a_paused_owner_that_wakes_up_is_fenced_off() -> None:
    store, paused = MemoryStore(), state_with("a", name="x")
    store.save(paused)
    taken = store.load("x")
    taken.add_message(Message.user("taken over"))
    store.save(taken)
    paused.add_message(Message.user("awake"))
    with pytest.raises(StoreConflict, match="load it again"):
        store.save(paused)
    assert is_whole(store, taken)
    again = store.load("x")
    again.add_message(Message.user("after loading again"))
    store.save(again)
    with pytest.raises(StoreConflict):
        taken.add_message(Message.user("late"))
        store.save(taken)


def test_a_write_whose_answer_was_lost_is_not_done_twice() -> None:
    store, state = Watched(), state_with("a")
    store.after = [StoreUnknown("no answer")]
    store.save(state)
    assert (len(store.writes), store.reads) == (1, 1)
    state.add_message(Message.user("b"))
    store.save(state)
    assert is_whole(store, state)


def test_a_write_that_was_not_done_is_done_again() -> None:
    store, state = Watched(), state_with("a")
    store.before = [StoreUnknown("no answer")]
    store.save(state)
    assert is_whole(store, state)


def test_what_stays_unknown_is_told_and_found_out_at_the_next_save() -> None:
    store, state = Watched(), state_with("a")
    store.before = [StoreUnknown("first"), StoreUnknown("second")]
    with pytest.raises(StoreUnknown, match="second"):
        store.save(state)
    state.add_message(Message.user("b"))
    store.save(state)
    assert is_whole(store, state)


@pytest.mark.parametrize("stored", [True, False])
def test_after_any_failure_what_is_missing_is_appended(stored: bool) -> None:
    store, state = Watched(), state_with("a")
    store.save(state)
    state.add_message(Message.user("b"))
    failures = store.after if stored else store.before
    failures.append(OSError("broken"))
    with pytest.raises(OSError, match="broken"):
        store.save(state)
    state.add_message(Message.user("c"))
    store.save(state)
    assert is_whole(store, state)


def test_a_conflict_behind_an_unknown_write_is_told() -> None:
    store, state = Watched(), state_with("a", name="x")
    store.save(state)
    other = store.load("x")
    other.add_message(Message.user("other"))
    state.add_message(Message.user("mine"))
    store.before = [OSError("broken")]
    with pytest.raises(OSError, match="broken"):
        store.save(state)
    store.save(other)
    for _ in range(2):
        with pytest.raises(StoreConflict, match="another writer since"):
            store.save(state)
    assert is_whole(store, other)


def test_a_state_deleted_behind_an_unknown_write_is_told() -> None:
    store, state = Watched(), state_with("a", name="x")
    store.save(state)
    state.add_message(Message.user("b"))
    store.before = [OSError("broken")]
    with pytest.raises(OSError, match="broken"):
        store.save(state)
    store.delete("x")
    with pytest.raises(StoreConflict, match="no longer in the store"):
        store.save(state)


async def test_a_cancelled_save_is_made_good_by_the_next() -> None:
    class Slow(Watched):
        async def awrite(self, *args: Any, **kwargs: Any) -> None:
            await super().awrite(*args, **kwargs)
            await trio.lowlevel.checkpoint()

    store, state = Slow(), state_with("a")
    for _ in range(2):
        with trio.CancelScope() as scope:
            scope.cancel()
            await store.asave(state)
        assert scope.cancelled_caught
    state.add_message(Message.user("b"))
    await store.asave(state)
    assert is_whole(store, state)


async def test_many_tasks_share_one_write() -> None:
    class Held(Watched):
        go = trio.Event()

        async def awrite(self, *args: Any, **kwargs: Any) -> None:
            await self.go.wait()
            await super().awrite(*args, **kwargs)

    store, state = Held(), state_with("a")
    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(store.asave, state)
            await trio.testing.wait_all_tasks_blocked()
            state.add_message(Message.user(f"{number}"))
        store.go.set()
    assert is_whole(store, state)
    assert [len(each) for each in store.writes] == [1, 50]


async def test_a_task_that_waits_for_another_ones_save_can_be_cancelled() -> None:
    class Held(Watched):
        go = trio.Event()

        async def awrite(self, *args: Any, **kwargs: Any) -> None:
            await self.go.wait()
            await super().awrite(*args, **kwargs)

    store, state = Held(), state_with("a")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.asave, state)
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(0) as scope:
            await store.asave(state)
        assert scope.cancelled_caught
        with pytest.raises(ValueError, match=r"await store\.asave"):
            store.save(state)
        store.go.set()
    assert is_whole(store, state)


def test_plain_threads_wait_for_each_other() -> None:
    class Held(Watched):
        begun, go = Event(), Event()

        def write(self, *args: Any, **kwargs: Any) -> None:
            self.begun.set()
            self.go.wait()
            super().write(*args, **kwargs)

    store, state = Held(), state_with("a")
    threads = [Thread(target=store.save, args=(state,)) for _ in range(5)]
    threads[0].start()
    store.begun.wait()
    for thread in threads[1:]:
        thread.start()
    store.go.set()
    for thread in threads:
        thread.join()
    assert [len(each) for each in store.writes] == [1]


async def test_a_save_with_nothing_to_do_is_a_checkpoint() -> None:
    store, state = MemoryStore(), state_with("a")
    await store.asave(state)
    with trio.testing.assert_checkpoints():
        await store.asave(state)


@pytest.mark.slow
def test_a_long_history_is_saved_and_loaded_without_holding_up_other_tasks() -> None:
    store = MemoryStore()
    state = state_with(*(f"{number}" for number in range(3_000)))

    async def work() -> None:
        await store.asave(state)
        loaded = await store.aload(state.id)
        assert loaded.history == state.history

    trio.run(work)


def test_a_store_that_works_only_asynchronously_says_so() -> None:
    class OnlyAsync(Store):
        async def awrite(self, *_args: Any, **_kwargs: Any) -> None: ...
        async def aread(self, state_id: str) -> Record | None: ...

    store = OnlyAsync()
    for call in (lambda: store.save(State()), lambda: store.load("x")):
        with pytest.raises(TypeError, match="OnlyAsync works only asynchronously"):
            call()


def test_an_entry_that_cannot_be_decoded_is_named() -> None:
    store, state = MemoryStore(), state_with("a", name="x")
    store.save(state)
    record = store.read("x")
    assert record is not None
    store.write("x", [b"no entry"], record.info, expected=1)
    with pytest.raises(StoreDamaged, match="'x' is damaged at entry 1"):
        store.load("x")


def test_an_entry_that_cannot_follow_is_damage() -> None:
    store = MemoryStore()
    lost = ToolResultEntry(
        content="", call=ToolCall(id="c", name="t"), outcome="done", message_id="m"
    )
    store.write("x", [encode_entry(lost)], {"writer": "w"}, expected=0)
    with pytest.raises(StoreDamaged, match=r"'x' is damaged: entry 0 \(tool_result\)"):
        store.load("x")


def test_an_entry_of_a_newer_version_is_refused_by_its_kind() -> None:
    store = MemoryStore()
    newer = encode_entry(state_with("a").history[0]).replace(b"message", b"mexxage", 1)
    store.write("x", [newer], {"writer": "w"}, expected=0)
    with pytest.raises(ValueError, match="kind 'mexxage', which this version does not"):
        store.load("x")


def test_info_says_what_a_list_shows() -> None:
    store, state = MemoryStore(), State(id="kid")
    start = RunStartEntry(
        content=AgentInfo(name="helper", model="fake/big"), parent_id="root"
    )
    state = State(id="kid", history=[start, *state_with("Find\nthe bug").history])
    store.save(state)
    (listed,) = store.list(parent="root", agent="helper", finished=False)
    assert listed.updated == state.history[-1].at.timestamp()
    assert listed.info["model"] == "fake/big"
    assert listed.info["title"] == "Find the bug"
    assert listed.info["entries"] == 2
    loaded = store.load("kid")
    loaded.finish("done")
    store.save(loaded)
    (listed,) = store.list(agent="helper")
    assert (listed.info["finished"], listed.info["stopped"]) == (
        True,
        "StoppedByFinish",
    )


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "all", None])
@pytest.mark.parametrize("kind", ["memory", "file", "sqlite"])
async def test_a_page_of_no_possible_size_is_refused(
    kind: str, wrong: Any, tmp_path: Path
) -> None:
    made = {"memory": MemoryStore, "file": FileStore, "sqlite": SQLiteStore}[kind]
    store: Store = made() if kind == "memory" else made(tmp_path / kind)
    store.save(state_with("kept", name="a"))
    with pytest.raises(ValueError, match=r"list\(limit=...\) takes an int >= 0, not "):
        store.list(limit=wrong)
    with pytest.raises(ValueError, match=r"list\(limit=...\) takes an int >= 0, not "):
        await store.alist(limit=wrong)
    assert [each.id for each in store.list()] == ["a"]
    assert list(store.list(limit=0)) == []
    store.close()


def test_a_fork_is_saved_under_its_own_id_with_its_origin() -> None:
    store, state = MemoryStore(), state_with("a", name="x")
    store.save(state)
    fork = store.load("x").fork()
    store.save(fork)
    loaded = store.load(fork.id)
    assert loaded.forked_from == fork.forked_from
    assert loaded.history == state.history
    state.add_message(Message.user("the original goes on"))
    store.save(state)


def test_children_of_a_saved_state_are_opened_in_its_store() -> None:
    store = MemoryStore()
    kid = state_with("help", name="kid")
    store.save(kid)
    call = ToolCall(id="c", name="helper")
    begin = state_with("go").history
    asks = Message(role="assistant", content=(call,))
    root = State(
        id="root",
        history=[
            *begin,
            *request_and_reply(asks),
            ToolResultEntry(
                content="done",
                call=call,
                outcome="done",
                child_ids=("kid",),
                message_id="m",
            ),
        ],
    )
    store.save(root)
    assert root.child("kid").history == kid.history
    loaded = store.load("root")
    assert loaded.child("kid") is not loaded.child("kid")
    store.delete("kid")
    with pytest.raises(LookupError, match="no State 'kid'"):
        loaded.child("kid")


def request_and_reply(message: Message) -> list[Any]:
    return [
        ModelRequestEntry(content="m"),
        ModelReplyEntry(content=Reply(message=message)),
    ]


def test_a_store_does_not_keep_states_alive() -> None:
    store, state = MemoryStore(), state_with("a")
    store.save(state)
    assert len(store._bindings) == 1
    del state
    gc.collect()
    assert len(store._bindings) == 0


def test_a_new_state_under_an_id_that_is_taken_is_told_so() -> None:
    store = MemoryStore()
    store.save(state_with("a", name="x"))
    with pytest.raises(StoreConflict, match="has one of this id already, with 1 ent"):
        store.save(state_with("b", name="x"))
    assert is_whole(store, store.load("x"))


def test_a_writer_that_names_nobody_it_comes_after_needs_an_empty_place() -> None:
    refuse_conflict("x", None, 0, {"writer": "w"}, 0)
    with pytest.raises(StoreConflict, match="no longer in the store"):
        refuse_conflict("x", None, 0, {"writer": "w", "after": "v"}, 0)
    with pytest.raises(StoreConflict, match="another live copy"):
        refuse_conflict("x", {"writer": "v"}, 0, {"writer": "w"}, 0)


def test_a_phase_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(ValueError, match="'thinking', 'calling', not 'running'"):
        MemoryStore().list(phase="running")


def long_state(turns: int) -> State:
    history: list[Any] = []
    for number in range(turns):
        history += state_with(f"question {number}").history
        history += request_and_reply(Message.assistant(f"answer {number}"))
    return State(id="long", history=history)


def is_decoded(state: State) -> bool:
    parent = state._mailbox.value.history.parent
    return parent is None or list.__len__(parent.items) > 0


def test_a_long_state_is_loaded_without_decoding_all_of_it() -> None:
    store, state = MemoryStore(), long_state(300)
    store.save(state)
    loaded = store.load("long")
    loaded.add_message(Message.user("more"))
    store.save(loaded)
    assert loaded.turn == 300
    assert not is_decoded(loaded)
    again = store.load("long")
    assert (again.usage, again.phase) == (state.usage, "idle")
    assert not is_decoded(again)
    assert again.history[:-1] == state.history
    assert again.messages[:-1] == state.messages


def test_a_rest_follows_a_history_that_grows() -> None:
    store, state = MemoryStore(), long_state(200)
    store.save(state)
    sizes = set[int]()
    for _ in range(3):
        loaded = store.load("long")
        for _ in range(600):
            loaded.add_message(Message.user("more"))
        store.save(loaded)
        assert not is_decoded(loaded)
        rest = store.load("long")._mailbox.value.history.base
        sizes.add(rest)
        assert len(loaded.history) - rest < 600
    assert len(sizes) == 3


@pytest.mark.parametrize("rest", ["junk", '{"version":99,"size":1,"count":1,"turn":1}'])
def test_a_rest_that_does_not_fit_is_left_aside(rest: str) -> None:
    store, state = MemoryStore(), long_state(3)
    store.save(state)
    record = store.read("long")
    assert record is not None
    store.write("long", [], {**record.info, "rest": rest}, expected=9)
    loaded = store.load("long")
    assert loaded.snapshot() == state.snapshot()
    loaded.add_message(Message.user("more"))
    store.save(loaded)
    assert store.load("long").history == loaded.history
