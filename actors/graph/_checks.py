"""What can be wrong with a graph: all of it, with names, at once.

1. Every name that something leads from or to is a node, START or END.
2. There is a way in; and where it can be known, every node and END can be reached.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import attrs

from protocol import END, START

from ._plan import Condition, Join


@attrs.define
class Drawn:
    """A graph as its builder was told to draw it."""

    nodes: list[tuple[str, Any, tuple[str, ...]]] = attrs.field(
        factory=list[tuple[str, Any, tuple[str, ...]]]
    )
    """Names, what was added, and the targets of ``goto``, as they came."""
    edges: list[tuple[str, str]] = attrs.field(factory=list[tuple[str, str]])
    joins: list[Join] = attrs.field(factory=list[Join])
    conditions: list[tuple[str, Condition]] = attrs.field(
        factory=list[tuple[str, Condition]]
    )
    faults: list[str] = attrs.field(factory=list[str])
    """What was wrong at once, to be told with the rest."""

    @property
    def names(self) -> list[str]:
        """The names of the nodes, in the order of declaration."""
        return [name for name, _, _ in self.nodes]


def faults_of(drawn: Drawn, paused: Mapping[str, Sequence[str]]) -> list[str]:
    """Everything wrong with a graph, in the order in which it was drawn.

    Args:
        drawn: The graph.
        paused: What ``interrupt_before`` and ``interrupt_after`` name.
    """
    return [
        *drawn.faults,
        *_wrong_names(drawn),
        *_unknown(drawn),
        *_paused(drawn, paused),
        *_entry(drawn),
        *_unreached(drawn),
    ]


def _wrong_names(drawn: Drawn) -> Iterator[str]:
    seen: set[str] = set()
    for name in drawn.names:
        if name in (START, END):
            yield f"a node cannot be named {name!r}: the name is taken"
        if name in seen:
            yield f"two nodes are named {name!r}"
        seen.add(name)


def _unknown(drawn: Drawn) -> Iterator[str]:
    sources, targets = {*drawn.names, START}, {*drawn.names, END}
    for source, target in drawn.edges:
        yield from _one(
            f"edge {source!r} -> {target!r}", source, sources, target, targets
        )
    for join in drawn.joins:
        what = f"edge {list(join.sources)!r} -> {join.target!r}"
        for source in join.sources:
            if source not in sources - {START}:
                yield f"{what} comes from {source!r}, which is no node"
        if join.target not in targets - {END}:
            yield f"{what} leads to {join.target!r}, which is no node"
    for source, condition in drawn.conditions:
        what = f"condition {condition.name!r} of {source!r}"
        for target in (condition.path_map or {}).values():
            yield from _one(what, source, sources, target, targets)
        if not condition.path_map and source not in sources:
            yield f"{what} comes from {source!r}, which is no node"
    for name, _, goto in drawn.nodes:
        for target in goto:
            if target not in targets:
                yield f"goto of node {name!r} names {target!r}, which is no node"


def _one(
    what: str,
    source: str,
    sources: Collection[str],
    target: str,
    targets: Collection[str],
) -> Iterator[str]:
    if source not in sources:
        yield f"{what} comes from {source!r}, which is no node"
    if target not in targets:
        yield f"{what} leads to {target!r}, which is no node"


def _paused(drawn: Drawn, paused: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for setting, names in paused.items():
        for name in names:
            if name not in drawn.names:
                yield f"{setting} names {name!r}, which is no node"


def _entry(drawn: Drawn) -> Iterator[str]:
    begins = [s for s, _ in drawn.edges] + [s for s, _ in drawn.conditions]
    if START not in begins:
        yield (
            "there is no entry point: write add_edge(START, name) or "
            "set_entry_point(name)"
        )


def _unreached(drawn: Drawn) -> Iterator[str]:
    """Nodes that nothing leads to; not known where a condition has no path_map."""
    if any(condition.path_map is None for _, condition in drawn.conditions):
        return
    ways: dict[str, list[str]] = {}
    for source, target in drawn.edges:
        ways.setdefault(source, []).append(target)
    for source, condition in drawn.conditions:
        ways.setdefault(source, []).extend((condition.path_map or {}).values())
    for join in drawn.joins:
        for source in join.sources:
            ways.setdefault(source, []).append(join.target)
    for name, _, goto in drawn.nodes:
        ways.setdefault(name, []).extend(goto)
    reached = {START}
    todo = [START]
    while todo:
        for target in ways.get(todo.pop(), ()):
            if target not in reached:
                reached.add(target)
                todo.append(target)
    for name in [*dict.fromkeys(drawn.names), END]:
        if name not in reached and name != START:
            what = "END" if name == END else f"node {name!r}"
            yield (
                f"{what} is never reached: no edge, path_map or goto of a reached node "
                f"leads to it"
            )
