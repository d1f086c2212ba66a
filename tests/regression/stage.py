"""What the cases share: scripted agents, and short words for what became of a run."""

from collections.abc import Callable
from typing import Any

import trio
import trio.testing

from actors import (
    Agent,
    FunctionModel,
    Message,
    Request,
    Run,
    State,
    Supervisor,
    ToolCall,
    ToolResultEntry,
)
from actors._inside import run_of
from actors._node import subtree
from actors._run_node import RunNode
from actors.testing._schedule import chooser_of, controlled

Item = Any
"""What a model may say: text, a call, a list of both, an exception, or a rule."""


def call(name: str, call_id: str = "", **args: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, args=args)


def script(*items: Item) -> Callable[[Request], Item]:
    """A rule that gives each conversation these replies in order, the last for ever."""

    def rule(request: Request) -> Item:
        said = sum(1 for message in request.messages if message.role == "assistant")
        item = items[min(said, len(items) - 1)]
        return item(request) if callable(item) else item

    return rule


def agent(*items: Item, **settings: Any) -> Agent:
    """An agent that nobody looks at, whose model follows a script."""
    settings.setdefault("reporter", None)
    settings.setdefault("human", None)
    return Agent(FunctionModel(script(*items)), **settings)


def state(text: str = "go") -> State:
    return State(messages=[Message.user(text)])


def results(of: State) -> list[ToolResultEntry]:
    """The results of calls in the order they came, late ones left out."""
    return [e for e in of.history if isinstance(e, ToolResultEntry) and not e.late]


def late(of: State) -> list[ToolResultEntry]:
    return [e for e in of.history if isinstance(e, ToolResultEntry) and e.late]


def outcomes(of: State) -> list[str]:
    return [entry.outcome for entry in results(of)]


def requested(of: State) -> list[ToolCall]:
    """Every call the model asked for, in order."""
    return [call for message in of.messages for call in message.tool_calls]


def in_call_order(of: State) -> list[ToolResultEntry]:
    """The results, each call's where it was asked for."""
    by_id = {entry.call.id: entry for entry in results(of)}
    return [by_id[call.id] for call in requested(of)]


def kinds(of: State) -> list[str]:
    return [entry.kind for entry in of.history]


def assert_whole(of: State) -> None:
    """Nothing is pending, each call has one result, and the history says the same."""
    assert of.pending_calls == ()
    assert of.phase == "idle"
    ids = [entry.call.id for entry in results(of)]
    assert sorted(ids) == sorted(call.id for call in requested(of))
    assert len(set(ids)) == len(ids)
    assert State(history=of.history).snapshot() == of.snapshot()


async def run_named(supervisor: Supervisor, name: str) -> Run:
    """The handle of the one run whose first message is ``name``, once it runs."""
    while True:
        for node in _runs(supervisor):
            messages = node.state.messages
            running = run_of(node.state)
            if running is not None and messages and messages[0].text() == name:
                return Run(running)
        await trio.testing.wait_all_tasks_blocked()


def _runs(supervisor: Supervisor) -> list[RunNode]:
    return [
        node
        for root in supervisor._roots
        for node in subtree(root)
        if isinstance(node, RunNode)
    ]


class Onlooker:
    """A sink that keeps every event of a tree; see `actors._telling.Sink`."""

    full = False

    def __init__(self) -> None:
        self.events: list[Any] = []

    def wants(self, kind: type) -> bool:
        return True

    def put(self, event: Any) -> None:
        self.events.append(event)

    async def wait_room(self) -> None:
        raise AssertionError("it is never full")


def seeded_run(seed: int, main: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """`trio.run` whose tasks take turns in the order of a seed."""
    with controlled(chooser_of(seed)):
        return trio.run(main, *args, **options)


class CancelAt(trio.abc.Instrument):
    """Cancels a scope at the n-th step of the scheduler after `begin`."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.reached = False
        self._scope: trio.CancelScope | None = None

    def begin(self, scope: trio.CancelScope) -> None:
        self._scope = scope

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if self._scope is None:
            return
        self.step -= 1
        if self.step == 0:
            self.reached = True
            self._scope.cancel()
