"""Threads: saved, gone on with, shared, stopped; never poisoned."""

from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from actors import (
    BudgetExceeded,
    FileStore,
    Limits,
    MemoryStore,
    Message,
    RunCancelled,
    State,
    StoreConflict,
    open_supervisor,
)
from actors.graph import _threads
from tests.graphs import (
    Counted,
    adds,
    chain,
    fan,
    kept,
    kinds,
    says,
    started,
    texts,
    thread,
    user,
)


class Flaky:
    """A node that fails until it is mended."""

    def __init__(self, number: int = 1) -> None:
        self.is_broken = True
        self.number = number
        self.runs = 0

    async def __call__(self, state: Any) -> dict[str, Any]:
        self.runs += 1
        if self.is_broken:
            raise ConnectionError("down")
        return {"total": self.number}


async def test_a_thread_goes_on_where_it_ended() -> None:
    app = chain(("a", says("hello")), ("b", adds(1)))
    await app.ainvoke(user("one"), thread())
    result = await app.ainvoke(user("two"), thread())
    assert texts(result["messages"]) == ["two", "hello"]
    assert texts(result["state"].context) == ["one", "hello", "two", "hello"]
    assert result["state"].total == 2


async def test_without_a_thread_id_each_run_has_a_fresh_thread() -> None:
    app = chain(("a", adds(1)))
    first, second = await app.ainvoke({}), await app.ainvoke({})
    ids = [each["state"].execution_meta.thread_id for each in (first, second)]
    assert ids[0] != ids[1]
    assert kept(app, ids[0]).id == ids[0]


async def test_a_thread_goes_on_in_another_process_with_only_the_store(
    tmp_path: Path,
) -> None:
    def app() -> Any:
        return chain(("a", adds(1, "x")), checkpointer=FileStore(tmp_path))

    await app().ainvoke({**user("one"), "state": {"city": "Oslo"}}, thread())
    result = await app().ainvoke(user("two"), thread())
    state = result["state"]
    assert (state.total, state.city, state.log) == (2, "Oslo", ["x", "x"])
    assert texts(state.context) == ["one", "two"]


async def test_the_values_of_the_state_object_are_those_a_thread_begins_with() -> None:
    first = Counted(total=40, context=[Message.text_message("be kind", role="system")])
    app = chain(("a", adds(2)), state=first)
    result = await app.ainvoke(user("hi"), thread())
    assert result["state"].total == 42
    assert texts(result["state"].context) == ["be kind", "hi"]
    assert (await app.ainvoke({}, thread()))["state"].total == 44


async def test_a_failed_step_leaves_the_saved_state_as_before_it() -> None:
    flaky = Flaky()
    app = chain(("a", adds(1)), ("b", flaky))
    with pytest.raises(ConnectionError):
        await app.ainvoke(user("hi"), thread())
    state = await app.aget_state(thread())
    assert (state.total, texts(state.context)) == (1, ["hi"])
    assert state.execution_meta.status == "error"
    assert "down" in state.execution_meta.error_text


async def test_going_on_runs_only_the_nodes_without_an_update() -> None:
    flaky = Flaky(10)
    app = fan(("a", adds(1)), ("b", flaky), ("c", adds(100)))
    with pytest.raises(ConnectionError):
        await app.ainvoke({}, thread())
    flaky.is_broken = False
    result = await app.ainvoke(None, thread())
    assert result["state"].total == 111
    assert sorted(started(app)) == ["a", "b", "b", "c"]


async def test_going_on_works_from_another_process(tmp_path: Path) -> None:
    flaky = Flaky(10)

    def app() -> Any:
        nodes = ("a", adds(1)), ("b", flaky)
        return fan(*nodes, checkpointer=FileStore(tmp_path))

    with pytest.raises(ConnectionError):
        await app().ainvoke({}, thread())
    flaky.is_broken = False
    other = app()
    assert (await other.ainvoke(None, thread()))["state"].total == 11
    assert sorted(started(other)) == ["a", "b", "b"]


