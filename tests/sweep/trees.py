"""Trees of agents drawn from a seed: children as tools, inside tools, and in fans."""

from random import Random

import trio

from actors import Agent, Tool, ToolError, afan_out, first, tool
from actors.testing import Trial, tool_call

from .world import World, begun, tools_of, world_of

DEPTH = 4
LEAVES = ("work", "tidy", "serial", "refuse", "explode")


class Tree:
    """One tree while it is drawn: one path leads all the way down, others may."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = Random(seed)
        self.agents = 0

    def agent(self, depth: int) -> Agent:
        """An agent of one or two turns, and everything below it."""
        self.agents += 1
        name = f"agent{self.agents}"
        tools: dict[str, object] = dict(tools_of(self.world))
        calls = [self.leaf() for _ in range(self.random.randint(0, 2))]
        if depth < DEPTH and (self.agents == depth + 1 or self.random.random() < 0.25):
            calls.insert(self.random.randint(0, len(calls)), self.child(depth, tools))
        script = [calls, self.leaf()] if self.random.random() < 0.3 else [calls]
        return self.world.agent(
            script,
            name=name,
            tools=tools.values(),
            on_error="result",
            siblings=self.random.choice(["keep", "cancel"]),
            max_parallel=self.random.randint(1, 3),
        )

    def leaf(self) -> object:
        name = self.random.choice(LEAVES)
        steps = {} if name == "refuse" else {"steps": self.random.randint(0, 1)}
        return tool_call(name, **steps)

    def child(self, depth: int, tools: dict[str, object]) -> object:
        """A call of a subtree, whose tool is put beside the others."""
        kind = self.random.choice(["agent", "run", "fan"])
        child = self.agent(depth + 1)
        if kind == "agent":
            tools["child"] = child
            return tool_call(str(child.name), prompt="go on")
        made = self.run_of(child) if kind == "run" else self.fan_of(child)
        tools["child"] = made
        return tool_call(made.name)

    def run_of(self, child: Agent) -> Tool:
        fails = self.random.random() < 0.3

        @tool(name="run")
        async def run() -> str:
            """Run a child, and fail now and then afterwards."""
            begun(self.world)
            await child.arun("go on")
            if fails:
                raise ToolError("it was no good")
            return "good"

        return run

    def fan_of(self, child: Agent) -> Tool:
        policy = self.random.choice(["isolate", "fail_fast", first()])

        @tool(name="fan", parallel=self.random.random() < 0.5)
        async def fan() -> str:
            """Run two children, and leave when the policy says so."""
            begun(self.world)
            results = await afan_out(child, ["one", "two"], policy=policy)
            await trio.lowlevel.checkpoint()
            return str(len(results))

        return fan


async def a_tree_of_the_seed(trial: Trial) -> None:
    world = world_of(trial)
    agent = Tree(world, trial.seed).agent(0)
    assert await agent.arun(world.root(agent)) == "done"
