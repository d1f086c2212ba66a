"""A mailbox: one command at a time, in order, and nobody waits on a closed actor."""

import gc
import signal
import threading
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
import trio
import trio.testing

from actors import ActorClosed, Message, State, _mailbox
from actors._mailbox import CAPACITY
from protocol._commands import AddMessage, Finish, Fork, Request
from tests.turns import ask, call, close, fail, kinds, receive, send, texts, think

THREADS = 8


def asked_state() -> State:
    """A State whose request waits on the model, sent by a run of this process."""
    state = State(messages=[Message.user("x")])
    ask(state)
    return state


def wait_for_turn(state: State, name: str) -> Any:
    return state._mailbox.send_in_turn(Request(name))


def requests(state: State) -> list[Any]:
    return [e.content for e in state.history if e.kind == "model_request"]


# Order.


def add_in_threads(state: State, each: int) -> None:
    """Every thread adds so many messages; all start at once."""
    barrier = threading.Barrier(THREADS)

    def work(number: int) -> None:
        barrier.wait()
        for count in range(each):
            state.add_message(Message.user(f"{number} {count}"))

    workers = [threading.Thread(target=work, args=(n,)) for n in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def check_all_there(state: State, each: int) -> None:
    added: dict[str, list[int]] = {}
    for text in texts(state):
        number, count = text.split()
        added.setdefault(number, []).append(int(count))
    assert added == {str(number): list(range(each)) for number in range(THREADS)}
    assert len(state.history) == THREADS * each


def test_messages_of_many_threads_all_arrive_each_threads_in_order() -> None:
    state = State()
    add_in_threads(state, 100)
    check_all_there(state, 100)


@pytest.mark.slow
def test_80_000_messages_of_8_threads_all_arrive_each_threads_in_order() -> None:
    state = State()
    add_in_threads(state, 10_000)
    check_all_there(state, 10_000)


def test_a_history_only_grows_while_threads_read_it() -> None:
    state, stop, seen = State(), threading.Event(), list[Any]()

    def read() -> None:
        while not stop.is_set():
            seen.append(state.history)

    reader = threading.Thread(target=read)
    reader.start()
    add_in_threads(state, 50)
    stop.set()
    reader.join()
    for earlier, later in pairwise(seen):
        assert later[: len(earlier)] == earlier


# Commands sent from inside a step.


class SendsWhenCollected:
    """Garbage that sends a command when the collector finds it."""

    def __init__(self, state: State) -> None:
        self.me = self
        self.state = state

    def __del__(self) -> None:
        self.state.add_message(Message.user("from a finalizer"))


def test_a_command_of_a_finalizer_inside_a_step_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = State()
    SendsWhenCollected(state)
    clock = _mailbox.now

    def collecting_clock() -> Any:
        gc.collect()
        return clock()

    monkeypatch.setattr(_mailbox, "now", collecting_clock)
    state.add_message(Message.user("from the step"))
    assert texts(state) == ["from a finalizer", "from the step"]


def test_a_command_of_a_signal_handler_inside_a_step_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = State()
    clock = _mailbox.now
    rung: list[int] = []

    def ringing_clock() -> Any:
        if not rung:
            rung.append(1)
            signal.raise_signal(signal.SIGUSR1)
        return clock()

    monkeypatch.setattr(_mailbox, "now", ringing_clock)
    before = signal.signal(
        signal.SIGUSR1, lambda *_: state.add_message(Message.user("from a handler"))
    )
    try:
        state.add_message(Message.user("from the step"))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert texts(state) == ["from a handler", "from the step"]


def test_a_close_inside_a_step_refuses_the_step_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = State()
    clock = _mailbox.now

    def closing_clock() -> Any:
        state.close()
        return clock()

    monkeypatch.setattr(_mailbox, "now", closing_clock)
    with pytest.raises(ActorClosed):
        state.add_message(Message.user("x"))
    assert state.history == ()


# Listeners.


def test_a_listener_is_told_of_each_commit_once_in_order() -> None:
    state, sizes = State(), list[tuple[int, int]]()

    def listener(before: Any, after: Any) -> None:
        sizes.append((before.size, after.size))

    state._mailbox.listen(listener)
    state.add_message(Message.user("a"))
    state.clear_tool_results()
    state.add_message(Message.user("b"))
    state._mailbox.unlisten(listener)
    state.add_message(Message.user("c"))
    assert sizes == [(0, 1), (1, 2)]


def test_listeners_that_send_commands_are_told_of_all_commits_in_order() -> None:
    state = State()
    told: dict[str, list[tuple[int, int]]] = {"first": [], "second": []}

    def first(before: Any, after: Any) -> None:
        told["first"].append((before.size, after.size))
        if after.size < 3:
            state.add_message(Message.user("and one more"))

    def second(before: Any, after: Any) -> None:
        told["second"].append((before.size, after.size))

    state._mailbox.listen(first)
    state._mailbox.listen(second)
    state.add_message(Message.user("a"))
    assert told["first"] == [(0, 1), (1, 2), (2, 3)]
    assert told["second"][0][0] == 0
    assert told["second"][-1][1] == 3
    assert all(a[1] == b[0] for a, b in pairwise(told["second"]))


# Waiting for a turn.


async def test_thinks_that_wait_begin_in_the_order_they_came() -> None:
    state = asked_state()
    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(wait_for_turn, state, f"fake/{number}")
            await trio.testing.wait_all_tasks_blocked()
        assert state.statistics().waiting == 5
        for number in range(5):
            receive(state, text="done")
            await trio.testing.wait_all_tasks_blocked()
            assert requests(state)[1:] == [f"fake/{n}" for n in range(number + 1)]
    assert state.statistics().waiting == 0
    assert state.phase == "thinking"


async def test_a_think_waits_through_the_calls_of_the_turn_before_it() -> None:
    state = asked_state()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait_for_turn, state, "fake/two")
        await trio.testing.wait_all_tasks_blocked()
        receive(state, call("a"))
        await trio.testing.wait_all_tasks_blocked()
        assert state.phase == "calling"
        close(state, call("a"))
    assert kinds(state)[-2:] == ["tool_result", "model_request"]


