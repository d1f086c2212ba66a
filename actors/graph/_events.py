"""What a stream of a graph gives: one frozen class for each kind of event.

1. Events come in the order in which things happened; what an event shows as done is
   saved.
2. Each has objects of its own: whoever gets one may keep it, and can disturb nothing.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import attrs

from protocol import AgentState, Message


@attrs.frozen(kw_only=True)
class MessageDelta:
    """A piece of a message, as it comes; never stored."""

    kind: ClassVar[Literal["delta"]] = "delta"
    node: str
    """The node that it comes from."""
    message: Message
    """The piece, with ``delta=True``."""


@attrs.frozen(kw_only=True)
class MessageAdded:
    """A node made a whole message; it goes into the context when the step ends."""

    kind: ClassVar[Literal["message"]] = "message"
    node: str
    message: Message


@attrs.frozen(kw_only=True)
class NodeUpdate:
    """A node ended, and this is what it wants changed."""

    kind: ClassVar[Literal["update"]] = "update"
    node: str
    updates: tuple[Mapping[str, Any], ...]
    """Fields to their updates, in order; `context` holds messages."""


@attrs.frozen(kw_only=True)
class StateChanged:
    """A step ended, or the run began: this is the state now."""

    kind: ClassVar[Literal["state"]] = "state"
    state: AgentState


@attrs.frozen(kw_only=True)
class CustomValue:
    """A node, or a tool of it, called `emit`."""

    kind: ClassVar[Literal["custom"]] = "custom"
    node: str
    value: Any


@attrs.frozen(kw_only=True)
class GraphFailed:
    """The run ends with this error, which the stream raises next."""

    kind: ClassVar[Literal["error"]] = "error"
    error: BaseException


@attrs.frozen(kw_only=True)
class GraphEnded:
    """The run is over, or pauses at its interrupts."""

    kind: ClassVar[Literal["end"]] = "end"
    result: Mapping[str, Any]
    """What ``invoke`` returns."""


GraphEvent: TypeAlias = (
    MessageDelta
    | MessageAdded
    | NodeUpdate
    | StateChanged
    | CustomValue
    | GraphFailed
    | GraphEnded
)
"""Anything that a stream of a graph gives."""
