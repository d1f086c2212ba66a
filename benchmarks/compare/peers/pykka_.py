"""pykka: each actor is a thread. Conversations are by hand, for it has no agents."""

from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from time import sleep

import pykka

from benchmarks.compare.peers._plain import (
    TOKENS,
    Message,
    Messages,
    result,
    script,
    tree_tokens,
    user,
)
from benchmarks.compare.peers._script import (
    FLEET_TURNS,
    FOUND,
    LATENCY_S,
    QUESTION,
    Rows,
    Watch,
    answer,
)


class Echo(pykka.ThreadingActor):
    def on_receive(self, message: str) -> str:
        return message


class Recorder(pykka.ThreadingActor):
    def __init__(self) -> None:
        super().__init__()
        self.messages: Messages = []

    def on_receive(self, message: str) -> int:
        self.messages.append(user(message))
        return len(self.messages)


class Asker(pykka.ThreadingActor):
    """Asks another actor over and over, from its own thread."""

    def on_receive(self, message: tuple[pykka.ActorRef[Echo], int, Watch]) -> None:
        other, count, watch = message
        with watch:
            for _ in range(count):
                other.ask(QUESTION)


class Model(pykka.ThreadingActor):
    def __init__(self, replies: Sequence[Message], latency_s: float = 0) -> None:
        super().__init__()
        self.coming = iter(replies)
        self.latency_s = latency_s

    def on_receive(self, messages: Messages) -> Message:
        sleep(self.latency_s)
        return next(self.coming)


class Tool(pykka.ThreadingActor):
    def on_receive(self, args: Message) -> tuple[str, int]:
        return FOUND, 0


class Agent(pykka.ThreadingActor):
    """Answers a question; each call of a reply is an actor of its own."""

    def __init__(
        self, replies: Sequence[Message], widths: Sequence[int], latency_s: float = 0
    ) -> None:
        super().__init__()
        self.replies, self.widths, self.latency_s = replies, widths, latency_s

    def on_receive(self, question: str) -> tuple[str, int]:
        model = Model.start(self.replies, self.latency_s)
        messages, tokens = [user(question)], 0
        reply = model.ask(messages)
        while reply["calls"]:
            messages.append(reply)
            tokens += reply["tokens"]
            actors = [self.tool() for _ in reply["calls"]]
            results = pykka.get_all(
                [
                    actor.ask(call["args"], block=False)
                    for actor, call in zip(actors, reply["calls"], strict=True)
                ]
            )
            for call, (text, used) in zip(reply["calls"], results, strict=True):
                tokens += used
                messages.append(result(call, text))
            for actor in actors:
                actor.stop()
            reply = model.ask(messages)
        model.stop()
        return reply["content"], tokens + reply["tokens"]

    def tool(self) -> pykka.ActorRef[pykka.ThreadingActor]:
        return below(self.widths) if self.widths else Tool.start()


def below(widths: Sequence[int]) -> pykka.ActorRef[Agent]:
    """The agents that a reply calls; the last ones only answer."""
    here, *rest = widths
    return Agent.start(script(1, here) if here else script(0), rest or [0])


def ask(kind: type[pykka.ThreadingActor], count: int, watch: Watch) -> None:
    other, asker = kind.start(), Asker.start()
    asker.ask((other, count, watch))
    pykka.ActorRegistry.stop_all()


def spawn(count: int, watch: Watch) -> None:
    with watch:
        for _ in range(count):
            Echo.start().stop()


def idle(count: int, watch: Watch) -> None:
    watch.note = "a thread each; the stacks that are reserved for them are not counted"
    with watch:
        for _ in range(count):
            Recorder.start().ask(QUESTION)
    pykka.ActorRegistry.stop_all()


def turns(count: int, watch: Watch) -> None:
    agent = Agent.start(script(count), ())
    with watch:
        _, tokens = agent.ask(QUESTION)
    pykka.ActorRegistry.stop_all()
    assert tokens == TOKENS * (count + 1)


def fleet(count: int, watch: Watch) -> None:
    with watch:
        agents = [Agent.start(script(FLEET_TURNS), (), LATENCY_S) for _ in range(count)]
        pykka.get_all([agent.ask(QUESTION, block=False) for agent in agents])
        pykka.ActorRegistry.stop_all()


def fan_out(count: int, watch: Watch) -> None:
    with watch:
        _, tokens = below([count, 0]).ask(QUESTION)
    pykka.ActorRegistry.stop_all()
    assert tokens == TOKENS * (count + 2)


def tree(count: int, watch: Watch) -> None:
    watch.count = count + count**2 + count**3
    with watch:
        _, tokens = below([count, count, count, 0]).ask(QUESTION)
    pykka.ActorRegistry.stop_all()
    assert tokens == tree_tokens(count, watch.count)


ROWS: Rows = {
    "ask": partial(ask, Echo),
    "record": partial(ask, Recorder),
    "spawn": spawn,
    "idle": idle,
    "turns_200": turns,
    "turns_1000": turns,
    "turns_5000": turns,
    "fleet": fleet,
    "fan_out": fan_out,
    "tree": tree,
}
NO_RECORDS = "it keeps no messages"
ABSENT = {
    "cancel": "an actor cannot be stopped while it handles a message",
    "durable": NO_RECORDS,
    "snapshot": NO_RECORDS,
    "fork": NO_RECORDS,
    "restore": NO_RECORDS,
    "encode": NO_RECORDS,
    "decode": NO_RECORDS,
}

if __name__ == "__main__":
    answer(ROWS, f"pykka {version('pykka')}", ABSENT)
