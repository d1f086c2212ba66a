"""Editing extra data: one block at a time, nothing lost, and nobody stuck."""

import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from actors import ActorClosed, FrozenDict, Message, State
from actors._edits import _open_here
from tests.turns import kinds

LONE = "half \ud83d of a pair"


def count_up(state: State) -> None:
    with state.edit_extra_data() as data:
        data["n"] = data.get("n", 0) + 1


async def acount_up(state: State) -> None:
    async with state.aedit_extra_data() as data:
        before = data.get("n", 0)
        await trio.lowlevel.checkpoint()
        data["n"] = before + 1


# What is recorded.


def test_a_block_edits_a_plain_copy_and_records_what_changed_as_one_entry() -> None:
    state = State(extra_data={"notes": {"bug": "a.py"}, "draft": 1, "same": [1]})
    with state.edit_extra_data() as data:
        assert type(data) is dict
        assert type(data["notes"]) is dict
        data.setdefault("notes", {})["bug"] = "b.py"
        data.pop("draft", None)
        assert state.extra_data["draft"] == 1
    assert state.extra_data == {"notes": {"bug": "b.py"}, "same": [1]}
    assert type(state.extra_data["notes"]) is FrozenDict
    entry = state.history[-1]
    assert (entry.content, entry.removed) == ({"notes": {"bug": "b.py"}}, ("draft",))


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({"n": 1}, {"n": 1}, False),
        ({"n": 1}, {"n": 1.0}, True),
        ({"n": 1}, {"n": True}, True),
        ({"n": [1, {"a": 1}]}, {"n": [1, {"a": True}]}, True),
        ({"n": {"a": 1, "b": 2}}, {"n": {"b": 2, "a": 1}}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        ({"n": (1, 2)}, {"n": [1, 2]}, False),
        ({}, {"n": None}, True),
        ({"n": None}, {}, True),
    ],
    ids=str,
)
def test_only_a_change_is_recorded(before: Any, after: Any, changed: bool) -> None:
    state = State(extra_data=before)
    entries = len(state.history)
    with state.edit_extra_data() as data:
        data.clear()
        data.update(after)
    assert len(state.history) == entries + changed
    assert as_json(state.extra_data) == as_json(after)


def as_json(value: Any) -> str:
    """As text, which tells 1, 1.0 and true apart, in an order of its own."""
    return json.dumps(value, sort_keys=True)


def test_what_a_block_holds_on_to_is_not_the_states_own() -> None:
    state = State()
    shared = [1]
    with state.edit_extra_data() as data:
        data["list"] = shared
    shared.append(2)
    data["list"] = "afterwards"
    assert state.extra_data == {"list": [1]}


def test_a_block_that_raises_changes_nothing() -> None:
    state = State(extra_data={"n": 1})
    before = state.snapshot()
    with pytest.raises(ZeroDivisionError), state.edit_extra_data() as data:
        data["n"] = 2
        raise ZeroDivisionError
    assert state.snapshot() == before
    count_up(state)
    assert state.extra_data == {"n": 2}


@pytest.mark.parametrize(
    "value",
    [{1}, object(), float("nan"), Path("x"), datetime.now(UTC), b"x", LONE],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_is_not_json_is_refused_by_its_key(value: Any) -> None:
    state = State(extra_data={"n": 1})
    before = state.snapshot()
    with (
        pytest.raises(TypeError, match=r"extra_data\.deep\[0\]"),
        state.edit_extra_data() as data,
    ):
        data["n"] = 2
        data["deep"] = [value]
    assert state.snapshot() == before
    count_up(state)


def test_a_key_that_is_not_text_is_refused() -> None:
    state = State()
    with pytest.raises(TypeError), state.edit_extra_data() as data:
        data[1] = "one"  # type: ignore[index]  # what is tested
    assert state.history == ()


# Taking turns.


def test_edits_of_many_threads_lose_no_update() -> None:
    state, barrier = State(), threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        for _ in range(25):
            count_up(state)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert state.extra_data == {"n": 200}
    assert kinds(state) == ["extra_data"] * 200


def test_threads_get_the_turn_in_the_order_they_came() -> None:
    state, order, workers = State(), list[int](), list[threading.Thread]()
    line = state._own_edits()._waiting

    def work(number: int) -> None:
        with state.edit_extra_data():
            order.append(number)

    with state.edit_extra_data():
        for number in range(5):
            workers.append(threading.Thread(target=work, args=(number,)))
            workers[-1].start()
            while len(line) <= number:
                pass  # until it stands in the line
    for worker in workers:
        worker.join()
    assert order == list(range(5))


async def test_edits_of_many_tasks_lose_no_update() -> None:
    state = State()
    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(acount_up, state)
    assert state.extra_data == {"n": 50}


async def test_edits_of_tasks_and_threads_lose_no_update() -> None:
    state = State()
    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(acount_up, state)
            nursery.start_soon(trio.to_thread.run_sync, count_up, state)
    assert state.extra_data == {"n": 40}


async def test_a_plain_block_on_a_trio_thread_never_waits() -> None:
    state, inside, go = State(), trio.Event(), trio.Event()

    async def hold() -> None:
        async with state.aedit_extra_data() as data:
            inside.set()
            await go.wait()
            data["n"] = 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(hold)
        await inside.wait()
        before = state.snapshot()
        with (
            pytest.raises(ValueError, match="async with state"),
            state.edit_extra_data(),
        ):
            raise AssertionError("two blocks at once")
        assert state.snapshot() == before
        go.set()
    count_up(state)
    assert state.extra_data == {"n": 2}


async def test_a_plain_block_on_a_trio_thread_does_not_wait_for_a_thread() -> None:
    state, inside, go = State(), threading.Event(), threading.Event()

    def hold() -> None:
        with state.edit_extra_data() as data:
            inside.set()
            go.wait()
            data["n"] = 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, hold)
        await trio.to_thread.run_sync(inside.wait)
        with pytest.raises(ValueError, match="another"), state.edit_extra_data():
            raise AssertionError("two blocks at once")
        go.set()
        await acount_up(state)  # this one waits
    assert state.extra_data == {"n": 2}


