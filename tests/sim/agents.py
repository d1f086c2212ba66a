"""Agents drawn from a seed: trees of them, their models, tools and people.

A model goes by what the conversation says, not by how often it was asked: whatever was
cancelled, failed or lost is asked again, and a conversation always comes to its end.
"""

from random import Random
from typing import TYPE_CHECKING, Any

import trio
from msgspec.structs import replace

from actors import (
    Agent,
    AllowByDefault,
    DecideByHuman,
    Human,
    Inbox,
    Model,
    NoHumanError,
    ProviderError,
    RateLimitError,
    Request,
    ToolCall,
    Usage,
)
from actors._node import current
from actors._run_node import RunNode, run_above
from actors.models import OnEvent, OnText, as_reply
from actors.testing import tool_call
from protocol import Reply

from .reached import reached
from .settings import draw_agent_settings
from .tools import fan_of, make_tools, run_of_child, send_of

if TYPE_CHECKING:
    from .world import World

DEAF_S = 8.0
"""Longer than any grace."""


class Somebody(Human):
    """Takes some time; is now and then away."""

    def __init__(self, world: "World") -> None:
        self.world = world

    async def aask(self, question: Any) -> Any:
        await self.world.pause()
        if self.world.trouble(0.1):
            raise NoHumanError("gone for lunch")
        return self.world.random.choice(("yes", "no", "always", "too risky"))


def human_of(world: "World") -> Human | None:
    match world.settings.human:
        case "somebody":
            return Somebody(world)
        case "inbox":
            return Inbox()
        case "inbox for 1 s":
            return Inbox(wait_s=1)
        case "inbox for 0 s":
            return Inbox(wait_s=0)
        case _:
            return None


def make_root(world: "World") -> Agent:
    """The agent that all conversations of a seed are with."""
    random = Random(f"agents {world.seed}")
    agent = _agent(world, random, 0, make_tools(world, random))
    human, permissions = human_of(world), [DecideByHuman("guarded"), AllowByDefault()]
    return agent.copy(human=human, permissions=permissions)


def _agent(world: "World", random: Random, depth: int, leaves: dict[str, Any]) -> Agent:
    tools = dict(leaves)
    if depth < world.settings.depth:
        child = _agent(world, random, depth + 1, leaves)
        tools[str(child.name)] = child
        tools["run"] = run_of_child(world, child)
        tools["send"] = send_of(world, child)
        tools["fan"] = fan_of(world, child, random)
    # Who goes on in another process is known by its name.
    name = f"child{depth}" if depth else "root"
    key = "shared" if world.settings.share_model else name
    model = SimModel(world, f"sim/{key}", tuple(tools), random.randint(0, 2))
    settings = draw_agent_settings(random, world.settings)
    quiet: dict[str, Any] = {"reporter": None}
    if not depth:
        quiet["human"] = None
    return Agent(model, name=name, tools=list(tools.values()), **settings, **quiet)


class SimModel(Model):
    """Answers after some turns of calls; slow, failing, cut off or deaf by chance."""

    def __init__(
        self, world: "World", name: str, tools: tuple[str, ...], turns: int
    ) -> None:
        self.world = world
        self.name = name
        self.context_window = 1_000_000
        self.tools = tools
        self.turns = turns
        self.retries = 2
        self.costs: float | None = world.random.choice((0.25, 0.25, 0.25, None))

    async def arespond(
        self, request: Request, on_text: OnText | None, on_event: OnEvent
    ) -> Reply:
        run = run_above(current.get())
        assert run is not None, "only runs ask a model"
        world, process = self.world, self.world.process_of(run)
        await process.go_on()
        process.met(run.state)
        world.asked(run, request)
        process.request_is_durable(run)
        world.log(run.id[:12], f"asks {self.name}")
        await self.wait()
        reply = self.reply(run, request)
        if on_text is not None and reply.text:
            on_text(reply.text)
            await trio.lowlevel.checkpoint()
        await process.go_on()
        world.delivered(run, reply.usage)
        process.met(run.state).got += reply.usage
        return reply

    async def wait(self) -> None:
        """Take the time that an answer takes; perhaps there is none."""
        world, random = self.world, self.world.random
        await world.pause()
        if not world.trouble(world.settings.model_trouble):
            return
        match random.randrange(6):
            case 0:
                raise RateLimitError(
                    "too many", status=429, retry_after_s=random.choice((None, 0.5, 3))
                )
            case 1:
                raise ProviderError("overloaded", status=503, transient=True)
            case 2:
                raise ProviderError("no such model", status=404)
            case 3:
                raise ValueError("a model with a fault of its own")
            case 4:
                await world.calm.wait()
            case _:
                with trio.CancelScope(shield=True):
                    await trio.sleep(DEAF_S)

    def reply(self, run: RunNode, request: Request) -> Reply:
        random, world = self.world.random, self.world
        reply = as_reply(self.item(request), self.name)
        spent = Usage(
            input_tokens=random.randint(1, 9),
            output_tokens=random.randint(1, 9),
            requests=1,
            cost=self.costs,
        )
        reply = replace(reply, usage=spent.for_model(self.name))
        if world.trouble(world.settings.model_trouble / 3):
            reached("a reply was cut off")
            silent = as_reply("", self.name).message
            reply = replace(reply, message=silent, stop_reason="max_tokens")
        return reply

    def item(self, request: Request) -> Any:
        """Calls, or the answer to what was asked last."""
        prompt, turns = "nothing", 0
        for message in request.messages:
            if message.role == "assistant":
                turns += 1
            elif message.role != "user" or message.is_notice:
                continue
            elif " question " in message.text():
                prompt, turns = message.text(), 0
        if turns >= self.turns:
            return f"answer to {prompt}"
        calls = [self.call() for _ in range(self.world.random.randint(1, 4))]
        return ["let me see", *calls] if self.world.random.random() < 0.3 else calls

    def call(self) -> ToolCall:
        random = self.world.random
        name = random.choice(self.tools)
        args: dict[str, Any] = {}
        if name.startswith("child"):
            args = {"prompt": "child question 0"}
        call = tool_call(name, **args)
        if random.random() < 0.2:  # models do not care for unique ids
            call = replace(call, id=random.choice(("", "call_1", "call_2")))
        if random.random() < 0.03:
            call = replace(call, name="no_such_tool")
        return call