async def test_a_think_that_comes_while_calls_are_pending_is_refused() -> None:
    state = asked_state()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait_for_turn, state, "fake/two")
        await trio.testing.wait_all_tasks_blocked()
        receive(state, call("a"))
        before = state.snapshot()
        with pytest.raises(ValueError, match="no result yet"):
            await wait_for_turn(state, "fake/three")
        assert state.snapshot() == before
        close(state, call("a"))


async def test_a_think_that_finds_others_waiting_stands_behind_them() -> None:
    state = asked_state()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait_for_turn, state, "fake/two")
        await trio.testing.wait_all_tasks_blocked()
        receive(state, text="done")  # it is woken, and has not run yet
        nursery.start_soon(wait_for_turn, state, "fake/three")
        await trio.testing.wait_all_tasks_blocked()
        assert requests(state)[1:] == ["fake/two"]
        receive(state, text="done")
    assert requests(state)[1:] == ["fake/two", "fake/three"]


async def test_a_think_needs_no_turn_when_nothing_is_open() -> None:
    state = State(messages=[Message.user("x")])
    await wait_for_turn(state, "fake/one")
    assert state.phase == "thinking"


async def test_a_waiter_that_is_cancelled_leaves_and_lets_the_next_one_go() -> None:
    state = asked_state()
    scope = trio.CancelScope()

    async def wait_in_scope() -> None:
        with scope:
            await wait_for_turn(state, "fake/two")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait_in_scope)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(wait_for_turn, state, "fake/three")
        await trio.testing.wait_all_tasks_blocked()
        before = len(state.history)
        scope.cancel()
        receive(state, text="done")  # wakes the one that is cancelled
    assert kinds(state)[before:] == ["model_reply", "model_request"]
    assert requests(state)[1:] == ["fake/three"]


