"""Each way in which a provider or the way to it can fail."""

import json
from email.utils import formatdate
from typing import Any

import httpx2
import pytest
import trio
import trio.testing

from actors import (
    AuthError,
    ContextTooLongError,
    ProviderError,
    RateLimitError,
    Reply,
)
from actors.models import _failures
from tests.actors.models.server import (
    HELLO,
    Server,
    ask,
    chunk,
    completion,
    message,
    spoken,
    stream,
    text_block,
)

KINDS = ("openai", "anthropic")


def model_of(kind: str, server: Server) -> Any:
    return getattr(server, kind)()


def refused(status: int, error: Any, **headers: str) -> httpx2.Response:
    content = error if isinstance(error, bytes) else json.dumps(error).encode()
    return httpx2.Response(status, content=content, headers=headers)


async def failure(kind: str, *script: Any, streamed: bool = False) -> ProviderError:
    server = Server(*script)
    with pytest.raises(ProviderError) as caught:
        await ask(
            model_of(kind, server), on_text=(lambda _: None) if streamed else None
        )
    return caught.value


OVERLOADED = {"error": {"type": "overloaded_error", "message": "busy"}}
LIMITED = {"error": {"type": "rate_limit_error", "message": "slow down"}}
TOO_LONG = {"error": {"message": "prompt is too long: 9 > 8"}}
GOOGLE_TOO_LONG = [{"error": {"message": "exceeds the input token count"}}]

REFUSALS = [
    (401, {"error": {"message": "bad key"}}, AuthError, False),
    (403, {"error": {"message": "not yours"}}, AuthError, False),
    (429, LIMITED, RateLimitError, True),
    (429, {"error": {"code": "insufficient_quota"}}, ProviderError, False),
    (400, {"error": {"code": "context_length_exceeded"}}, ContextTooLongError, False),
    (400, TOO_LONG, ContextTooLongError, False),
    (400, GOOGLE_TOO_LONG, ContextTooLongError, False),
    (413, {"error": {"type": "request_too_large"}}, ContextTooLongError, False),
    (400, {"error": {"message": "no such field"}}, ProviderError, False),
    (404, {"error": "model not found"}, ProviderError, False),
    (408, {"detail": "timeout"}, ProviderError, True),
    (409, {"message": "conflict"}, ProviderError, True),
    (500, b"<html>oops</html>", ProviderError, True),
    (503, b"", ProviderError, True),
    (529, OVERLOADED, ProviderError, True),
    (302, b"elsewhere", ProviderError, False),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda r: f"{r[0]} {r[2].__name__}")
async def test_a_refusal_is_told_by_its_class(
    kind: str, streamed: bool, refusal: tuple[int, Any, type[ProviderError], bool]
) -> None:
    status, body, error, transient = refusal
    failed = await failure(kind, refused(status, body), streamed=streamed)
    assert type(failed) is error
    assert (failed.status, failed.transient) == (status, transient)
    assert str(failed).startswith(f"{kind} refused the request ({status}): ")


async def test_a_refusal_says_what_the_provider_said() -> None:
    body = {"error": {"code": "model_not_found", "message": "no model of that name"}}
    failed = await failure("openai", refused(404, body))
    assert str(failed) == (
        "openai refused the request (404): model_not_found: no model of that name"
    )
    page = await failure("openai", refused(500, b"x" * 5000))
    assert len(str(page)) < 600
    nothing = await failure("openai", refused(503, b""))
    assert "no reason given (HTTP 503)" in str(nothing)
    odd = await failure("openai", refused(500, {"why": [1]}))
    assert '{"why":[1]}' in str(odd)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "5"}, 5.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "9", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
async def test_retry_after_is_read_in_seconds(
    headers: dict[str, str], seconds: float | None
) -> None:
    failed = await failure("openai", refused(429, {}, **headers))
    assert failed.retry_after_s == seconds


@pytest.mark.parametrize(("ahead", "seconds"), [(30, 30.0), (-30, 0.0)])
async def test_retry_after_may_be_a_date(
    monkeypatch: pytest.MonkeyPatch, ahead: int, seconds: float
) -> None:
    monkeypatch.setattr(_failures.time, "time", lambda: 1_000_000.0)
    date = formatdate(1_000_000 + ahead, usegmt=True)
    failed = await failure("openai", refused(503, {}, **{"retry-after": date}))
    assert failed.retry_after_s == seconds


