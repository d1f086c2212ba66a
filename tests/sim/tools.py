"""Tools of every kind, and what can be wrong with them."""

from random import Random
from typing import TYPE_CHECKING, Any

import trio

from actors import (
    Agent,
    Message,
    State,
    Tool,
    ToolError,
    afan_out,
    first,
    quorum,
    start_child,
    tool,
)
from actors._calls import CallNode
from actors._inside import library_of
from actors._node import current

from .reached import reached

if TYPE_CHECKING:
    from .world import World


async def begin(world: "World", *, again: bool = False) -> CallNode:
    """The tool of this task's call begins; in a dead process it never does."""
    node = current.get()
    assert isinstance(node, CallNode), "tools run below a call"
    process = world.process_of(node)
    await process.go_on()
    begin_now(world, node, again=again)
    return node


def begin_now(world: "World", node: CallNode, *, again: bool) -> None:
    process = world.process_of(node)
    process.met(node.state)
    stored = library_of(node.state) is not None
    key = node.key if stored else f"{process.number}.{id(node.state)}.{node.id}"
    world.log(node.state.id[:12], f"runs {node.call.name}({node.id})")
    world.begin(key, process.number, again=again, stored=stored)


def make_tools(world: "World", random: Random) -> dict[str, Tool]:
    """Tools that do no more than take time, by name."""
    tools = [*_patient(world), *_failing(world), *_stubborn(world), *_telling(world)]
    by_name = {each.name: each for each in tools}
    chosen = random.sample(sorted(by_name), random.randint(3, len(by_name)))
    if world.settings.human.startswith("inbox for"):
        chosen = ["guarded", *chosen[:3]]  # what waits for answers has most ways to go
    return {name: by_name[name] for name in chosen}


def _patient(world: "World") -> list[Tool]:

    @tool
    async def work() -> str:
        """Take some time."""
        await begin(world)
        await world.pause()
        return "worked"

    @tool(parallel=False)
    async def serial() -> str:
        """Run after the others."""
        await begin(world)
        await world.pause()
        return "worked alone"

    @tool(idempotent=True)
    async def pay() -> str:
        """Do no more when it is done twice."""
        await begin(world, again=True)
        await world.pause()
        return "paid"

    @tool(read_only=True)
    async def look() -> str:
        """Change nothing."""
        await begin(world, again=True)
        await world.pause()
        return "seen"

    @tool
    async def guarded() -> str:
        """Run only after somebody said yes."""
        await begin(world)
        await world.pause()
        return "done as allowed"

    return [work, serial, pay, look, guarded]


def _failing(world: "World") -> list[Tool]:

    @tool
    async def refuse() -> str:
        """Fail in words for the model."""
        await begin(world)
        await world.pause()
        raise ToolError("not today")

    @tool(idempotent=True, retries=1)
    async def flaky() -> str:
        """Fail at the first try."""
        await begin(world, again=True)
        if world.random.random() < 0.5:
            raise ToolError("once more")
        return "at last"

    @tool
    async def explode() -> str:
        """Fail in a way that stops the run, while there is trouble."""
        await begin(world)
        await world.pause()
        if world.trouble(0.5):
            raise ValueError("exploded")
        return "did not explode"

    @tool(timeout_s=0.5)
    async def dawdle() -> str:
        """Take too long now and then."""
        await begin(world)
        await trio.sleep(world.random.choice((0.1, 0.5, 3.0)))
        return "in time"

    return [refuse, flaky, explode, dawdle]


def _stubborn(world: "World") -> list[Tool]:

    @tool
    async def tidy() -> str:
        """Take time to clean up."""
        await begin(world)
        try:
            await world.pause()
        finally:
            await trio.sleep(world.random.choice((0.0, 0.2, 8.0)))
        return "tidy"

    @tool
    async def deaf() -> str:
        """Finish whatever happens."""
        node = await begin(world)
        with trio.CancelScope(shield=True):
            await trio.sleep(world.random.choice((0.0, 0.2, 8.0)))
        await world.process_of(node).go_on()
        return "heard nothing"

    @tool
    async def hang() -> str:
        """Hang until the trouble is over."""
        await begin(world)
        if world.trouble(0.3):
            await world.calm.wait()
        return "got going again"

    @tool
    def plain() -> str:
        """Run in a thread."""
        node = current.get()
        assert isinstance(node, CallNode), "tools run below a call"
        if node.supervisor._threads._slots.statistics().tasks_waiting:
            reached("a plain function waited for a thread")
        if world.process_of(node).alive:
            begin_now(world, node, again=False)
        return "from a thread"

    return [tidy, deaf, hang, plain]


def _telling(world: "World") -> list[Tool]:

    @tool
    async def tell(state: State) -> str:
        """Say something in the middle of a turn; now and then the same thing twice."""
        await begin(world)
        message = Message.user("by the way")
        state.add_message(message)
        if world.random.random() < 0.3:
            reached("a message was added twice")
            state.add_message(message)
        await world.pause()
        return "told"

    return [tell]


def run_of_child(world: "World", child: Agent) -> Tool:

    @tool
    async def run() -> str:
        """Run a child, and fail now and then afterwards."""
        await begin(world)
        answer = await child.arun("child question 0")
        if world.trouble(0.2):
            raise ToolError("it was no good")
        return str(answer)

    return run


def send_of(world: "World", child: Agent) -> Tool:

    @tool
    async def send() -> str:
        """Send a child off, and do not wait for it."""
        await begin(world)
        start_child(child, "child question 0")
        await world.pause()
        return "sent"

    return send


def fan_of(world: "World", child: Agent, random: Random) -> Tool:
    policy: Any = random.choice(("isolate", "fail_fast", first(), quorum(2)))
    window = random.choice((None, 1, 2))

    @tool
    async def fan() -> str:
        """Run some children, and leave when the policy says so."""
        await begin(world)
        prompts = [f"child question {n}" for n in range(3)]
        results = await afan_out(child, prompts, policy=policy, max_running=window)
        world.must(len(results) == 3, f"a fan of 3 has {len(results)} results")
        if any("enough others" in str(each.error) for each in results):
            reached("a fan was settled early")
        await world.pause()
        return f"{len(results)} results"

    return fan
