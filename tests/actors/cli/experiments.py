"""Scenarios for the tests of `callboard experiment`."""

import os
import signal

import trio

from actors import Agent, MemoryStore, State, tool
from actors.testing import FakeHuman, FakeModel, Trial, tool_call
from protocol import Message


async def orders(trial: Trial) -> None:
    """Places an order, and pays for it a moment later."""
    shop = trial.notes["shop"] = {"placed": 0, "paid": 0}

    @tool
    async def order(article: str) -> str:
        """Place an order and pay."""
        shop["placed"] += 1
        await trio.lowlevel.checkpoint()
        shop["paid"] += 1
        return f"a {article}"

    model = FakeModel([tool_call("order", article="lamp"), "Done."])
    agent = Agent(model, tools=[order], name="clerk", reporter=None, human=None)
    await agent.arun(State(messages=[Message.user("A lamp, please.")]))


def is_whole(trial: Trial) -> None:
    """An order that was placed is paid."""
    shop = trial.notes.get("shop", {"placed": 0, "paid": 0})
    assert shop["placed"] == shop["paid"]


async def fails() -> None:
    """Raises what nobody catches, in a nursery."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.lowlevel.checkpoint)
        raise ValueError("no luck")


async def waits() -> None:
    """Waits three times."""
    for _ in range(3):
        await trio.lowlevel.checkpoint()


async def presses(trial: Trial) -> None:
    """Presses Ctrl+C in the run of the second seed that is cancelled after step 1."""
    if trial.seed == 1 and trial.step == 1:
        os.kill(os.getpid(), signal.SIGINT)
    await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()


async def presses_at_last(trial: Trial) -> None:
    """Presses Ctrl+C in the very last run."""
    if trial.step == 1:
        os.kill(os.getpid(), signal.SIGINT)
    await trio.lowlevel.checkpoint()


async def hangs() -> None:
    """Never ends."""
    with trio.CancelScope(shield=True):
        await trio.sleep_forever()


@tool
async def look() -> str:
    """Look around."""
    await trio.lowlevel.checkpoint()
    return "nothing"


def _child() -> Agent:
    model = FakeModel([tool_call("look"), "Seen."])
    return Agent(model, tools=[look], name="scout", description="Looks.")


agent = Agent(
    FakeModel([tool_call("scout", prompt="Go."), "Nothing."]),
    tools=[_child()],
    human=FakeHuman(),
    store=MemoryStore(),
    name="boss",
)
not_a_function = 5
