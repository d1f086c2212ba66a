"""`StateGraph`: nodes and the ways between them, drawn one by one.

1. Only what has no meaning at all is refused at once; every other fault is told by
   `compile`, with all others.
2. What `compile` gives is frozen: drawing on changes nothing that was compiled.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from actors._limits import Limits
from actors.stores import Store
from protocol import START, AgentState, GraphError

from ._app import CompiledGraph, checked_settings
from ._checks import Drawn, faults_of
from ._context import BaseContextManager
from ._nodes import AgentWork, name_of, takes_config, tools_of, work_of
from ._plan import Condition, Join, NodePlan, Plan


class StateGraph:
    """A graph whose nodes share a state.

    Args:
        state: A class derived from `AgentState`, or an object of one with the values
            that new threads start with.
        context_manager: What trims the context for agents with ``trim_context=True``.

    Raises:
        TypeError: ``state`` or ``context_manager`` is something else, or the class
            needs values.
    """

    def __init__(
        self,
        state: type[AgentState] | AgentState = AgentState,
        context_manager: BaseContextManager | None = None,
    ) -> None:
        given: Any = state  # not every caller has a type checker
        if isinstance(given, type) and issubclass(given, AgentState):
            given = given()
        if not isinstance(given, AgentState):
            raise TypeError(
                f"StateGraph takes a class derived from AgentState, or an object of "
                f"one, not {given!r}"
            )
        manager: Any = context_manager
        if manager is not None and not isinstance(manager, BaseContextManager):
            raise TypeError(
                f"context_manager= takes a BaseContextManager, not {manager!r}"
            )
        self._initial = given
        self._manager = context_manager
        self._drawn = Drawn()

    def add_node(
        self,
        name: Any,
        fn: Any = None,
        goto: str | Iterable[str] = (),
    ) -> Self:
        """Add a node: ``add_node("NAME", fn)``, or ``add_node(fn)`` by its own name.

        Args:
            name: The node's name, or what runs if it has a name of its own.
            fn: A function of the state, an `Agent`, a `ToolNode`, a compiled graph.
            goto: Nodes that it may reach by a `Command`, a `Send` or a hand-off.

        Raises:
            TypeError: there is no name, or nothing that could run.
        """
        if fn is None:
            name, fn = name_of(name), name
        if not isinstance(name, str) or fn is None:
            raise TypeError(
                f"add_node takes a name and what runs, as in add_node('NAME', fn): "
                f"{name!r}, {fn!r}"
            )
        targets = (goto,) if isinstance(goto, str) else tuple(goto)
        self._drawn.nodes.append((name, fn, targets))
        return self

    def override_node(self, name: str, fn: Any) -> Self:
        """Put something else in the place of a node: a fake in a test, say."""
        drawn = self._drawn
        if name not in drawn.names:
            drawn.faults.append(f"override_node names {name!r}, which is no node yet")
        drawn.nodes = [
            (each, fn if each == name else was, goto) for each, was, goto in drawn.nodes
        ]
        return self

    def add_edge(self, source: str | Iterable[str], target: str) -> Self:
        """Let ``target`` run when ``source`` has run; a list waits for all of them."""
        if isinstance(source, str):
            self._drawn.edges.append((source, target))
        else:
            self._drawn.joins.append(Join(tuple(source), target))
        return self

    def add_conditional_edges(
        self,
        source: str,
        condition: Callable[..., Any],
        path_map: Mapping[Any, str] | Iterable[str] | None = None,
    ) -> Self:
        """Let a function of the state choose what runs after ``source``.

        Args:
            source: A node, or START.
            condition: Plain or async; returns a name, END, a `Send`, or a list of them.
                A plain one runs on the run's own thread: it should be quick.
            path_map: What it returns to the names that are meant, or a list of names.

        Raises:
            TypeError: the condition is no function, or takes no state.
        """
        if not callable(condition):
            raise TypeError(
                f"a condition is a function of the state, not {condition!r}"
            )
        ways: Any = path_map
        if ways is not None and not issubclass(type(ways), Mapping):
            ways = {name: name for name in ways}
        extra = takes_config(f"condition {condition!r}", condition)
        made = Condition(fn=condition, takes_config=extra, path_map=ways)
        self._drawn.conditions.append((source, made))
        return self

    def set_entry_point(self, name: str) -> Self:
        """Begin with this node; the same as ``add_edge(START, name)``."""
        return self.add_edge(START, name)

    def compile(
        self,
        checkpointer: Store | None = None,
        interrupt_before: Iterable[str] = (),
        interrupt_after: Iterable[str] = (),
        limits: Limits | None = None,
        *,
        busy: str = "queue",
        name: str | None = None,
    ) -> CompiledGraph:
        """Check the whole graph, and make it ready to run.

        Args:
            checkpointer: The store that keeps threads; a `MemoryStore` of this compiled
                graph's own when left out.
            interrupt_before: Nodes before which a run pauses.
            interrupt_after: Nodes after which a run pauses.
            limits: What one run, and everything below it, may use.
            busy: What a second run on a thread meets: ``queue``, ``reject`` or
                ``interrupt``.
            name: What histories call the graph.

        Raises:
            GraphError: everything that is wrong, with names.
            TypeError, ValueError: a setting is wrong.
        """
        settings = checked_settings(checkpointer, limits, busy, name)
        paused = {
            "interrupt_before": tuple(interrupt_before),
            "interrupt_after": tuple(interrupt_after),
        }
        faults = faults_of(self._drawn, paused)
        nodes = self._nodes(faults)
        if faults:
            raise GraphError(*faults)
        plan = Plan(
            initial=self._initial,
            nodes=nodes,
            edges=_grouped(self._drawn.edges),
            joins=tuple(self._drawn.joins),
            conditions=_grouped(self._drawn.conditions),
            manager=self._manager,
            interrupt_before=frozenset(paused["interrupt_before"]),
            interrupt_after=frozenset(paused["interrupt_after"]),
        )
        return CompiledGraph(plan, settings)

    def _nodes(self, faults: list[str]) -> dict[str, NodePlan]:
        nodes: dict[str, NodePlan] = {}
        for index, (name, item, goto) in enumerate(self._drawn.nodes):
            try:
                work = work_of(name, item, self._manager)
            except (TypeError, ValueError) as error:
                faults.append(str(error))
                continue
            nodes[name] = NodePlan(name=name, work=work, index=index, goto=goto)
        for plan in nodes.values():
            if (
                isinstance(plan.work, AgentWork)
                and plan.work.agent.tool_node is not None
            ):
                wanted = plan.work.agent.tool_node
                found = tools_of(nodes, wanted)
                if found is None:
                    faults.append(
                        f"node {plan.name!r}: tool_node={wanted!r} is no ToolNode of "
                        f"this graph"
                    )
                else:
                    plan.work.more_specs = found.specs
        return nodes


def _grouped(pairs: Iterable[tuple[str, Any]]) -> dict[str, tuple[Any, ...]]:
    grouped: dict[str, list[Any]] = {}
    for source, item in pairs:
        grouped.setdefault(source, []).append(item)
    return {source: tuple(items) for source, items in grouped.items()}
