"""What a swept scenario is made of, and what it saw happen.

A `World` belongs to one run. Its models follow a script by what the conversation says,
not by how often they were asked: a request that was cancelled is answered again, and
the message `AGAIN` is answered whatever happened before it.
"""

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs
import trio
from msgspec.structs import replace

from actors import Agent, Model, Request, State, Tool, ToolError, Usage, tool
from actors._calls import CallNode
from actors._node import Node, current
from actors._run_node import RunNode, run_above
from actors.models import OnEvent, OnText, as_reply
from actors.testing import Trial
from protocol import Message, Reply
from protocol._entry import NO_USAGE

AGAIN = "again"
ANSWER_AGAIN = "again: done"
ANSWER_COMPACTED = "all of it"


@attrs.define
class World:
    """The agents of a run, their States, and what was delivered to whom."""

    roots: list[tuple[State, Agent]] = attrs.field(factory=list)
    delivered: dict[str, Usage] = attrs.field(factory=dict)
    """By id of the State that got the replies."""
    tops: dict[str, State] = attrs.field(factory=dict)
    """States of runs that belong to no call, which got replies, by id."""
    started: Counter[str] = attrs.field(factory=Counter)
    """How often the tool of a call began, by the call's key."""
    returned: Counter[str] = attrs.field(factory=Counter)
    threads: Counter[str] = attrs.field(factory=Counter)
    """Plain tools that are at work, by the call's key."""
    replies: dict[str, str] = attrs.field(factory=dict)
    """Answers to side questions, by how these begin."""
    background: list[str] = attrs.field(factory=list)
    """Ids of children that were started in the background."""
    tools: dict[str, Tool] = attrs.field(factory=dict)
    lock: Any = attrs.field(factory=threading.Lock)

    def agent(self, script: Sequence[object], **settings: Any) -> Agent:
        """An agent that follows a script and bothers nobody."""
        name = settings.get("name", "root")
        settings = {"reporter": None, **settings}
        if name != "child":  # a child asks whoever its parent asks
            settings.setdefault("human", None)
        return Agent(Scripted(self, f"scripted/{name}", script), **settings)

    def root(self, agent: Agent, prompt: str = "begin") -> State:
        """A State whose run is looked at afterwards, and run again."""
        state = State(messages=[Message.user(prompt)])
        self.roots.append((state, agent))
        return state

    def count(self, usage: Usage) -> None:
        """A reply is delivered to whatever State this task works for."""
        run = run_above(current.get())
        assert run is not None, "only runs ask a model"
        top: Node | None = run
        while isinstance(top, CallNode) or (isinstance(top, RunNode) and top.call):
            top = top.parent
        assert isinstance(top, RunNode), "a run is at the top of every tree"
        self.tops.setdefault(top.id, top.state)
        self.delivered[run.id] = self.delivered.get(run.id, NO_USAGE) + usage


def world_of(trial: Trial) -> World:
    """The world of a run."""
    world: World = trial.notes.setdefault("world", World())
    return world


class Scripted(Model):
    """Answers by how many replies the conversation has; waits before and after."""

    def __init__(self, world: World, name: str, script: Sequence[object]) -> None:
        self.name = name
        self.context_window = 1_000_000
        self.deaf = 0
        """So many steps of a request hear no cancel."""
        self._world = world
        self._script = tuple(script)

    async def arespond(
        self, request: Request, on_text: OnText | None, on_event: OnEvent
    ) -> Reply:
        await trio.lowlevel.checkpoint()
        with trio.CancelScope(shield=True):
            for _ in range(self.deaf):
                await trio.lowlevel.checkpoint()
        reply = as_reply(self._item(request), self.name)
        spent = Usage(input_tokens=7, output_tokens=3, requests=1, cost=0.25)
        reply = replace(reply, usage=spent.for_model(self.name))
        if on_text is not None:
            on_text(reply.text)
            await trio.lowlevel.checkpoint()
        self._world.count(reply.usage)
        return reply

    def _item(self, request: Request) -> object:
        if any(message.text() == AGAIN for message in request.messages):
            return ANSWER_AGAIN
        if request.messages[-1].text().startswith("Summarise"):
            return ANSWER_COMPACTED
        for question, answer in self._world.replies.items():
            if request.messages[-1].text().startswith(question):
                return answer
        turn = sum(message.role == "assistant" for message in request.messages)
        return self._script[turn] if turn < len(self._script) else "done"


def begun(world: World) -> str:
    """Note that the tool of this call is at work; gives the call's key."""
    node = current.get()
    assert isinstance(node, CallNode), "tools run below a call"
    with world.lock:
        world.started[node.key] += 1
    return node.key


def tools_of(world: World) -> dict[str, Tool]:
    """Tools of each kind, by name; made once."""
    if not world.tools:
        world.tools = make_tools(world)
    return world.tools


def make_tools(world: World) -> dict[str, Tool]:

    @tool
    async def work(steps: int) -> str:
        """Wait so many times."""
        key = begun(world)
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        world.returned[key] += 1
        return f"{steps} steps"

    @tool
    async def tidy(steps: int) -> str:
        """Wait so many times, and as often to clean up."""
        key = begun(world)
        try:
            for _ in range(steps):
                await trio.lowlevel.checkpoint()
        finally:
            for _ in range(steps):
                await trio.lowlevel.checkpoint()
        world.returned[key] += 1
        return "tidy"

    @tool
    async def deaf(steps: int) -> str:
        """Finish whatever happens, and deliver nevertheless."""
        key = begun(world)
        with trio.CancelScope(shield=True):
            for _ in range(steps):
                await trio.lowlevel.checkpoint()
        world.returned[key] += 1
        return "heard nothing"

    @tool(parallel=False)
    async def serial(steps: int) -> str:
        """Run after the others."""
        key = begun(world)
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        world.returned[key] += 1
        return "serial"

    @tool
    def plain(text: str) -> str:
        """Run in a thread."""
        key = begun(world)
        with world.lock:
            world.threads[key] += 1
        with world.lock:
            world.threads[key] -= 1
            world.returned[key] += 1
        return text

    @tool(retries=1, timeout_s=60)
    async def refuse() -> str:
        """Fail in words for the model."""
        await trio.lowlevel.checkpoint()
        raise ToolError("not today")

    @tool
    async def explode(steps: int) -> str:
        """Fail in a way that stops the run."""
        begun(world)
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        raise ValueError("exploded")

    made = (work, tidy, deaf, serial, plain, refuse, explode)
    return {each.name: each for each in made}
