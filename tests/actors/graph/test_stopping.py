"""Nodes that do not stop, threads that cannot, and States that are closed."""

import threading
from typing import Any

import pytest
import trio
import trio.testing

from actors import Agent, FunctionModel, RunCancelled, State, open_supervisor
from tests.graphs import Counted, adds, chain, fan, kept, thread, user


class Gate:
    """A plain node that waits in its thread until it is let go."""

    def __init__(self, error: bool = False) -> None:
        self.is_running = threading.Event()
        self.may_go = threading.Event()
        self.error = error

    def __call__(self, state: Any) -> dict[str, Any]:
        self.is_running.set()
        self.may_go.wait(10)
        if self.error:
            raise KeyError("late")
        return {"total": 1}


@pytest.mark.parametrize("error", [False, True])
async def test_a_thread_that_cannot_stop_is_left_and_noted_when_it_ends(
    error: bool,
) -> None:
    gate = Gate(error)
    app = chain(("a", adds(1)), ("slow", gate))
    async with open_supervisor() as supervisor:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(app.ainvoke, {}, thread())
            await trio.to_thread.run_sync(gate.is_running.wait, 10)
            nursery.cancel_scope.cancel()
        assert (await app.aget_state(thread())).total == 1
        state = app._here()._known["t"].state
        assert supervisor.statistics().threads == 1
        (named,) = supervisor.statistics().unstopped
        assert named.path[0] == "t"
        assert named.path[1].startswith("slow-")
        gate.may_go.set()
    notes = [e.content for e in state.history if e.kind == "model_event"]
    assert [note.kind for note in notes] == ["late"]
    assert "slow ended later" in notes[0].message
    gate.error = False
    assert (await app.ainvoke(None, thread()))["state"].total == 2


async def test_a_deaf_node_is_given_up_and_named(
    autojump_clock: trio.abc.Clock,
) -> None:
    async def deaf(state: Any) -> None:
        for _ in range(5):
            with trio.CancelScope(shield=True):
                await trio.sleep(10)

    app = fan(("deaf", deaf), ("fine", adds(1)))
    async with open_supervisor(grace_s=1) as supervisor:
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                with pytest.raises(RunCancelled):
                    await app.ainvoke({}, thread())

            nursery.start_soon(run)
            await trio.sleep(5)
            assert app.stop(thread())
        (unstopped,) = supervisor.statistics().unstopped
    assert unstopped.path[0] == "t"
    assert unstopped.path[1].startswith("deaf-")
    ends = [e.content for e in kept(app).history if e.kind == "node_end"]
    assert [(end.node, end.outcome) for end in ends] == [
        ("fine", "done"),
        ("deaf", "cancelled"),
    ]


async def test_what_a_deaf_run_below_a_node_uses_late_still_counts(
    autojump_clock: trio.abc.Clock,
) -> None:
    async def think(request: Any) -> str:
        with trio.CancelScope(shield=True):
            await trio.sleep(10)
        return "at last"

    deaf = Agent(FunctionModel(think), reporter=None, human=None, grace_s=1)

    async def ask(state: Any) -> str:
        return str(await deaf.arun("x"))

    app = chain(("ask", ask))
    async with open_supervisor(grace_s=1), trio.open_nursery() as nursery:

        async def run() -> None:
            with pytest.raises(RunCancelled):
                await app.ainvoke({}, thread())

        nursery.start_soon(run)
        await trio.sleep(5)
        assert await app.astop(thread())
        assert kept(app).usage.requests == 0
    assert kept(app).usage.requests == 1
    assert app.checkpointer.load("t").usage.requests == 1


async def test_a_thread_that_is_closed_in_mid_run_stops_it() -> None:
    async def hang(state: Any) -> None:
        await trio.sleep_forever()

    app = chain(("a", adds(1)), ("hang", hang))
    async with trio.open_nursery() as nursery:

        async def run() -> None:
            with pytest.raises(RunCancelled, match="closed"):
                await app.ainvoke({}, thread())

        nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()
        live: State = app._here()._known["t"].state
        live.close("enough")
    assert live.closed
    assert kept(app).snapshot().phase == "idle"


async def test_a_plain_node_may_hand_back_an_awaitable() -> None:
    async def later() -> dict[str, Any]:
        await trio.lowlevel.checkpoint()
        return {"total": 3}

    result = await chain(("a", lambda state: later())).ainvoke({})
    assert result["state"].total == 3


async def test_methods_partials_and_callable_objects_are_nodes() -> None:
    from functools import partial

    class Shop:
        async def sell(self, state: Counted) -> dict[str, Any]:
            return {"total": 1}

        async def __call__(self, state: Counted) -> dict[str, Any]:
            return {"total": 10}

    async def with_more(state: Counted, number: int) -> dict[str, Any]:
        return {"total": number}

    shop = Shop()
    nodes = ("a", shop.sell), ("b", shop), ("c", partial(with_more, number=100))
    assert (await chain(*nodes).ainvoke(user("hi")))["state"].total == 111
