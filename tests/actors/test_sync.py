"""The plain side: runs and steps from code that knows no trio."""

import asyncio
import contextvars
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from queue import SimpleQueue
from typing import Any

import pytest
import trio

from actors import (
    Agent,
    Message,
    RunCancelled,
    State,
    fan_out,
    loop,
    tool,
    waiting_for_user,
)
from actors.testing import FakeModel, tool_call


def quiet(model: Any, **settings: Any) -> Agent:
    return Agent(model, **{"reporter": None, "human": None, **settings})


@tool
def double(n: int) -> int:
    return 2 * n


def test_a_run_from_plain_code_leaves_the_history_of_its_async_twin() -> None:
    agent = quiet(FakeModel([tool_call("double", n=2), "four"]), tools=[double])
    state = State(messages=[Message.user("x")])
    assert agent.run(state) == "four"
    assert [entry.kind for entry in state.history][-3:] == [
        "model_request", "model_reply", "stop",
    ]  # fmt: skip


def test_a_plain_loop_runs_in_the_callers_thread() -> None:
    threads: list[threading.Thread] = []

    @loop(until=waiting_for_user, limit=5)
    def plain(agent: Agent, state: State) -> None:
        threads.append(threading.current_thread())
        agent.think(state)
        agent.use_tools(state)

    model = FakeModel([tool_call("double", n=2), "four"])
    assert quiet(model, tools=[double], loop=plain).run("x") == "four"
    assert threads == [threading.current_thread()] * 2


def test_an_error_of_the_loop_reaches_the_caller_as_itself() -> None:
    def broken(agent: Agent, state: State) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        quiet(FakeModel(), loop=broken).run("x")


def test_a_fan_out_from_plain_code_gives_the_results_of_its_async_twin() -> None:
    results = fan_out(quiet(FakeModel(["one", "two"])), ["a", "b"], max_running=1)
    assert [result.answer for result in results] == ["one", "two"]


def test_a_fan_out_of_a_plain_tool_is_part_of_its_tree() -> None:
    child = quiet(FakeModel(["one", "two"]))

    @tool
    def read_all() -> int:
        return len(fan_out(child, ["a", "b"]))

    state = State(messages=[Message.user("x")])
    model = FakeModel([tool_call("read_all"), "done"])
    quiet(model, tools=[read_all]).run(state)
    (entry,) = [entry for entry in state.history if entry.kind == "tool_result"]
    assert (entry.content, len(entry.child_ids)) == ("2", 2)
    assert state.usage.requests == 4


async def test_a_plain_fan_out_on_a_trio_thread_names_its_async_twin() -> None:
    model = FakeModel(["one"])
    with pytest.raises(TypeError, match=r"'await afan_out\(\.\.\.\)'"):
        fan_out(quiet(model), ["a"])
    assert not model.requests


def test_steps_from_plain_code() -> None:
    model = FakeModel([tool_call("double", n=3), "a fact", "six", "summary"])
    agent = quiet(model, tools=[double])
    state = State(messages=[Message.user("x")])
    assert agent.think(state).tool_calls[0].args == {"n": 3}
    agent.use_tools(state)
    assert agent.ask(state, "tell") == "a fact"
    assert agent.think(state).text == "six"
    agent.compact(state)
    assert state.messages[-1].text() == "[notice] summary"


def test_a_plain_tool_runs_a_subagent_in_its_own_tree() -> None:
    inner = quiet(FakeModel(["in", "side"]), name="inner")

    @tool
    def delegate() -> str:
        return inner.run("a") + inner.run("b")

    state = State(messages=[Message.user("x")])
    agent = quiet(FakeModel([tool_call("delegate"), "ok"]), tools=[delegate])
    assert agent.run(state) == "ok"
    results = [entry for entry in state.history if entry.kind == "tool_result"]
    assert len(results[0].child_ids) == 2
    assert state.usage.requests == 4
    child = state.child(results[0].child_ids[0])
    assert (child.parent_id, child.answer) == (state.id, "in")


async def test_on_a_trio_thread_the_error_names_the_twin() -> None:
    agent = quiet(FakeModel())
    state = State(messages=[Message.user("x")])
    for plain, twin in (
        (lambda: agent.run(state), "arun"),
        (lambda: agent.think(state), "athink"),
        (lambda: agent.use_tools(state), "ause_tools"),
        (lambda: agent.ask(state, "?"), "aask"),
        (lambda: agent.compact(state), "acompact"),
    ):
        with pytest.raises(TypeError, match=f"agent.{twin}"):
            plain()
    assert len(state.history) == 1


