"""What a node can be: a function, an agent, a `ToolNode`, or a compiled graph.

1. Each is one class with `run`, which gives what the node wants, and nothing else
   knows them apart.
2. What is wrong with one is said when the graph is compiled.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from actors._agent import Agent
from actors._inside import send
from actors.models import ToolSpec
from protocol._commands import StartNode
from protocol._not_json import a_kind

from ._agent_node import AgentTurns
from ._execute import call_async, call_in_thread, call_of
from ._plan import NodePlan
from ._returns import Returned, read_returned
from ._subgraph import is_compiled, run_subgraph
from ._toolnode import ToolNode
from ._tools import run_tools
from ._work import GraphNode


class Work(Protocol):
    """What a node does."""

    async def run(self, node: GraphNode) -> Returned:
        """Do it."""
        ...


@attrs.frozen
class FunctionWork:
    """A function of the state; a plain one runs in a worker thread."""

    fn: Callable[..., Any]
    is_async: bool
    takes_config: bool

    async def run(self, node: GraphNode) -> Returned:
        """Call the function with the node's copy of the state."""
        send(node.state, StartNode(node.task))
        extra = {"config": node.config.shown} if self.takes_config else {}
        if self.is_async:
            value = await call_async(node, self.fn(node.copy, **extra))
        else:
            work = call_of(self.fn, node.copy, **extra)
            value = await call_in_thread(node, work)
        return read_returned(node.task.node, node.copy, value)


@attrs.define
class AgentWork:
    """An agent that answers the conversation."""

    agent: Agent
    manager: Any
    more_specs: tuple[ToolSpec, ...] = ()
    """The tools of its ``tool_node``."""

    async def run(self, node: GraphNode) -> Returned:
        """Think, and use the agent's own tools, until a reply without calls."""
        return await AgentTurns(node, self.agent, self.manager).run()


@attrs.frozen
class ToolWork:
    """The calls of the last message."""

    tools: ToolNode

    async def run(self, node: GraphNode) -> Returned:
        """Give every call its result."""
        return await run_tools(node, self.tools)


@attrs.frozen
class GraphWork:
    """A graph in a graph."""

    app: Any

    async def run(self, node: GraphNode) -> Returned:
        """Run the graph on a thread of its own."""
        return await run_subgraph(node, self.app)


def work_of(name: str, item: Any, manager: Any) -> Work:
    """The work of a node that was added as ``item``.

    Raises:
        TypeError: it can be no node; the text says why.
    """
    if isinstance(item, Agent):
        if item.loop is not None:
            raise TypeError(
                f"node {name!r}: the agent has loop=..., and in a graph it thinks "
                f"until a reply without calls: leave the loop out"
            )
        return AgentWork(item, manager)
    if isinstance(item, ToolNode):
        return ToolWork(item)
    if is_compiled(item):
        return GraphWork(item)
    if not callable(item) or isinstance(item, type):
        raise TypeError(
            f"node {name!r} is {a_kind(item)}: a node is a function of the "
            f"state, an Agent, a ToolNode or a compiled graph"
        )
    is_async = inspect.iscoroutinefunction(_function_of(item))
    return FunctionWork(item, is_async, takes_config(f"node {name!r}", item))


def takes_config(what: str, fn: Callable[..., Any]) -> bool:
    """Whether a function of the state takes the config too.

    Raises:
        TypeError: it does not take the state, or takes more than we have.
    """
    parameters = list(inspect.signature(fn).parameters.values())
    positional = [
        p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    rest = parameters
    if positional:
        rest = [p for p in parameters if p is not positional[0]]
    elif not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise TypeError(f"{what} takes no state: write def node(state)")
    needed = [
        p.name
        for p in rest
        if p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.name != "config"
    ]
    if needed:
        names = ", ".join(needed)
        raise TypeError(
            f"{what} needs {names}, and gets the state and, if it takes it, config"
        )
    return any(p.name == "config" for p in rest)


def _function_of(item: Any) -> Any:
    """The function behind a callable object or a partial."""
    while hasattr(item, "func") and hasattr(item, "keywords"):
        item = item.func
    if inspect.isfunction(item) or inspect.ismethod(item):
        return item
    return getattr(item.__class__, "__call__", item)  # noqa: B004 - its kind is asked


def name_of(item: Any) -> str | None:
    """The name that a node has by itself, or None."""
    name = getattr(item, "name", None)
    if name is None:
        name = getattr(item, "__name__", None)
    return name if isinstance(name, str) and name != "<lambda>" else None


def tools_of(plans: Mapping[str, NodePlan], name: str) -> ToolNode | None:
    """The `ToolNode` of this name, or None."""
    plan = plans.get(name)
    work = None if plan is None else plan.work
    return work.tools if isinstance(work, ToolWork) else None