async def test_a_waiter_that_is_woken_too_early_waits_again() -> None:
    state = asked_state()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait_for_turn, state, "fake/two")
        await trio.testing.wait_all_tasks_blocked()
        fail(state)  # wakes it
        ask(state)  # and takes the turn before it runs
        await trio.testing.wait_all_tasks_blocked()
        assert state.statistics().waiting == 1
        fail(state)
    assert requests(state)[-1] == "fake/two"


async def test_a_waiter_is_woken_from_another_thread() -> None:
    state = asked_state()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait_for_turn, state, "fake/two")
        await trio.testing.wait_all_tasks_blocked()
        await trio.to_thread.run_sync(lambda: receive(state, text="done"))
    assert requests(state)[1:] == ["fake/two"]


async def test_a_waiter_in_another_run_is_woken_too() -> None:
    state = asked_state()
    stands = threading.Event()

    async def wait_there() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait_for_turn, state, "fake/two")
            await trio.testing.wait_all_tasks_blocked()
            stands.set()

    worker = threading.Thread(target=trio.run, args=(wait_there,))
    worker.start()
    await trio.to_thread.run_sync(stands.wait)
    receive(state, text="done")
    await trio.to_thread.run_sync(worker.join)
    assert requests(state)[1:] == ["fake/two"]


async def test_a_mailbox_holds_so_many_requests_and_further_senders_wait_outside() -> (
    None
):
    state = asked_state()
    async with trio.open_nursery() as nursery:
        for number in range(CAPACITY + 3):
            nursery.start_soon(wait_for_turn, state, f"fake/{number}")
        await trio.testing.wait_all_tasks_blocked()
        statistics = state.statistics()
        assert (statistics.waiting, statistics.outside) == (CAPACITY, 3)
        nursery.cancel_scope.cancel()
    assert (state.statistics().waiting, state.statistics().outside) == (0, 0)


@pytest.mark.parametrize(
    ("senders", "each"),
    [(100, 5), pytest.param(1_000, 100, marks=pytest.mark.slow)],
)
async def test_many_senders_all_get_their_turns_and_the_queue_stays_bounded(
    senders: int, each: int
) -> None:
    state, peak = asked_state(), 0

    async def work(number: int) -> None:
        nonlocal peak
        for count in range(each):
            await wait_for_turn(state, f"{number}/{count}")
            peak = max(peak, state.statistics().waiting)
            receive(state, text="done")

    async with trio.open_nursery() as nursery:
        for number in range(senders):
            nursery.start_soon(work, number)
        await trio.testing.wait_all_tasks_blocked()
        receive(state, text="done")
    assert peak == CAPACITY
    asked = requests(state)[1:]
    rounds = [asked[at : at + senders] for at in range(0, len(asked), senders)]
    for count, names in enumerate(rounds):  # each sender once before any comes again
        assert set(names) == {f"{number}/{count}" for number in range(senders)}
    assert len(asked) == senders * each


def test_a_mailbox_knows_how_long_the_history_was_when_it_began() -> None:
    state = State(messages=[Message.user("x")])
    state.add_message(Message.user("y"))
    assert state._mailbox.born == 1
    assert state.fork()._mailbox.born == 2


async def test_a_loaded_state_in_mid_request_refuses_a_think() -> None:
    state = State(history=asked_state().history)
    before = state.snapshot()
    with pytest.raises(ValueError, match="takes it back first"):
        await wait_for_turn(state, "fake/two")
    assert state.snapshot() == before
    assert state.statistics().waiting == 0
    fail(state)  # the request is taken back, and a think is welcome again
    await wait_for_turn(state, "fake/two")
    assert requests(state)[-1] == "fake/two"


async def test_a_finished_state_refuses_those_who_wait_one_after_the_other() -> None:
    state, refused = asked_state(), list[str]()

    async def refused_wait(name: str) -> None:
        with pytest.raises(ValueError, match="finished"):
            await wait_for_turn(state, name)
        refused.append(name)

    async with trio.open_nursery() as nursery:
        for name in ("fake/two", "fake/three"):
            nursery.start_soon(refused_wait, name)
            await trio.testing.wait_all_tasks_blocked()
        state.finish()
        receive(state, text="done")
    assert refused == ["fake/two", "fake/three"]


