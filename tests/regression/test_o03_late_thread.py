"""O3: a thread cannot be stopped, so its turn ends without it and hears of it later.

On the real clock; the thread is held by a lock, so nothing here waits for time.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import trio

from actors import (
    MemoryStore,
    RunCancelled,
    ToolError,
    ToolResult,
    default_loop,
    open_supervisor,
    tool,
)
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    late,
    outcomes,
    results,
    state,
)

FAST_S = 0.15
"""How soon a cancel returns although a thread goes on."""


class Held:
    """A tool that blocks its thread until it is let go."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.let_go = threading.Event()
        self.ran: list[str] = []

    def slow(self) -> str:
        self.ran.append("slow")
        self.started.set()
        assert self.let_go.wait(10)
        return "too late"

    def queued(self) -> str:
        self.ran.append("queued")
        return "never"

    async def wait_started(self) -> None:
        while not self.started.is_set():  # noqa: ASYNC110 - a thread sets it
            await trio.sleep(0.001)


@contextmanager
def held() -> Iterator[Held]:
    made = Held()
    try:
        yield made
    finally:
        made.let_go.set()


@pytest.mark.parametrize("queued", [1, 3])
async def test_a_cancelled_turn_leaves_its_thread_and_never_starts_those_behind(
    queued: int,
) -> None:
    asked = state()
    with held() as tools:
        root = agent(
            [call("slow"), *[call("queued") for _ in range(queued)]],
            "never",
            tools=[tools.slow, tools.queued],
        )
        async with open_supervisor(threads=1) as supervisor:
            run = supervisor.start(root, asked)
            await tools.wait_started()
            before = trio.current_time()
            report = await run.cancel("enough")
            assert trio.current_time() - before < FAST_S
            ((state_id, call_id),) = report.unstopped
            (slow,) = [r.call for r in results(asked) if r.call.name == "slow"]
            assert (state_id, call_id) == (asked.id, slow.id)
            (named,) = supervisor.statistics().unstopped
            assert (named.call_id, named.reason) == (call_id, "enough")
            assert outcomes(asked) == ["interrupted"] * (queued + 1)
            assert supervisor.statistics().threads == 1
            tools.let_go.set()
        assert tools.ran == ["slow"]
        assert supervisor.statistics().threads == 0
        with pytest.raises(RunCancelled, match="enough"):
            await run.wait()
    assert_whole(asked)
    assert [entry.content for entry in late(asked)] == ["too late"]
    assert [entry.call.name for entry in late(asked)] == ["slow"]
    assert len(results(asked)) == queued + 1


async def test_a_late_value_is_told_with_the_next_request_and_is_no_result() -> None:
    asked = state()
    with held() as tools:
        root = agent(call("slow"), "done", tools=[tools.slow])
        async with open_supervisor(threads=1) as supervisor:
            run = supervisor.start(root, asked)
            await tools.wait_started()
            await run.cancel()
            tools.let_go.set()
    seen = [message.text() for message in asked.messages]
    assert not any("too late" in text for text in seen)
    assert await root.arun(asked) == "done"
    notices = [m.text() for m in asked.messages if m.is_notice]
    assert notices == ["[notice] interrupted slow finished later: too late"]
    assert len(results(asked)) == 1
    assert_whole(asked)


@pytest.mark.parametrize("retries", [0, 2])
async def test_a_thread_that_times_out_is_closed_so_and_its_value_comes_late(
    retries: int,
) -> None:
    asked = state()
    with held() as tools:
        quick = tool(name="slow", timeout_s=0.01, retries=retries)(tools.slow)
        root = agent(call("slow"), "went on", tools=[quick])
        async with open_supervisor() as supervisor:
            assert await supervisor.start(root, asked).wait() == "went on"
            tools.let_go.set()
    assert outcomes(asked) == ["error"]
    assert [entry.content for entry in late(asked)] == ["too late"]
    assert_whole(asked)


@pytest.mark.parametrize("ending", ["raises", "fails", "gives a result", "not JSON"])
async def test_whatever_a_late_thread_ends_with_comes_as_one_late_entry(
    ending: str,
) -> None:
    asked = state()
    with held() as tools:

        def slow() -> object:
            tools.slow()
            match ending:
                case "raises":
                    raise ValueError("broke late")
                case "fails":
                    raise ToolError("failed late")
                case "gives a result":
                    return ToolResult(message="said late", is_error=True)
                case _:
                    return object()

        root = agent(call("slow"), "never", tools=[slow])
        async with open_supervisor() as supervisor:
            run = supervisor.start(root, asked)
            await tools.wait_started()
            await run.cancel()
            tools.let_go.set()
    assert len(late(asked)) == 1
    assert late(asked)[0].outcome == "error"
    assert outcomes(asked) == ["interrupted"]
    assert_whole(asked)


async def test_a_thread_that_waits_for_a_child_frees_its_place_for_it() -> None:
    """A limit of one thread and three levels of plain tools: none waits for ever."""

    def leaf() -> str:
        return "leaf"

    below = agent(
        call("leaf"), "below is done", tools=[leaf], name="below", loop=default_loop
    )

    def middle() -> str:
        return str(below.run("go"))

    between = agent(call("middle"), "middle is done", tools=[middle], loop=default_loop)

    def top() -> str:
        return str(between.run("go"))

    root = agent(call("top"), "root is done", tools=[top])
    asked = state()
    with trio.fail_after(5):
        async with open_supervisor(threads=1) as supervisor:
            assert await supervisor.start(root, asked).wait() == "root is done"
    assert [entry.content for entry in results(asked)] == ["middle is done"]
    assert_whole(asked)


async def test_a_late_value_is_durable_though_its_run_has_ended() -> None:
    asked, store = state(), MemoryStore()
    with held() as tools:
        root = agent(call("slow"), "never", tools=[tools.slow], store=store)
        async with open_supervisor() as supervisor:
            run = supervisor.start(root, asked)
            await tools.wait_started()
            await run.cancel()
            tools.let_go.set()
    assert len(late(asked)) == 1
    assert (await store.aload(asked.id)).history == asked.history
