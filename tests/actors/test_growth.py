"""What an agent costs in a tree, the same at any size; and what it leaves."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import Agent, FunctionModel, Request, open_supervisor
from actors.testing import tool_call
from tests.effort import instructions

Leaf = Callable[[Request], Any]
ALLOWED = 1.01
"""Measured: 1.0001. One step more for each level above, or sibling, makes it 1.02."""


def agent(name: str, rule: Leaf, *tools: Agent) -> Agent:
    return Agent(FunctionModel(rule), name=name, tools=tools, reporter=None, human=None)


def asks(name: str, times: int) -> Leaf:
    """Calls another agent so many times, and is done with its answers."""

    def rule(request: Request) -> Any:
        if len(request.messages) > 1:
            return "done"
        return [tool_call(name, prompt="go on") for _ in range(times)]

    return rule


def fan(size: int, leaf: Leaf) -> Agent:
    return agent("top", asks("leaf", size), agent("leaf", leaf))


def chain(size: int, leaf: Leaf) -> Agent:
    below = agent("leaf", leaf)
    for level in range(size):
        below = agent(f"level{level}", asks(below.name or "", 1), below)
    return below


def answers(request: Request) -> Any:
    return "fine"


def fails(request: Request) -> Any:
    raise RuntimeError("down there")


async def waits(request: Request) -> Any:
    await trio.sleep(60)


async def run(root: Agent) -> None:
    """Run it, or cancel it once everything waits."""
    async with open_supervisor() as supervisor:
        run = supervisor.start(root, "begin")
        await wait_all_tasks_blocked()
        await run.cancel("enough")


def cost(root: Agent) -> int:
    return instructions(lambda: trio.run(run, root))


@pytest.mark.slow
@pytest.mark.parametrize(
    "leaf", [answers, fails, waits], ids=lambda leaf: leaf.__name__
)
@pytest.mark.parametrize("tree", [fan, chain], ids=lambda tree: tree.__name__)
def test_an_agent_costs_the_same_however_large_its_tree(
    tree: Callable[[int, Leaf], Agent], leaf: Leaf
) -> None:
    cost(tree(1, leaf))  # what only the first run needs
    few, some, many = (cost(tree(size, leaf)) for size in (20, 40, 80))
    assert many - some <= 2 * (some - few) * ALLOWED


async def test_the_history_of_a_cancelled_run_keeps_none_of_its_frames() -> None:
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent("leaf", waits), "begin")
        await wait_all_tasks_blocked()
        await run.cancel("enough")
    entry = run.state.history[-1]
    assert entry.kind == "error"
    assert isinstance(entry.error, trio.Cancelled)
    assert entry.error.__traceback__ is None
