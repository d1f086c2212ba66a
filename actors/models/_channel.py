"""How a request reaches its provider: over a client of ours, or an official SDK.

Both give the same: an answer with a status, headers and bytes. What is said, and what
the bytes mean, is the same code for both, so an SDK brings its keys, its addresses and
its proxies, and none of its cost for each event.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from ._clients import CONNECT_S, lent_client
from ._failures import refusal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping
    from contextlib import AbstractAsyncContextManager

    import httpx2


class Answer(Protocol):
    """A response whose head has come."""

    async def read(self) -> bytes:
        """Return the whole body."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes."""
        ...


class Channel(Protocol):
    """A way to one provider."""

    def send(self, body: dict[str, Any]) -> AbstractAsyncContextManager[Answer]:
        """Post `body` and enter with the answer; leaving drops what is unread.

        Raises:
            ProviderError: The status says that the request failed.
        """
        ...


class HttpChannel:
    """Over an httpx2 client: the one given, or one that the trio run lends."""

    def __init__(
        self,
        provider: str,
        url: str,
        headers: Mapping[str, str],
        *,
        client: Any,
        timeout_s: float,
    ) -> None:
        self._provider = provider
        self._url = url
        self._headers = {"content-type": "application/json", **headers}
        self._client = client
        self._timeout_s = timeout_s

    @asynccontextmanager
    async def send(self, body: dict[str, Any]) -> AsyncGenerator[Answer, None]:
        lent = nullcontext(self._client) if self._client else lent_client(self._url)
        async with (
            lent as client,
            client.stream(
                "POST",
                _parsed(self._url),
                content=msgspec.json.encode(body),
                headers=self._headers,
                timeout=_timeout(self._timeout_s),
            ) as response,
        ):
            if response.status_code >= 300:
                await response.aread()
                raise refusal(
                    self._provider,
                    response.status_code,
                    response.content,
                    response.headers,
                )
            yield _HttpAnswer(response)


@lru_cache(maxsize=64)
def _parsed(url: str) -> httpx2.URL:
    """Take the address apart once: for each request it would be a tenth of the CPU."""
    import httpx2

    return httpx2.URL(url)


@lru_cache(maxsize=64)
def _timeout(timeout_s: float) -> httpx2.Timeout:
    import httpx2

    return httpx2.Timeout(timeout_s, connect=CONNECT_S, pool=None)


class _HttpAnswer:
    def __init__(self, response: Any) -> None:
        self._response = response

    async def read(self) -> bytes:
        body: bytes = await self._response.aread()
        return body

    def chunks(self) -> AsyncIterator[bytes]:
        chunks: AsyncIterator[bytes] = self._response.aiter_bytes()
        return chunks


class SdkChannel:
    """Over the client object of an official SDK; its own retries are switched off.

    Args:
        client: An `AsyncOpenAI`, an `AsyncAnthropic`, or a relative of theirs.
        method: The dotted name of the method that creates what is asked for.
        named: The fields of a body that this method knows by name; it puts all others
            into the body as they are.
        timeout_s: Seconds without a byte after which the request fails.
    """

    def __init__(
        self, client: Any, method: str, named: frozenset[str], timeout_s: float
    ) -> None:
        target: Any = client.with_options(max_retries=0, timeout=timeout_s)
        for name in method.split("."):
            target = getattr(target, name)
        self._create = target.with_streaming_response.create
        self._named = named

    @asynccontextmanager
    async def send(self, body: dict[str, Any]) -> AsyncGenerator[Answer, None]:
        named = {name: body[name] for name in body if name in self._named}
        rest = {name: body[name] for name in body if name not in self._named}
        async with self._create(**named, extra_body=rest) as response:
            yield _SdkAnswer(response)


class _SdkAnswer:
    def __init__(self, response: Any) -> None:
        self._response = response

    async def read(self) -> bytes:
        body: bytes = await self._response.read()
        return body

    def chunks(self) -> AsyncIterator[bytes]:
        chunks: AsyncIterator[bytes] = self._response.iter_bytes()
        return chunks


def is_http_client(client: object) -> bool:
    """Whether it is an `httpx2.AsyncClient`, without loading httpx2 to find out."""
    return _is_a(client, "httpx2", "AsyncClient")


def is_sdk_client(client: object, package: str) -> bool:
    """Whether it is an asynchronous client of the official SDK `package`."""
    return _is_a(client, package, "AsyncAPIClient")


def _is_a(value: object, package: str, name: str) -> bool:
    return any(
        base.__name__ == name and base.__module__.partition(".")[0] == package
        for base in type(value).__mro__
    )
