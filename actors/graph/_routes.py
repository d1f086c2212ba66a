"""What nodes, tools and conditions say about where the graph goes next."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import attrs

from protocol._entry import NO_DATA

Target: TypeAlias = "str | Send"
"""The name of a node or END, or a `Send`."""


def _name(_: object, field: "attrs.Attribute[str]", value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{field.name} is the name of a node, not {value!r}")


@attrs.frozen
class Send:
    """Run a node on data of its own: one `Send` for each piece of data.

    The node sees the state with ``update`` merged in; that copy is its alone, and only
    what the node returns is merged at the end of the step.
    """

    node: str = attrs.field(validator=_name)
    """The node's name."""
    update: Mapping[str, Any] = NO_DATA
    """Fields to their updates."""


@attrs.frozen(kw_only=True)
class Command:
    """What a node or a tool returns to change the state and to choose the way on.

    With a ``goto`` the node's edges and conditions are not followed.
    """

    update: Any = None
    """Anything that a node may return; of a tool, a dict of fields."""
    goto: "str | Send | Sequence[str | Send]" = ()
    """A node's name, END, a `Send`, or a list of them."""

    @property
    def targets(self) -> tuple[Any, ...]:
        """Where it goes, as a tuple; empty to follow the edges."""
        return as_targets(self.goto)


def as_targets(goto: Any) -> tuple[Any, ...]:
    """One target or a list of targets as a tuple; what they are is not checked."""
    if not isinstance(goto, list | tuple):
        return (goto,)
    return tuple(cast("Sequence[Any]", goto))
