"""A model behind HTTP: settings that are checked at once, and the way of a request.

1. Building one touches no network and needs no key; what is wrong with the settings
   raises there and then, with the fix in the text.
2. A stream counts once it said why it ends; whatever else ends it is a failure.
3. Only a failure before the first shown text may be `transient`.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast
from urllib.parse import urlsplit

import attrs
import msgspec
import trio

from protocol import AuthError, FrozenDict, Price, ProviderError, Usage
from protocol._json import freeze
from protocol._not_json import a_kind

from ._channel import HttpChannel, SdkChannel, is_http_client, is_sdk_client
from ._failures import broken_off, raise_known, unreadable
from ._known import known
from ._model import Model
from ._wire import Events

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from protocol import Reply

    from ._channel import Answer, Channel
    from ._model import OnEvent, OnText, Request

NO_PARAMS: FrozenDict[str, Any] = FrozenDict()

LINGER_S = 5.0
"""Seconds to wait for the end of a stream that said all: then come the token counts,
and the connection can be used again. After that both are given up, not the answer."""


class Pieces(Protocol):
    """What a stream said so far."""

    ended: bool
    """Whether the stream said why it ends."""

    def add(self, data: bytes) -> str:
        """Take one event in; return the text in it that is to be shown.

        Raises:
            msgspec.DecodeError: It is not what this provider streams.
            ProviderError: The event is an error.
        """
        ...

    def reply(self) -> Reply:
        """Return the whole, once ended."""
        ...


def _url(model: WireModel, _field: object, value: Any) -> None:
    if not isinstance(value, str):
        raise TypeError(f"base_url must be text, got {value!r}")
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(
            f"cannot reach a provider at base_url={value!r}; write the address with"
            " its scheme, like 'http://localhost:8000/v1'"
        )


def _key(model: WireModel, _field: object, value: Any) -> None:
    """Refuse what can be no key; the text of the error never holds the value."""
    if value is None:
        return
    variable = next(iter(model.key_variables), None)
    way_out = "pass the key as text, or leave it out"
    if variable is not None:
        way_out += f" and set {variable} in the environment"
    if not isinstance(value, str):
        raise TypeError(f"api_key must be text, got {a_kind(value)}; {way_out}")
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise ValueError(
            f"api_key is empty or has spaces, line ends or other characters that no"
            f" key has; {way_out}"
        )


def _named(_model: object, _field: object, value: Any) -> None:
    if not isinstance(value, str):
        raise TypeError(f"the name of a model must be text, got {value!r}")
    if not value.strip():
        raise ValueError("the name of a model is empty; write one like 'gpt-4o-mini'")


def _client(model: WireModel, _field: object, value: Any) -> None:
    if value is None or is_http_client(value) or is_sdk_client(value, model.sdk):
        return
    raise TypeError(
        f"client= of {type(model).__name__} takes an asynchronous client of the"
        f" official {model.sdk!r} package or an httpx2.AsyncClient, got {value!r}"
    )


def _positive(_model: object, field: attrs.Attribute[Any], value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ValueError(f"{field.name} must be a number above 0, got {value!r}")


def _count(_model: object, field: attrs.Attribute[Any], value: Any) -> None:
    if type(value) is not int or value < 0:
        raise ValueError(f"{field.name} must be an int >= 0, got {value!r}")


def _a_price(_model: object, _field: object, value: Any) -> None:
    if value is not None and not isinstance(value, Price):
        raise TypeError(
            f"price= takes Price(input, output), dollars for a million tokens, or"
            f" None, not {value!r}"
        )


def _frozen(params: Mapping[str, Any]) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", freeze(dict(params), "params"))


@attrs.frozen(eq=False, repr=False)
class WireModel(Model):
    """What `OpenAICompatible` and `Anthropic` share."""

    model: str = attrs.field(validator=_named)
    """The provider's name of the model."""
    base_url: str = attrs.field(kw_only=True, validator=_url)
    """Where the provider is."""
    provider: str = attrs.field(kw_only=True, validator=_named)
    """The first part of `name`; what only this provider understands is sent back to
    models of the same provider alone."""
    api_key: str | None = attrs.field(default=None, kw_only=True, validator=_key)
    """The key; None: looked up in the environment when a request needs it."""
    client: Any = attrs.field(default=None, kw_only=True, validator=_client)
    """An asynchronous client of the official SDK, or an `httpx2.AsyncClient`; whoever
    made it closes it. None: the client that all models of the trio run share."""
    params: Mapping[str, Any] = attrs.field(
        default=NO_PARAMS, kw_only=True, converter=_frozen
    )
    """More fields for the body of each request, such as `{"temperature": 0}`."""
    context_window: int | None = attrs.field(
        default=None, kw_only=True, validator=_positive
    )
    """Tokens that fit; None: as known for this model, if it is."""
    price: Price | None = attrs.field(default=None, kw_only=True, validator=_a_price)
    """What tokens cost; None: as known for this model, if it is."""
    timeout_s: float = attrs.field(default=600.0, kw_only=True, validator=_positive)
    """Seconds without a byte after which a request fails. Ten minutes, for models that
    think long before they speak."""
    adapts_to_delay: bool = attrs.field(default=True, kw_only=True)
    """Whether fewer requests are sent at once when a queue makes replies late."""
    retries: int = attrs.field(default=8, kw_only=True, validator=_count)
    """How often a request is sent again after a failure that may pass."""
    requests_per_minute: float | None = attrs.field(
        default=None, kw_only=True, validator=_positive
    )
    """Requests that start in any minute at most."""
    tokens_per_minute: float | None = attrs.field(
        default=None, kw_only=True, validator=_positive
    )
    """Tokens after which no request starts in a minute."""
    name: str = attrs.field(init=False)
    """`"provider/model"`."""
    key: str | None = attrs.field(init=False)
    """The name and the address: what is refused there says nothing of elsewhere."""
    _sdk_channel: SdkChannel | None = attrs.field(init=False)

    sdk: ClassVar[str]
    """The package of the official SDK."""
    sdk_method: ClassVar[str]
    """The method of its client that is asked."""
    sdk_fields: ClassVar[frozenset[str]]
    """The fields of a body that this method takes by name."""
    path: ClassVar[str]
    """Where under `base_url` requests go."""

    def __attrs_post_init__(self) -> None:
        put = object.__setattr__
        name = f"{self.provider}/{self.model}"
        window, price = known(name)
        put(self, "name", name)
        put(self, "context_window", self.context_window or window)
        put(self, "price", self.price or price)
        sdk, address = None, self.base_url
        if is_sdk_client(self.client, self.sdk):
            sdk = SdkChannel(
                self.client, self.sdk_method, self.sdk_fields, self.timeout_s
            )
            address = str(self.client.base_url)
        put(self, "_sdk_channel", sdk)
        put(self, "key", f"{name} at {address}")

    @property
    @abstractmethod
    def key_variables(self) -> tuple[str, ...]:
        """The environment variables that may hold the key, first come first."""

    async def arespond(
        self, request: Request, on_text: OnText | None, on_event: OnEvent
    ) -> Reply:
        """Ask the provider once, as `Model.arespond` says.

        Raises:
            AuthError: There is no key, or the provider does not accept it.
            RateLimitError: The provider refuses more for now.
            ContextTooLongError: The request does not fit.
            ProviderError: Anything else that keeps the provider from answering.
        """
        # A mock transport may answer without a checkpoint of its own.
        await trio.lowlevel.checkpoint_if_cancelled()
        body = self.body(request, stream=on_text is not None)
        shown = _Shown(on_text) if on_text is not None else None
        try:
            async with self._channel().send(body) as answer:
                if shown is None:
                    return self._billed(self._read(await answer.read()))
                return self._billed(await self._listen(answer, shown))
        except Exception as error:  # noqa: BLE001 - raises whatever it is again
            try:
                raise_known(self.provider, error)
            except ProviderError as failed:
                if shown is not None and shown.any:
                    failed.transient = False
                raise

    def _channel(self) -> Channel:
        if self._sdk_channel is not None:
            return self._sdk_channel
        return HttpChannel(
            self.provider,
            self.base_url.rstrip("/") + self.path,
            self.headers(self._found_key()),
            client=self.client,
            timeout_s=self.timeout_s,
        )

    def _found_key(self) -> str | None:
        if self.api_key is not None:
            return self.api_key
        for variable in self.key_variables:
            if key := os.environ.get(variable, "").strip():
                return key
        if self.key_variables:
            raise AuthError(
                f"no key for {self.name!r}: set {' or '.join(self.key_variables)} in"
                " the environment, or pass api_key="
            )
        return None

    def _billed(self, reply: Reply) -> Reply:
        tokens = reply.usage
        usage = Usage(
            tokens.input_tokens,
            tokens.output_tokens,
            tokens.cache_read_tokens,
            tokens.cache_write_tokens,
            requests=1,
            cost=None if self.price is None else self.price.cost(tokens),
        )
        return msgspec.structs.replace(reply, usage=usage.for_model(self.name))

    def _read(self, data: bytes) -> Reply:
        try:
            return self.read(data)
        except msgspec.DecodeError as error:
            raise unreadable(self.provider, data, error) from error

    async def _listen(self, answer: Answer, shown: _Shown) -> Reply:
        heard = _Heard(self.provider, self.pieces(), shown)
        with trio.CancelScope() as scope:
            await heard.all_of(answer.chunks(), scope)
        return heard.reply()

    @abstractmethod
    def body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        """Return the body of an HTTP request that asks this."""

    @abstractmethod
    def headers(self, key: str | None) -> dict[str, str]:
        """Return the headers that the provider needs beside the usual ones."""

    @abstractmethod
    def read(self, data: bytes) -> Reply:
        """Return the reply that a whole body holds.

        Raises:
            msgspec.DecodeError: It is not what this provider answers.
            ProviderError: It tells of an error.
        """

    @abstractmethod
    def pieces(self) -> Pieces:
        """Return a new, empty stream."""