async def test_messages_after_a_failure_drop_its_updates_and_begin_anew() -> None:
    flaky = Flaky(10)
    app = fan(("a", adds(1)), ("b", flaky))
    with pytest.raises(ConnectionError):
        await app.ainvoke({}, thread())
    flaky.is_broken = False
    assert (await app.ainvoke(user("hi"), thread()))["state"].total == 11
    assert sorted(started(app)) == ["a", "a", "b", "b"]


@pytest.mark.parametrize("has_run", [True, False])
async def test_nothing_to_go_on_from_is_refused_and_records_nothing(
    has_run: bool,
) -> None:
    app = chain(("a", adds(1)))
    if has_run:
        await app.ainvoke({}, thread())
    before = kinds(app) if has_run else []
    with pytest.raises(ValueError, match="nothing to go on from"):
        await app.ainvoke(None, thread())
    if has_run:
        assert kinds(app) == before
    else:
        with pytest.raises(LookupError):
            await app.aget_state(thread())


async def test_a_limit_that_trips_leaves_the_thread_usable() -> None:
    from actors import Agent
    from actors.testing import FakeModel

    model = FakeModel(["one", "two", "three"])
    agents = [("a", Agent(model=model)), ("b", Agent(model=model))]
    app = chain(*agents, limits=Limits(requests=1))
    with pytest.raises(BudgetExceeded):
        await app.ainvoke(user("hi"), thread())
    assert texts((await app.aget_state(thread())).context) == ["hi", "one"]
    assert texts((await app.ainvoke(None, thread()))["messages"]) == ["two"]


async def test_a_cancelled_run_leaves_what_was_committed() -> None:
    async def hang(state: Any) -> None:
        await trio.sleep_forever()

    app = chain(("a", adds(1)), ("b", hang))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(app.ainvoke, user("hi"), thread())
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    state = await app.aget_state(thread())
    assert (state.total, state.execution_meta.stop_current_execution) == (1, "stopped")
    assert kinds(app)[-2:] == ["node_end", "graph_end"]


async def test_stop_from_outside_cancels_in_mid_node_and_keeps_what_was_committed() -> (
    None
):
    flag = trio.Event()

    async def hang(state: Any) -> dict[str, Any]:
        if not flag.is_set():
            await flag.wait()
        return {"total": 10}

    app = chain(("a", adds(1)), ("b", hang))
    assert not await app.astop(thread())
    async with trio.open_nursery() as nursery:

        async def run() -> None:
            with pytest.raises(RunCancelled, match="stopped from outside"):
                await app.ainvoke({}, thread())

        nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()
        assert await app.astop(thread())
    assert (await app.aget_state(thread())).total == 1
    flag.set()
    assert (await app.ainvoke(None, thread()))["state"].total == 11
    assert not app.stop(thread())


async def test_a_stopped_node_may_clean_up_within_its_grace(
    autojump_clock: trio.abc.Clock,
) -> None:
    cleaned: list[bool] = []

    async def careful(state: Any) -> None:
        try:
            await trio.sleep_forever()
        finally:
            await trio.sleep(1)
            cleaned.append(True)

    app = chain(("a", careful))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(app.ainvoke, {}, thread())
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert cleaned == [True]


async def test_twenty_runs_on_one_thread_are_twenty_whole_turns() -> None:
    async def answer(state: Counted) -> str:
        await trio.lowlevel.checkpoint()
        return f"to {state.context[-1].text()}"

    app = chain(("a", answer), ("b", adds(1)))
    results: dict[int, Any] = {}

    async def run(number: int) -> None:
        results[number] = await app.ainvoke(user(f"q{number}"), thread())

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(run, number)
    for number, result in results.items():
        assert texts(result["messages"]) == [f"q{number}", f"to q{number}"]
    said = texts((await app.aget_state(thread())).context)
    turns = [tuple(said[at : at + 2]) for at in range(0, 40, 2)]
    assert sorted(turns) == sorted((f"q{n}", f"to q{n}") for n in range(20))
    assert (await app.aget_state(thread())).total == 20


async def test_a_second_run_is_rejected_if_the_graph_says_so() -> None:
    async def hang(state: Any) -> None:
        await trio.sleep_forever()

    app = chain(("a", hang), busy="reject")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(app.ainvoke, {}, thread())
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(ValueError, match="under way"):
            await app.ainvoke({}, thread())
        nursery.cancel_scope.cancel()


