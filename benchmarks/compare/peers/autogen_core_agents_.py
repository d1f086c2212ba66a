"""What `autogen_core_` measures: a scripted model, its tool, and routed agents."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from autogen_core import (
    AgentId,
    FunctionCall,
    MessageContext,
    RoutedAgent,
    SingleThreadedAgentRuntime,
    message_handler,
)
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelInfo,
    RequestUsage,
    UserMessage,
)
from autogen_core.tool_agent import ToolAgent, tool_agent_caller_loop
from autogen_core.tools import FunctionTool

from benchmarks.compare.peers._script import ANSWER, FOUND, KEY, QUESTION, Watch

USED = RequestUsage(prompt_tokens=90, completion_tokens=10)


# The model and the tool


class Scripted(ChatCompletionClient):
    """Which reply is due is told by how long the context is."""

    def __init__(self, turns: int, latency_s: float = 0) -> None:
        self.turns, self.latency_s = turns, latency_s

    async def create(
        self, messages: Sequence[LLMMessage], **settings: Any
    ) -> CreateResult:
        await asyncio.sleep(self.latency_s)
        turn = len(messages) // 2
        if turn < self.turns:
            call = FunctionCall(f"c{turn}", f'{{"key": "{KEY}"}}', "lookup")
            return self.reply([call], "function_calls")
        return self.reply(ANSWER, "stop")

    def reply(self, content: Any, why: Any) -> CreateResult:
        return CreateResult(
            finish_reason=why, content=content, usage=USED, cached=False
        )

    def create_stream(self, *args: Any, **settings: Any) -> Any:
        raise NotImplementedError("the programs ask for whole replies only")

    async def close(self) -> None:
        """There is nothing to close."""

    def actual_usage(self) -> RequestUsage:
        return USED

    def total_usage(self) -> RequestUsage:
        return USED

    def count_tokens(self, messages: Any, **settings: Any) -> int:
        return 0

    def remaining_tokens(self, messages: Any, **settings: Any) -> int:
        return 100_000

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False,
            function_calling=True,
            json_output=False,
            family="unknown",
            structured_output=False,
        )


async def lookup(key: str) -> str:
    """Look something up."""
    return FOUND


LOOKUP = FunctionTool(lookup, "Look something up.")
TOOLS = AgentId("tools", "default")


# The agents


@dataclass
class Say:
    text: str


@dataclass
class Do:
    """Ask another agent so often, from inside an agent."""

    count: int
    whom: str


@dataclass
class Deep:
    """Ask so many agents at once, each of which asks so many."""

    widths: list[int]


class Echo(RoutedAgent):
    @message_handler
    async def say(self, message: Say, ctx: MessageContext) -> Say:
        return message


class Recorder(RoutedAgent):
    """Keeps what it is told, and gives it to be saved."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.messages: list[UserMessage] = []

    @message_handler
    async def say(self, message: Say, ctx: MessageContext) -> Say:
        self.messages.append(UserMessage(content=message.text, source="user"))
        return message

    async def save_state(self) -> Mapping[str, Any]:
        return {"messages": [message.model_dump() for message in self.messages]}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        self.messages = [UserMessage.model_validate(m) for m in state["messages"]]


class Asker(RoutedAgent):
    def __init__(self, description: str, watch: Watch) -> None:
        super().__init__(description)
        self.watch = watch

    @message_handler
    async def do(self, message: Do, ctx: MessageContext) -> None:
        whom = AgentId(message.whom, "default")
        with self.watch:
            for _ in range(message.count):
                await self.send_message(Say(QUESTION), whom)


class Assistant(RoutedAgent):
    """Answers with the tool agent's help."""

    def __init__(self, description: str, model: Scripted) -> None:
        super().__init__(description)
        self.model = model

    @message_handler
    async def say(self, message: Say, ctx: MessageContext) -> Say:
        question: LLMMessage = UserMessage(content=message.text, source="user")
        said = await tool_agent_caller_loop(
            self, TOOLS, self.model, [question], [LOOKUP]
        )
        return Say(str(said[-1].content))


class Boss(RoutedAgent):
    """Asks the agents below, between two requests to its model."""

    model = Scripted(0)

    @message_handler
    async def deep(self, message: Deep, ctx: MessageContext) -> Say:
        context: list[LLMMessage] = [UserMessage(content=QUESTION, source="user")]
        if message.widths:
            await self.model.create(context)
            here, *rest = message.widths
            answers = await asyncio.gather(
                *[
                    self.send_message(Deep(rest), AgentId("boss", f"{self.id.key}.{n}"))
                    for n in range(here)
                ]
            )
            context += [UserMessage(content=a.text, source="agent") for a in answers]
        return Say(str((await self.model.create(context)).content))


class Waiting(RoutedAgent):
    """Its model never answers; the last one that is told to end says so."""

    left = 0
    none_left = asyncio.Event()

    @message_handler
    async def say(self, message: Say, ctx: MessageContext) -> Say:
        never = asyncio.ensure_future(asyncio.Event().wait())
        ctx.cancellation_token.link_future(never)
        try:
            await never
        except asyncio.CancelledError:
            Waiting.left -= 1
            if not Waiting.left:
                Waiting.none_left.set()
            raise
        return message


@asynccontextmanager
async def running(
    watch: Watch, model: Scripted | None = None
) -> AsyncIterator[SingleThreadedAgentRuntime]:
    runtime = SingleThreadedAgentRuntime(ignore_unhandled_exceptions=False)
    kinds: dict[str, Callable[[], RoutedAgent]] = {
        "echo": lambda: Echo("echo"),
        "recorder": lambda: Recorder("recorder"),
        "asker": lambda: Asker("asker", watch),
        "assistant": lambda: Assistant("assistant", model or Scripted(0)),
        "tools": lambda: ToolAgent("tools", [LOOKUP]),
        "boss": lambda: Boss("boss"),
        "waiting": lambda: Waiting("waiting"),
    }
    classes = (Echo, Recorder, Asker, Assistant, ToolAgent, Boss, Waiting)
    for kind, (name, make) in zip(classes, kinds.items(), strict=True):
        await kind.register(runtime, name, make)
    runtime.start()
    yield runtime
    await runtime.stop()
