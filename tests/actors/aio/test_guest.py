"""Agents in an asyncio program."""

import asyncio
import contextvars
import subprocess
import sys
from collections.abc import Coroutine
from typing import Any

import pytest
import trio

from actors import Agent, FunctionModel, Message, State, aio, tool
from actors.testing import FakeModel, tool_call
from protocol import RunCancelled


def quiet(model: Any, **settings: Any) -> Agent:
    return Agent(model, **{"reporter": None, "human": None, **settings})


def in_asyncio(program: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(program)


def test_a_run_is_awaited_from_asyncio() -> None:
    @tool
    async def double(n: int) -> int:
        await trio.lowlevel.checkpoint()
        return 2 * n

    agent = quiet(FakeModel([tool_call("double", n=2), "four"]), tools=[double])
    assert in_asyncio(aio.run(agent, "x")) == "four"


def test_runs_at_once_share_the_loop() -> None:
    agent = quiet(FunctionModel(lambda request: request.messages[-1].text()))

    async def program() -> list[str]:
        return list(await asyncio.gather(*(aio.run(agent, str(n)) for n in range(9))))

    assert in_asyncio(program()) == [str(n) for n in range(9)]


def test_one_loop_may_be_a_host_again_and_again() -> None:
    agent = quiet(FunctionModel(lambda request: "hi"))

    async def program() -> list[str]:
        return [await aio.run(agent, "x") for _ in range(5)]

    assert in_asyncio(program()) == ["hi"] * 5


def test_a_call_that_begins_while_the_last_one_ends_waits_for_its_turn() -> None:
    agent = quiet(FunctionModel(lambda request: "hi"))

    async def begun_after(steps: int) -> bool:
        """Whether the other one had not ended yet."""
        other = asyncio.ensure_future(aio.run(agent, "x"))
        for _ in range(steps):
            await asyncio.sleep(0)
        in_time = not other.done()
        assert await aio.run(agent, "x") == await other == "hi"
        return in_time

    async def program() -> int:
        steps = 0
        while await begun_after(steps):
            steps += 1
        return steps

    assert in_asyncio(program()) > 3


def test_a_cancel_is_never_lost_at_whatever_step_it_comes() -> None:
    agent = quiet(FunctionModel(lambda request: "hi"))

    async def cancelled_after(steps: int) -> bool:
        """Whether the cancel came in time."""
        task = asyncio.ensure_future(aio.run(agent, "x"))
        for _ in range(steps):
            await asyncio.sleep(0)
        in_time = task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() == in_time, f"after {steps} steps"
        return in_time

    async def program() -> int:
        steps = 0
        while await cancelled_after(steps):
            steps += 1
        return steps

    assert in_asyncio(program()) > 3


def test_an_error_crosses_as_itself() -> None:
    with pytest.raises(OSError, match="down"):
        in_asyncio(aio.run(quiet(FakeModel([OSError("down")])), "x"))


def hanging() -> tuple[Agent, State, list[str]]:
    """An agent whose tool hangs until it is cancelled, and what the tool has done."""
    seen: list[str] = []

    @tool
    async def wait() -> None:
        seen.append("began")
        try:
            await trio.sleep_forever()
        finally:
            await trio.lowlevel.checkpoint()
            seen.append("cleaned up")

    agent = quiet(FakeModel([tool_call("wait"), "never"]), tools=[wait])
    return agent, State(messages=[Message.user("x")]), seen


def test_cancelling_the_asyncio_task_cancels_and_joins_the_run() -> None:
    agent, state, seen = hanging()

    async def program() -> None:
        task = asyncio.ensure_future(aio.run(agent, state))
        while not seen:  # noqa: ASYNC110 - the tool knows no event of asyncio
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert seen == ["began", "cleaned up"]

    in_asyncio(program())
    assert state.pending_calls == ()
    result = state.history[-1]
    assert result.kind == "tool_result"
    assert result.outcome == "interrupted"


def test_a_timeout_of_asyncio_cancels_the_run() -> None:
    agent, state, seen = hanging()

    async def program() -> None:
        async with asyncio.timeout(0.02):
            await aio.run(agent, state)

    with pytest.raises(TimeoutError):
        in_asyncio(program())
    assert seen[-1] == "cleaned up"


def test_a_run_cancelled_from_inside_says_so_in_asyncio() -> None:
    @tool
    async def leave(state: State) -> None:
        state.close("enough")

    agent = quiet(FakeModel([tool_call("leave"), "never"]), tools=[leave])
    with pytest.raises(RunCancelled):
        in_asyncio(aio.run(agent, "x"))


def test_context_variables_go_in() -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who")
    agent = quiet(FunctionModel(lambda request: who.get()))

    async def program() -> str:
        who.set("me")
        return str(await aio.run(agent, "x"))

    assert in_asyncio(program()) == "me"


def test_a_tool_written_for_asyncio_runs_on_the_programs_own_loop() -> None:
    loops: list[object] = []

    @tool(asyncio=True)
    async def fetch(n: int) -> str:
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())
        return f"got {n}"

    agent = quiet(FakeModel([tool_call("fetch", n=1), "ok"]), tools=[fetch])

    async def program() -> object:
        assert await aio.run(agent, "x") == "ok"
        return asyncio.get_running_loop()

    assert loops == [in_asyncio(program())]


async def test_from_trio_the_error_says_that_it_is_not_needed() -> None:
    with pytest.raises(TypeError, match="trio task already"):
        await aio.call(trio.sleep, 0)


PROGRAM = """
import asyncio, sys, trio
from actors import Agent, FunctionModel, aio, tool, ToolCall

@tool(asyncio=True)
async def fetch(n: int) -> str:
    await asyncio.sleep(0)
    return f"got {n}"

def rule(request):
    last = request.messages[-1]
    call = ToolCall(id="", name="fetch", args={"n": 7})
    return call if last.role == "user" else last.text()

agent = Agent(FunctionModel(rule), tools=[fetch], reporter=None, human=None)
assert "trio_asyncio" not in sys.modules
before = type(asyncio.new_event_loop())
print(trio.run(agent.arun, "x"))
print(agent.run("x"))
assert "trio_asyncio" in sys.modules
assert type(asyncio.new_event_loop()) is before
print(asyncio.run(aio.run(agent, "x")))
"""


@pytest.mark.slow
def test_a_tool_written_for_asyncio_works_in_a_trio_program() -> None:
    # In a process of its own: trio-asyncio changes asyncio for all that follows.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.split("\n") == ["got 7"] * 3 + [""], done.stderr