def test_run_with_an_async_loop_names_arun() -> None:
    async def mine(agent: Agent, state: State) -> None: ...

    with pytest.raises(TypeError, match="arun"):
        quiet(FakeModel(), loop=mine).run("x")


def test_many_threads_run_agents_at_once() -> None:
    answers: list[str] = []

    def work(number: int) -> None:
        agent = quiet(FakeModel([tool_call("double", n=number), str(number)]))
        answers.append(agent.copy(tools=[double]).run("x"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [str(n) for n in range(8)]


PROGRAM = """
import os, signal, sys, trio
from actors import Agent, FunctionModel, Message, State, ToolCall, tool

@tool
async def wait() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    await trio.sleep_forever()

model = FunctionModel(lambda request: ToolCall(id="", name="wait"))
state = State(messages=[Message.user("x")])
try:
    Agent(model, tools=[wait], reporter=None, human=None).run(state)
except KeyboardInterrupt:
    entry = state.history[-1]
    print(entry.kind, entry.outcome, state.pending_calls, state.stopped)
"""


@pytest.mark.parametrize("by", ["run", "trio.run"])
def test_a_thread_of_a_tools_own_is_told_when_the_tree_is_over(by: str) -> None:
    agent = quiet(FakeModel(["once", "twice"]))
    over, told = threading.Event(), SimpleQueue[Any]()

    def late() -> None:
        over.wait()
        try:
            told.put(agent.run("x"))
        except RunCancelled as error:
            told.put(error)

    @tool
    def leave_a_thread() -> None:
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(late,), daemon=True).start()

    owner = quiet(
        FakeModel([tool_call("leave_a_thread"), "ok"]), tools=[leave_a_thread]
    )
    answer = owner.run("x") if by == "run" else trio.run(owner.arun, "x")
    assert answer == "ok"
    over.set()
    assert isinstance(told.get(timeout=5), RunCancelled)
    assert agent.run("x") == "once"


@pytest.mark.slow
def test_ctrl_c_leaves_a_valid_history_and_is_raised() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.strip() == "tool_result interrupted () None", done.stderr


@pytest.mark.slow
def test_ctrl_c_waits_for_a_deaf_tool_as_long_as_the_grace_allows() -> None:
    let_go = threading.Event()

    @tool
    def blocks() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        let_go.wait(30)

    @tool
    async def deaf() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        with trio.CancelScope(shield=True):
            while not let_go.is_set():  # noqa: ASYNC110 - a thread sets it
                await trio.sleep(0.01)

    for each in (blocks, deaf):
        model = FakeModel([tool_call(each.name)])
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            quiet(model, tools=[each], grace_s=0.05).run("x")
        assert time.monotonic() - began < 5
    let_go.set()


@pytest.mark.slow
def test_a_forked_process_gets_a_background_of_its_own() -> None:
    program = textwrap.dedent(
        """
        import os
        from actors import Agent, FunctionModel
        agent = Agent(FunctionModel(lambda r: "hi"), reporter=None, human=None)
        assert agent.run("x") == "hi"
        pid = os.fork()
        if not pid:
            os._exit(0 if agent.run("y") == "hi" else 1)
        print(os.waitpid(pid, 0)[1])
        """
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.strip() == "0", done.stderr


@pytest.mark.slow
def test_a_daemon_thread_that_the_end_of_the_process_cuts_off_says_so_and_no_more() -> (
    None
):
    program = textwrap.dedent(
        """
        import threading, time
        import trio
        from actors import Agent, FunctionModel

        asked = threading.Event()

        async def never(request):
            asked.set()
            await trio.sleep_forever()

        def runs():
            try:
                agent.run("x")
            except BaseException as error:
                print(f"{type(error).__name__}: {error}", error.__cause__, flush=True)
                raise

        agent = Agent(FunctionModel(never), reporter=None, human=None)
        threading.Thread(target=runs, daemon=True).start()
        asked.wait()
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    assert "RunCancelled: the run was cancelled: the process is ending" in done.stdout
    assert "join the thread first" in done.stdout
    assert "Cancelled: cancelled due to" not in done.stderr, "frames of no use"


@pytest.mark.parametrize("start", ["arun", "athink"])
def test_an_async_form_awaited_from_asyncio_names_the_way_in(start: str) -> None:
    state = State(messages=[Message.user("x")])
    before = state.snapshot()
    with pytest.raises(TypeError, match=r"await actors\.aio\.run\(agent, \.\.\.\)"):
        asyncio.run(getattr(quiet(FakeModel(["a"])), start)(state))
    assert state.snapshot() == before