LOST = [
    httpx2.ConnectError("no route"),
    httpx2.ReadTimeout("too slow"),
    httpx2.RemoteProtocolError("peer closed"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", LOST, ids=lambda error: type(error).__name__)
async def test_a_lost_connection_may_be_tried_again(
    kind: str, error: Exception
) -> None:
    failed = await failure(kind, error)
    assert type(failed) is ProviderError
    assert (failed.status, failed.transient) == (None, True)
    never = isinstance(error, httpx2.ConnectError)
    what = "cannot connect to" if never else "lost the connection to"
    assert str(failed) == f"{what} {kind}: {error}"
    assert failed.__cause__ is error


def partly(kind: str, *end: Any, text: str = "Hel") -> httpx2.Response:
    """A stream that says some text and ends as told."""
    if kind == "openai":
        return stream(*([chunk({"content": text})] if text else []), *end)
    blocks = [text_block(text)] if text else []
    return stream(*spoken(blocks, stop=None), *end)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", "Hel"], ids=["nothing shown", "text shown"])
@pytest.mark.parametrize(
    "end",
    [
        (),
        (httpx2.ReadError("reset"),),
        (b"data: {bad\n\n",),
        (b'data: {"choices": 5, "type": 5}\n\n',),
        ({"type": "error", **OVERLOADED},),
        (b"data: [DO",),
    ],
    ids=["truncated", "dropped", "malformed", "mistyped", "error event", "half event"],
)
async def test_a_broken_stream_counts_for_nothing(
    kind: str, text: str, end: tuple[Any, ...]
) -> None:
    shown: list[str] = []
    model = model_of(kind, Server(partly(kind, *end, text=text)))
    with pytest.raises(ProviderError) as caught:
        await ask(model, on_text=shown.append)
    assert shown == ([text] if text else [])
    # What was shown once must not be shown again, so nobody may try again.
    assert caught.value.transient is (not text)


async def test_an_error_in_a_stream_has_its_class() -> None:
    errors = {
        "authentication_error": AuthError,
        "rate_limit_error": RateLimitError,
        "request_too_large": ContextTooLongError,
        "api_error": ProviderError,
        "something_new": ProviderError,
    }
    for name, error in errors.items():
        said = {"type": "error", "error": {"type": name, "message": "x"}}
        failed = await failure("anthropic", stream(said), streamed=True)
        assert type(failed) is error
    limited = {"error": {"code": 429, "message": "slow down"}}
    failed = await failure("openai", stream(limited), streamed=True)
    assert type(failed) is RateLimitError
    assert failed.status == 429


async def test_an_error_in_a_whole_answer_is_an_error() -> None:
    for kind in KINDS:
        failed = await failure(kind, httpx2.Response(200, json=OVERLOADED))
        assert "busy" in str(failed)
        assert failed.transient


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"choices": []}'])
async def test_an_answer_that_is_none_is_told(kind: str, body: bytes) -> None:
    failed = await failure(kind, httpx2.Response(200, content=body))
    assert str(failed).startswith(f"cannot read the answer of {kind}, ")
    assert failed.transient


async def test_a_delta_of_a_block_that_never_started_is_malformed() -> None:
    lone = {
        "type": "content_block_delta",
        "index": 3,
        "delta": {"type": "text_delta", "text": "x"},
    }
    failed = await failure("anthropic", stream(lone), streamed=True)
    assert "which never started" in str(failed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "after", [httpx2.ReadError("reset"), b"data: {bad\n\n", b""], ids=repr
)
async def test_what_breaks_after_the_finish_reason_spoils_nothing(
    kind: str, after: Any
) -> None:
    if kind == "openai":
        said = [chunk({"content": "hi"}), chunk({}, "stop")]
    else:
        said = spoken([text_block("hi")])[:-1]
    reply = await ask(model_of(kind, Server(stream(*said, after))), on_text=print)
    assert reply.text == "hi"


async def test_a_stream_that_stays_open_after_its_end_is_left(
    autojump_clock: trio.testing.MockClock,
) -> None:
    response = stream(chunk({"content": "hi"}), chunk({}, "stop"), trio.sleep_forever)
    reply = await ask(Server(response).openai(), on_text=print)
    assert reply.text == "hi"
    assert trio.current_time() == pytest.approx(5.0)
    assert response.is_closed


async def test_a_cancel_drops_the_request_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def never(_request: httpx2.Request) -> httpx2.Response:
        await trio.sleep_forever()
        raise AssertionError

    shown: list[str] = []
    hanging = stream(chunk({"content": "Hel"}), trio.sleep_forever)
    for script in (never, hanging):
        with trio.move_on_after(3) as scope:
            await ask(Server(script).openai(), on_text=shown.append)
        assert scope.cancelled_caught
    assert shown == ["Hel"]
    assert hanging.is_closed


@pytest.mark.parametrize("kind", KINDS)
async def test_an_error_of_the_listener_is_his_own(kind: str) -> None:
    def listener(_text: str) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await ask(model_of(kind, Server(partly(kind))), on_text=listener)


async def test_nobody_listens_so_nothing_is_streamed() -> None:
    for kind, answer in (("openai", completion()), ("anthropic", message())):
        server = Server(answer)
        assert isinstance(await ask(model_of(kind, server), HELLO), Reply)
        assert not server.bodies[0].get("stream")