# Closing.


@pytest.mark.parametrize("calls", [(), (call("a"),)], ids=["thinking", "calling"])
async def test_closing_with_five_waiting_tells_each_of_them(calls: Any) -> None:
    state, told = asked_state(), Counter[str]()

    async def closed_wait(number: int) -> None:
        with pytest.raises(ActorClosed, match="no longer needed"):
            await wait_for_turn(state, f"fake/{number}")
        told[f"fake/{number}"] += 1

    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(closed_wait, number)
        await trio.testing.wait_all_tasks_blocked()
        if calls:
            receive(state, *calls)
        before = state.snapshot()
        state.close("no longer needed")
    assert told == Counter(f"fake/{number}" for number in range(5))
    assert state.snapshot() == before
    assert state.statistics().waiting == 0


RECORDING: dict[str, Any] = {
    "add_message": lambda state: state.add_message(Message.user("x")),
    "finish": lambda state: state.finish(1),
    "compact": lambda state: state.compact("so far"),
    "clear_tool_results": lambda state: state.clear_tool_results(0),
    "restore": lambda state: state.restore(State().snapshot()),
    "think": ask,
}


def closed_state() -> State:
    state = State(messages=[Message.user("x")])
    think(state, call("a"))
    close(state, call("a"))
    state.close()
    return state


@pytest.mark.parametrize("command", RECORDING)
def test_a_closed_actor_refuses_what_would_record_and_changes_nothing(
    command: str,
) -> None:
    state = closed_state()
    before = state.snapshot()
    with pytest.raises(ActorClosed):
        RECORDING[command](state)
    assert state.history == before.history
    assert state.snapshot() == before


def test_a_closed_actor_refuses_an_edit_and_changes_nothing() -> None:
    state = closed_state()
    with pytest.raises(ActorClosed), state.edit_extra_data() as data:
        data["n"] = 1
    assert state.extra_data == {}
    with state.edit_extra_data():
        pass  # nothing changed, nothing to record


@pytest.mark.parametrize("wrong", [3, b"enough", "\ud800"])
def test_a_close_for_a_reason_that_is_no_text_is_refused_and_closes_nothing(
    wrong: Any,
) -> None:
    state = State()
    with pytest.raises((TypeError, ValueError), match="reason="):
        state.close(wrong)
    assert not state.closed
    state.add_message(Message.user("go on"))


def test_a_closed_actor_can_be_read_and_forked() -> None:
    state = closed_state()
    assert state.closed
    assert texts(state) == ["x", "", "found"]
    assert state.fork().snapshot() == state.snapshot()
    assert not state.fork().closed
    state.clear_tool_results(5)  # records nothing


async def test_a_closed_actor_refuses_a_think_at_once() -> None:
    state = asked_state()
    state.close("it is over")
    state.close("for another reason")
    with pytest.raises(ActorClosed, match="it is over"):
        await wait_for_turn(state, "fake/two")


def test_what_is_wrong_in_itself_stays_wrong_on_a_closed_actor() -> None:
    state = closed_state()
    with pytest.raises(TypeError):
        state.compact(3)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(ValueError):
        state.clear_tool_results(-1)


def test_a_command_that_records_nothing_is_handled_on_a_closed_actor() -> None:
    state = closed_state()
    assert state._mailbox.send(Fork()) is state._mailbox.value
    with pytest.raises(ActorClosed, match="AddMessage"):
        send(state, AddMessage(Message.user("x")))
    with pytest.raises(ActorClosed, match="Finish"):
        send(state, Finish(None))


def test_two_compactions_at_once_are_refused() -> None:
    state = State()
    with state._mailbox.compacting():
        assert state.statistics().compacting
        with (
            pytest.raises(ValueError, match="under way"),
            state._mailbox.compacting(),
        ):
            raise AssertionError("a compaction inside a compaction")
    assert not state.statistics().compacting
