"""From the ends of one step to the tasks of the next.

1. A node that says where it goes (`Command.goto`) goes there, and not along its edges.
2. Edges that lead to one node run it once; each `Send` is a run of its own.
3. Tasks stand in the order in which their nodes were declared.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import isawaitable
from typing import Any

from protocol import END, START, AgentState, GraphError
from protocol._entry import NO_DATA
from protocol._graph_entries import Goto, NodeTask
from protocol._json import FrozenDict, FrozenList

from ._config import Config
from ._plan import Condition, Join, Plan
from ._returns import as_goto
from ._routes import Send, as_targets


class Routing:
    """Where a step leads: made once for each, and then asked for the tasks.

    The state that it leads to is made only for conditions.
    """

    def __init__(
        self,
        plan: Plan,
        look: Callable[[], AgentState],
        config: Config,
        joins: Mapping[str, Any],
    ) -> None:
        self._plan = plan
        self._look = look
        self._config = config
        self._joins: dict[str, Any] = dict(joins)
        self._targets: list[Goto] = []

    @property
    def joins(self) -> FrozenDict[str, Any]:
        """The nodes that still wait for others."""
        return FrozenDict(self._joins) if self._joins else NO_DATA

    async def follow(self, ends: Iterable[tuple[str, Sequence[Goto] | None]]) -> None:
        """Take the way of each node that ended, in order.

        Raises:
            GraphError: it leads to a node that there is not.
            BaseException: what a condition raised.
        """
        seen: set[str] = set()
        for node, goto in ends:
            if goto is not None:
                self._targets += [self._checked(node, target) for target in goto]
            elif node not in seen:
                seen.add(node)
                await self._follow_edges(node)

    async def _follow_edges(self, node: str) -> None:
        plan = self._plan
        self._targets += [Goto(target) for target in plan.edges.get(node, ())]
        for join in plan.joins_of(node):
            self._arrive(join, node)
        for condition in plan.conditions.get(node, ()):
            for target in await self._ask(node, condition):
                self._targets.append(self._checked(node, target))

    def _arrive(self, join: Join, node: str) -> None:
        arrived = {*self._joins.pop(join.key, ()), node}
        if arrived >= set(join.sources):
            self._targets.append(Goto(join.target))
        else:
            here = [source for source in join.sources if source in arrived]
            self._joins[join.key] = FrozenList(here)

    async def _ask(self, node: str, condition: Condition) -> list[Goto]:
        extra = {"config": self._config.shown} if condition.takes_config else {}
        state = self._look()
        said = condition.fn(state, **extra)
        if isawaitable(said):
            said = await said
        targets: list[Goto] = []
        for target in as_targets(said):
            name = target
            if condition.path_map is not None and not isinstance(target, Send):
                if target not in condition.path_map:
                    raise GraphError(
                        f"condition {condition.name!r} of {node!r} returned "
                        f"{target!r}, which its path_map has not: "
                        f"{list(condition.path_map)}"
                    )
                name = condition.path_map[target]
            targets.append(as_goto(node, state, name))
        return targets

    def _checked(self, node: str, target: Goto) -> Goto:
        if target.node == END or target.node in self._plan.nodes:
            return target
        raise GraphError(
            f"{node!r} leads to {target.node!r}, which is no node of this graph: there "
            f"are {', '.join(self._plan.nodes)} and END"
        )

    def tasks(self, prefix: str) -> tuple[NodeTask, ...]:
        """The tasks of the next step; none when everything has led to END."""
        nodes = self._plan.nodes
        chosen: list[Goto] = []
        plain: set[str] = set()
        for target in self._targets:
            if target.node == END or (target.input is None and target.node in plain):
                continue
            if target.input is None:
                plain.add(target.node)
            chosen.append(target)
        chosen.sort(key=lambda target: nodes[target.node].index)
        return tuple(
            NodeTask(f"{target.node}-{prefix}-{number}", target.node, target.input)
            for number, target in enumerate(chosen)
        )


def entry(plan: Plan) -> list[tuple[str, None]]:
    """The beginning of a run, as the end of START."""
    assert START not in plan.nodes, "START is no node"
    return [(START, None)]