class _Shown:
    """Shows text, and remembers that it did."""

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self.any = False

    def show(self, text: str) -> None:
        self.any = True
        self._on_text(text)


class _Heard:
    """What came of a stream.

    A stream is always read on until it ends or its scope does. Leaving the loop would
    abandon the generators of the HTTP client somewhere in the middle; a cancel takes
    each of them through its own clean-up.
    """

    def __init__(self, provider: str, pieces: Pieces, shown: _Shown) -> None:
        self._provider = provider
        self._pieces = pieces
        self._shown = shown
        self._events = Events()
        self._failure: Exception | None = None

    async def all_of(
        self, chunks: AsyncIterator[bytes], scope: trio.CancelScope
    ) -> None:
        """Take everything in; what goes wrong is kept for `reply` to raise."""
        try:
            async for chunk in chunks:
                self._take(chunk, scope)
        except Exception as error:  # noqa: BLE001 - `reply` raises it
            self._fail(error)

    def reply(self) -> Reply:
        """Return the whole, or raise what kept it from coming."""
        if self._failure is not None:
            raise self._failure
        if not self._pieces.ended:
            raise broken_off(self._provider)
        return self._pieces.reply()

    def _take(self, chunk: bytes, scope: trio.CancelScope) -> None:
        if self._failure is not None:
            return
        ended = self._pieces.ended
        try:
            for data in self._events.feed(chunk):
                self._show(data)
        except Exception as error:  # noqa: BLE001 - `reply` raises it
            self._fail(error)
            scope.cancel()
        if self._pieces.ended and not ended:
            scope.deadline = trio.current_time() + LINGER_S

    def _show(self, data: bytes) -> None:
        try:
            text = self._pieces.add(data)
        except msgspec.DecodeError as error:
            raise unreadable(self._provider, data, error) from error
        if text:
            self._shown.show(text)

    def _fail(self, error: Exception) -> None:
        # After its end the answer is whole: only the token counts can be missing.
        if not self._pieces.ended:
            self._failure = error