async def test_a_second_run_takes_over_if_the_graph_says_so() -> None:
    runs: list[int] = []

    async def hang_once(state: Any) -> dict[str, Any]:
        runs.append(1)
        if len(runs) == 1:
            await trio.sleep_forever()
        return {"total": 1}

    app = chain(("a", hang_once), busy="interrupt")
    async with trio.open_nursery() as nursery:

        async def first() -> None:
            with pytest.raises(RunCancelled, match="took over"):
                await app.ainvoke({}, thread())

        nursery.start_soon(first)
        await trio.testing.wait_all_tasks_blocked()
        assert (await app.ainvoke({}, thread()))["state"].total == 1


async def test_a_thread_that_another_process_went_on_with_is_loaded_again() -> None:
    store = MemoryStore()
    here, there = (chain(("a", adds(1)), checkpointer=store) for _ in range(2))
    for app in (here, there, here, there):
        await app.ainvoke({}, thread())
    assert (await here.aget_state(thread())).total == 4


async def test_a_run_whose_thread_is_taken_over_in_the_middle_is_told() -> None:
    store = MemoryStore()
    other = chain(("a", adds(100)), checkpointer=store)

    async def meanwhile(state: Any) -> dict[str, Any]:
        await other.ainvoke({}, thread())
        return {"total": 1}

    app = chain(("a", meanwhile), checkpointer=store)
    with pytest.raises(StoreConflict):
        await app.ainvoke({}, thread())
    assert (await other.aget_state(thread())).total == 100
    result = await other.ainvoke({}, thread())
    assert result["state"].total == 200


async def test_idle_threads_are_let_go_and_found_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_threads, "IDLE_MAX", 3)
    app = chain(("a", adds(1)))
    for name in "abcdefg":
        await app.ainvoke({}, thread(name))
    assert len(app._here()._known) == 3
    assert (await app.ainvoke({}, thread("a")))["state"].total == 2


async def test_a_conversation_is_not_lost_when_a_graph_goes_on_with_it() -> None:
    store = MemoryStore()
    state = State(id="t", messages=[Message.user("before")])
    await store.asave(state)
    app = chain(("a", says("after")), checkpointer=store)
    result = await app.ainvoke({}, thread())
    assert texts(result["state"].context) == ["before", "after"]


async def test_what_changes_the_context_of_a_thread_goes_through_its_graph() -> None:
    app = chain(("a", adds(1)))
    await app.ainvoke(user("hi"), thread())
    state = kept(app)
    before = state.history
    for change in (
        lambda: state.add_message(Message.user("x")),
        lambda: state.compact("x"),
        lambda: state.clear_tool_results(),
    ):
        with pytest.raises(ValueError, match="thread of a graph"):
            change()
    assert state.history == before


async def test_a_thread_can_go_back_to_a_snapshot_between_runs() -> None:
    app = chain(("a", adds(1, "x")))
    await app.ainvoke(user("one"), thread())
    state = kept(app)
    then = state.snapshot()
    await app.ainvoke(user("two"), thread())
    state = kept(app)
    state.restore(then)
    await app.checkpointer.asave(state)
    result = await app.ainvoke(user("three"), thread())
    assert texts(result["state"].context) == ["one", "three"]
    assert result["state"].total == 2


async def test_runs_join_the_supervisor_around_them() -> None:
    app = chain(("a", adds(1)))
    async with open_supervisor() as supervisor:
        await app.ainvoke({}, thread())
        assert supervisor.statistics().started == 2
        assert supervisor.tree() == ()


def test_plain_code_invokes_stops_and_looks() -> None:
    app = chain(("a", adds(1)))
    assert app.invoke({}, thread())["state"].total == 1
    assert app.get_state(thread()).total == 1
    assert app.stop(thread()) is False


async def test_plain_methods_are_refused_on_a_trio_thread() -> None:
    app = chain(("a", adds(1)))
    with pytest.raises(TypeError, match="ainvoke"):
        app.invoke({}, thread())
    with pytest.raises(TypeError, match="astream"):
        app.stream({}, thread())