async def test_a_task_that_is_cancelled_while_it_waits_leaves_the_line() -> None:
    state, inside, go = State(), trio.Event(), trio.Event()
    scope = trio.CancelScope()

    async def hold() -> None:
        async with state.aedit_extra_data():
            inside.set()
            await go.wait()

    async def wait_in_vain() -> None:
        with scope:
            await acount_up(state)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(hold)
        await inside.wait()
        nursery.start_soon(wait_in_vain)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(acount_up, state)
        await trio.testing.wait_all_tasks_blocked()
        scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        go.set()
    assert state.extra_data == {"n": 1}


async def test_a_task_that_is_cancelled_as_it_gets_the_turn_passes_it_on() -> None:
    state, scope = State(), trio.CancelScope()

    async def wait_in_vain() -> None:
        with scope:
            await acount_up(state)

    async with trio.open_nursery() as nursery, state.aedit_extra_data():
        nursery.start_soon(_in_a_fresh_context, wait_in_vain)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(_in_a_fresh_context, acount_up, state)
        await trio.testing.wait_all_tasks_blocked()
        scope.cancel()
        # The turn was handed to the cancelled one, which has not run yet.
    assert state.extra_data == {"n": 1}


async def _in_a_fresh_context(fn: Any, *args: Any) -> None:
    """Run it as what was started outside the block around this."""
    _open_here.set(())
    await fn(*args)


# Blocks inside blocks.


def test_a_block_inside_a_block_raises_and_the_outer_one_is_recorded() -> None:
    state = State()
    with state.edit_extra_data() as data:
        data["outer"] = 1
        with (
            pytest.raises(ValueError, match="outer block"),
            state.edit_extra_data() as inner,
        ):
            inner["inner"] = 1
    assert state.extra_data == {"outer": 1}
    count_up(state)


async def test_no_kind_of_block_goes_inside_another() -> None:
    state = State()
    async with state.aedit_extra_data() as data:
        data["outer"] = 1
        with pytest.raises(ValueError, match="outer block"):
            await acount_up(state)
        with pytest.raises(ValueError, match="outer block"):
            count_up(state)
        # A worker thread that the block waits for would wait for the block.
        with pytest.raises(ValueError, match="outer block"):
            await trio.to_thread.run_sync(count_up, state)
    assert state.extra_data == {"outer": 1}


async def test_what_was_started_in_a_block_may_edit_once_it_is_over() -> None:
    state, over = State(), trio.Event()

    async def later() -> None:
        await over.wait()
        await acount_up(state)

    async with trio.open_nursery() as nursery:
        async with state.aedit_extra_data() as data:
            nursery.start_soon(later)
            data["outer"] = 1
        over.set()
    assert state.extra_data == {"outer": 1, "n": 1}


def test_blocks_of_two_states_go_inside_each_other() -> None:
    one, two = State(), State()
    with one.edit_extra_data() as data, two.edit_extra_data() as other:
        data["n"], other["n"] = 1, 2
    assert (one.extra_data, two.extra_data) == ({"n": 1}, {"n": 2})


def test_other_commands_work_inside_a_block() -> None:
    state = State()
    before = state.snapshot()
    with state.edit_extra_data() as data:
        state.add_message(Message.user("x"))
        data["n"] = 1
    assert kinds(state) == ["user", "extra_data"]
    state.restore(before)
    assert state.extra_data == {}


def test_a_block_is_left_when_its_state_was_closed_in_the_meantime() -> None:
    state = State()
    with pytest.raises(ActorClosed), state.edit_extra_data() as data:
        data["n"] = 1
        state.close()
    with state.edit_extra_data():
        pass  # the turn was given back
    assert state.history == ()
