"""What the runtime asks of a model: one request in, one reply out.

1. A model is settings and code, no conversation: one object serves any number of
   States at once.
2. Whatever fails at the provider leaves `arespond` as a `ProviderError`; then no part
   of the reply counts, even if text of it was shown.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from protocol import FrozenDict, Message, ModelEvent, Price, Reply

OnText: TypeAlias = Callable[[str], None]
"""Gets each piece of the reply's text as it comes."""

OnEvent: TypeAlias = Callable[[ModelEvent], None]
"""Gets what happens on the way to a reply, such as a retry."""

NO_PARAMETERS: FrozenDict[str, Any] = FrozenDict({"type": "object", "properties": {}})
"""The schema of a tool without arguments."""


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as a model gets to know it."""

    name: str
    """What the model calls it by."""
    description: str = ""
    """What it does, for the model."""
    parameters: Mapping[str, Any] = NO_PARAMETERS
    """JSON schema of its arguments, an object; read-only."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is asked: the whole context, for it remembers nothing."""

    messages: Sequence[Message]
    """The conversation, oldest first; a read-only view."""
    system: str | None = None
    """The instructions that come before it."""
    tools: tuple[ToolSpec, ...] = ()
    """What the model may call."""
    tool_choice: str | None = None
    """`"auto"`, `"none"`, `"required"`, or the name of the tool that must be called;
    None leaves it to the provider."""
    output_schema: Mapping[str, Any] | None = None
    """JSON schema that the reply's text must match; None asks for plain text."""


class Model(ABC):
    """Derive from this to bring a model of your own; only two things are a must.

    Set `name`, on the class or on each object, and write `arespond`. Prove it with
    `actors.testing.check_model`.
    """

    name: str
    """`"provider/name"`, as histories and usage show it."""
    key: str | None = None
    """Models of one key share a gate: one pool of slots, one Retry-After. None: the
    name."""
    context_window: int | None = None
    """Tokens that fit into a request and its reply together, or None when unknown."""
    price: Price | None = None
    """What tokens cost; None leaves the cost of a reply unknown."""
    adapts_to_delay: bool = False
    """Whether the gate sends fewer requests at once when replies take longer the more
    are on their way. Right for a provider with a queue; wrong for code that runs in
    this process, where a late reply says that this process is busy."""
    retries: int = 8
    """How often a request is sent again after a failure that may pass. With waits that
    grow to half a minute, eight ride out about two minutes of overload."""
    requests_per_minute: float | None = None
    """Requests of this key that start in any minute at most; None: no bound."""
    tokens_per_minute: float | None = None
    """Tokens of this key after which no request starts in a minute; None: no bound."""

    @abstractmethod
    async def arespond(
        self, request: Request, on_text: OnText | None, on_event: OnEvent
    ) -> Reply:
        """Ask the model once and return its reply; the gate sends again, not this.

        Args:
            request: What to ask. It stays as it is and may be asked again.
            on_text: Called with each piece of text as it comes; the pieces together
                are the reply's text. None: nobody listens, so do not stream.
            on_event: Called with what is worth recording on the way.

        Returns:
            The reply, with an assistant message, and usage that counts one request.

        Raises:
            ProviderError: The provider failed or refused; `transient` says whether the
                same request may succeed later, and is False once text was shown.
            trio.Cancelled: The caller gave up; the request is dropped at once.
        """

    async def compact(
        self,
        request: Request,
        instructions: str | None,
    ) -> Reply | None:
        """Summarise the conversation in the provider's own way.

        Returns:
            A reply whose text is the summary, or None (the default) when the provider
            has no such way: then the agent asks for a summary like for any text.
        """
        return None

    def count_tokens(self, request: Request) -> int | None:
        """Return how many tokens the request has, or None (the default) when unknown.

        Called on the run's own path: it must neither block nor touch the network.
        """
        return None

    def mark_cache(self, request: Request) -> tuple[int, ...]:
        """Return the indexes of messages after which the provider caches the context.

        The tools and the system text come before all messages, so they are cached with
        any of them. The default, none, is right for providers that need no marks.
        """
        return ()

    async def aclose(self) -> None:  # noqa: B027 - most models hold nothing
        """Give back what this object holds for itself; the default holds nothing."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {getattr(self, 'name', '(no name)')}>"
