"""A graph as it runs: what `StateGraph.compile` has found to be without fault."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from protocol import AgentState
from protocol._graph_state import appends, fields_json, own_fields
from protocol._json import FrozenDict

from ._context import BaseContextManager


@attrs.frozen(kw_only=True)
class NodePlan:
    """One node."""

    name: str
    work: Any
    """What runs: see `actors.graph._nodes`."""
    index: int
    """Its place in the order of declaration."""
    goto: tuple[str, ...] = ()
    """Targets that it declares to reach otherwise than by edges."""


@attrs.frozen(kw_only=True)
class Condition:
    """A function of the state that chooses the way on."""

    fn: Callable[..., Any]
    takes_config: bool
    path_map: Mapping[Any, str] | None
    """What it returns to the nodes that are meant; None: it returns their names."""

    @property
    def name(self) -> str:
        """What errors and pictures call it."""
        return getattr(self.fn, "__name__", type(self.fn).__name__)


@attrs.frozen
class Join:
    """A node that waits for several others."""

    sources: tuple[str, ...]
    target: str

    @property
    def key(self) -> str:
        """What a thread remembers the arrivals under."""
        return f"{'+'.join(self.sources)}->{self.target}"


@attrs.frozen(kw_only=True)
class Plan:
    """Nodes, and the ways between them."""

    initial: AgentState
    """The state that a new thread starts with."""
    nodes: Mapping[str, NodePlan]
    edges: Mapping[str, tuple[str, ...]]
    joins: tuple[Join, ...]
    conditions: Mapping[str, tuple[Condition, ...]]
    manager: BaseContextManager | None
    interrupt_before: frozenset[str]
    interrupt_after: frozenset[str]
    kind: type[AgentState] = attrs.field(init=False)
    appends: bool = attrs.field(init=False)
    """Whether the context only grows."""
    first_fields: FrozenDict[str, Any] = attrs.field(init=False)
    """The fields that a new thread begins with, in JSON form."""

    def __attrs_post_init__(self) -> None:
        kind = type(self.initial)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "appends", appends(kind))
        fields = fields_json(self.initial, own_fields(kind))
        object.__setattr__(self, "first_fields", fields)

    def joins_of(self, source: str) -> list[Join]:
        """The nodes that wait for this one and others."""
        return [join for join in self.joins if source in join.sources]
