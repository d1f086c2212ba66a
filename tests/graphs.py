"""Short words for building graphs, and for looking at what they keep."""

import operator
from collections.abc import Callable
from typing import Annotated, Any

from actors import (
    END,
    START,
    AgentState,
    CompiledGraph,
    Message,
    StateGraph,
    ToolCall,
)
from protocol._snapshot import snapshot_of
from protocol._value import Value


class Counted(AgentState):
    total: Annotated[int, operator.add] = 0
    log: Annotated[list[str], operator.add] = []
    city: str = ""


def user(text: str) -> dict[str, Any]:
    return {"messages": [Message.user(text)]}


def thread(name: str = "t", **more: Any) -> dict[str, Any]:
    return {"thread_id": name, **more}


def says(text: str) -> Callable[[Any], Any]:
    async def node(state: Any) -> str:
        return text

    return node


def adds(number: int, *log: str) -> Callable[[Any], Any]:
    async def node(state: Any) -> dict[str, Any]:
        return {"total": number, "log": list(log)}

    return node


def chain(
    *nodes: tuple[str, Any], state: Any = Counted, **kwargs: Any
) -> CompiledGraph:
    """START -> each of the nodes -> END."""
    return chain_of(*nodes, state=state).compile(**kwargs)


def chain_of(*nodes: tuple[str, Any], state: Any = Counted) -> StateGraph:
    graph = StateGraph(state)
    before = START
    for name, fn in nodes:
        graph.add_node(name, fn)
        graph.add_edge(before, name)
        before = name
    graph.add_edge(before, END)
    return graph


def fan(*nodes: tuple[str, Any], state: Any = Counted, **kwargs: Any) -> CompiledGraph:
    """START -> all of the nodes at once -> END."""
    graph = StateGraph(state)
    for name, fn in nodes:
        graph.add_node(name, fn)
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return graph.compile(**kwargs)


def texts(messages: Any) -> list[str]:
    return [message.text() for message in messages]


def kept(app: CompiledGraph, name: str = "t") -> Any:
    """The thread as its store has it."""
    return app.checkpointer.load(name)


def kinds(app: CompiledGraph, name: str = "t") -> list[str]:
    return [entry.kind for entry in kept(app, name).history]


def started(app: CompiledGraph, name: str = "t") -> list[str]:
    """The nodes that began to run, in order."""
    return [e.content.node for e in kept(app, name).history if e.kind == "node_start"]


def call(call_id: str, name: str, /, **args: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, args=args)


def asks(*calls: ToolCall) -> Message:
    return Message(role="assistant", content=calls)


def meaning(value: Value) -> Any:
    """All that a value means, the parts that only a thread has included."""
    snapshot = snapshot_of(value)
    return snapshot.messages, snapshot.usage, value.open, snapshot.extra_data
