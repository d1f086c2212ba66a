"""`ToolNode`: the settings of a node that runs tools; and tools that hand over."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from actors._limits import Limits
from actors._run_node import RunNode
from actors._settings import INHERIT, inherited
from actors._supervisor import GRACE_S
from actors.models import ToolSpec
from actors.people import Human, Permission
from actors.people._permission import checked_permissions
from actors.tools._collect import collect
from actors.tools._tool import Tool, tool

from ._routes import Command

_CHOICES = {"siblings": ("keep", "cancel"), "on_error": ("raise", "result")}


@attrs.frozen(kw_only=True, init=False, eq=False)
class ToolNode:
    """A node that runs the calls of the last message, as an agent would run them.

    Their results go into the context as one message, and what they want changed (a
    `ToolResult` or a `Command`) goes through the fields' reducers, in call order.

    Args:
        tools: Functions, `Tool` objects, or agents.
        permissions: A list of permissions; None checks nothing and ``[]`` denies all.
        human: Who is asked; whom the run above asks, when left out.
        max_parallel: Calls that run at once.
        siblings: Whether a failing call lets the others go on (``keep``) or not
            (``cancel``).
        on_error: What an exception does that is no `ToolError`: ``raise`` fails the
            node, ``result`` lets the model see it.

    Raises:
        TypeError, ValueError: a setting is wrong; the text says what to write instead.
    """

    tools: Mapping[str, Tool]
    """The tools by name."""
    specs: tuple[ToolSpec, ...]
    """The tools as a model gets to know them."""
    permissions: tuple[Permission, ...] | None
    human: Any
    max_parallel: int
    siblings: str
    on_error: str

    name = None
    limits: Limits | None = None
    busy = "reject"
    grace_s: float = GRACE_S

    def __init__(
        self,
        tools: Iterable[Callable[..., Any]],
        *,
        permissions: Sequence[Permission] | None = None,
        human: Human | None = INHERIT,
        max_parallel: int = 32,
        siblings: str = "keep",
        on_error: str = "raise",
    ) -> None:
        for name, value in (("siblings", siblings), ("on_error", on_error)):
            if value not in _CHOICES[name]:
                raise ValueError(f"{name}= is one of {_CHOICES[name]}, not {value!r}")
        if type(max_parallel) is not int or max_parallel < 1:
            raise ValueError(f"max_parallel= is an int >= 1, not {max_parallel!r}")
        made = collect(tools)
        fill: Any = self  # checkers do not know attrs' own init
        fill.__attrs_init__(
            tools={each.name: each for each in made},
            specs=tuple(each.spec for each in made),
            permissions=None
            if permissions is None
            else checked_permissions(permissions),
            human=human,
            max_parallel=max_parallel,
            siblings=siblings,
            on_error=on_error,
        )

    def _inherited(self, name: str, above: RunNode | None) -> Any:
        """This node's human, or that of the run above; the reporter always is that."""
        own = self.human if name == "human" else INHERIT
        return inherited(own, above, name)


def create_handoff_tool(
    name: str, *, tool_name: str | None = None, description: str | None = None
) -> Tool:
    """A tool by which a model hands the conversation over to a node.

    The graph goes to the node when the calls of the turn have their results; the call
    itself gets one too.

    Args:
        name: The node.
        tool_name: What the model calls the tool by; ``transfer_to_NAME``, with other
            characters than letters, digits, ``_`` and ``-`` made ``_``.
        description: What the model reads about it.
    """
    if type(name) is not str or not name:
        raise TypeError(f"a hand-off tool takes the name of a node, not {name!r}")
    plain = "".join(
        c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name
    )

    async def hand_over() -> Command:
        return Command(goto=name)

    made: Tool = tool(
        name=tool_name or f"transfer_to_{plain}",
        description=description or f"Hand the conversation over to {name}.",
    )(hand_over)
    return made
