"""Real sockets, and a server that is not ours and judges its clients: `llmock`."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
import trio

from actors import (
    Anthropic,
    AuthError,
    ContextTooLongError,
    Message,
    ModelEvent,
    OpenAICompatible,
    ProviderError,
    RateLimitError,
    Reply,
    Request,
    ToolResultBlock,
    ToolSpec,
)
from actors._gate import respond
from actors.models import close_clients, hold_clients

pytestmark = pytest.mark.slow  # a server of its own, real sockets, real time

SERVE = """
import threading
from llmock.testing import LLMockServer
with LLMockServer() as server:
    print(server.url, flush=True)
    threading.Event().wait()
"""
HELLO = Request(messages=(Message.user("hello"),))
READ = ToolSpec(
    name="read",
    description="Read a file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
)
USE = Request(messages=(Message.user("read the file"),), tools=(READ,))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server in a process of its own."""
    pytest.importorskip("llmock")
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.kill()


class Mock:
    """What a test says to the server, and asks it."""

    def __init__(self, url: str, kind: str, client: httpx2.AsyncClient) -> None:
        self.url = url
        self.kind = kind
        self._client = client

    def model(self, **settings: Any) -> OpenAICompatible | Anthropic:
        if self.kind == "openai":
            address = f"{self.url}/v1"
            return OpenAICompatible("m", base_url=address, api_key="k", **settings)
        address = f"{self.url}/anthropic"
        return Anthropic("m", base_url=address, api_key="k", **settings)

    async def script(self, *behaviors: dict[str, Any]) -> None:
        answer = await self._client.post(
            f"{self.url}/_llmock/scenario", json={"behaviors": behaviors}
        )
        assert answer.status_code == 201, answer.text

    async def findings(self) -> list[str]:
        """What the server holds against its client."""
        verdict = (await self._client.get(f"{self.url}/_llmock/verdict")).json()
        return [finding["code"] for finding in verdict["findings"]]

    async def attempts(self) -> int:
        verdict = (await self._client.get(f"{self.url}/_llmock/verdict")).json()
        return int(verdict["attempts"])


@pytest.fixture(params=["openai", "anthropic"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def mock(url: str, kind: str) -> AsyncIterator[Mock]:
    async with httpx2.AsyncClient() as client:
        await client.post(f"{url}/_llmock/reset")
        hold_clients()
        try:
            with trio.fail_after(20):
                yield Mock(url, kind, client)
        finally:
            await close_clients()


async def ask(
    model: Any,
    request: Request = HELLO,
    shown: list[str] | None = None,
    events: list[ModelEvent] | None = None,
) -> Reply:
    told = [] if events is None else events
    on_text = None if shown is None else shown.append
    return await respond(model, request, on_text, told.append)


async def test_it_answers_whole_and_streamed_alike(url: str, kind: str) -> None:
    async with mock(url, kind) as server:
        shown: list[str] = []
        whole = await ask(server.model())
        streamed = await ask(server.model(), shown=shown)
        assert whole.text == streamed.text == "".join(shown)
        assert len(shown) > 1
        assert whole.stop_reason == streamed.stop_reason
        assert whole.usage.output_tokens == streamed.usage.output_tokens > 0
        assert await server.findings() == []


@pytest.mark.parametrize("listening", [False, True], ids=["whole", "streamed"])
async def test_a_scripted_call_comes_through_and_its_result_goes_back(
    url: str, kind: str, listening: bool
) -> None:
    call = {"name": "read", "arguments": {"path": "ä.txt"}}
    async with mock(url, kind) as server:
        await server.script({"type": "reply", "tool_calls": [call]})
        model = server.model()
        shown: list[str] | None = [] if listening else None
        reply = await ask(model, USE, shown)
        (asked,) = reply.tool_calls
        assert (asked.name, asked.args) == ("read", {"path": "ä.txt"})
        result = Message.tool_message([result_of(asked.id)])
        messages = (*USE.messages, reply.message, result)
        end = await ask(model, Request(messages=messages, tools=(READ,)), shown)
        assert end.text
        assert end.tool_calls == ()
        assert await server.findings() == []


def result_of(call_id: str) -> ToolResultBlock:
    return ToolResultBlock(call_id=call_id, name="read", output="contents")


@pytest.mark.parametrize("listening", [False, True], ids=["whole", "streamed"])
async def test_a_call_with_broken_arguments_is_left_to_the_model(
    url: str, kind: str, listening: bool
) -> None:
    async with mock(url, kind) as server:
        await server.script({"type": "tool_fault", "kind": "malformed_arguments"})
        reply = await ask(server.model(), USE, [] if listening else None)
        (asked,) = reply.tool_calls
        assert asked.name == "read"
        assert "path" not in asked.args


@pytest.mark.parametrize("listening", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    "fault",
    [
        {"type": "fail", "status": 429, "retry_after": 0.4, "times": 2},
        {"type": "fail", "status": 429, "times": 2},
        {"type": "fail", "status": 529, "times": 1},
        {"type": "fail", "status": 500, "times": 1},
        {"type": "fail", "status": 503, "times": 1},
        {"type": "fail", "status": 408, "times": 1},
    ],
    ids=lambda fault: f"{fault['status']} x {fault['times']}",
)
async def test_what_may_pass_is_ridden_out(
    url: str, kind: str, fault: dict[str, Any], listening: bool
) -> None:
    events: list[ModelEvent] = []
    shown: list[str] = []
    async with mock(url, kind) as server:
        await server.script(fault)
        reply = await ask(
            server.model(), shown=shown if listening else None, events=events
        )
        assert reply.text
        assert [event.kind for event in events] == ["retry"] * fault["times"]
        assert await server.attempts() == 1 + fault["times"]
        assert await server.findings() == []
        assert not listening or "".join(shown) == reply.text


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, ProviderError), (401, AuthError), (403, AuthError), (404, ProviderError)],
)
async def test_what_cannot_pass_is_not_tried_again(
    url: str, kind: str, status: int, error: type[ProviderError]
) -> None:
    async with mock(url, kind) as server:
        await server.script({"type": "fail", "status": status})
        with pytest.raises(error) as caught:
            await ask(server.model())
        assert type(caught.value) is error
        assert caught.value.status == status
        assert await server.findings() == []


async def test_a_prompt_that_does_not_fit_is_told(url: str, kind: str) -> None:
    told = {
        "openai": {"code": "context_length_exceeded", "message": "too many tokens"},
        "anthropic": {"message": "prompt is too long: 9 tokens > 8 maximum"},
    }[kind]
    async with mock(url, kind) as server:
        await server.script({"type": "fail", "status": 400, **told})
        with pytest.raises(ContextTooLongError):
            await ask(server.model())


@pytest.mark.parametrize("fault", ["disconnect", "truncate", "malformed"])
async def test_a_stream_that_breaks_after_text_is_a_failure_and_not_tried_again(
    url: str, kind: str, fault: str
) -> None:
    shown: list[str] = []
    async with mock(url, kind) as server:
        await server.script(
            {"type": "reply", "text": "one two three four five six"},
            {"type": "stream_fault", "kind": fault, "after_chunks": 5},
        )
        with pytest.raises(ProviderError) as caught:
            await ask(server.model(), shown=shown)
        assert shown
        assert not caught.value.transient
        assert await server.attempts() == 1
        # The server takes it amiss that nobody asks again: it cannot see the exception.


@pytest.mark.parametrize("fault", ["disconnect", "truncate", "malformed"])
async def test_a_stream_that_breaks_before_any_text_is_tried_again(
    url: str, kind: str, fault: str
) -> None:
    shown: list[str] = []
    async with mock(url, kind) as server:
        await server.script({"type": "stream_fault", "kind": fault, "after_chunks": 0})
        reply = await ask(server.model(), shown=shown)
        assert "".join(shown) == reply.text
        assert await server.attempts() == 2
        assert await server.findings() == []


async def test_a_stream_that_stalls_is_given_up(url: str, kind: str) -> None:
    stall = {"type": "stream_fault", "kind": "stall", "stall_seconds": 30}
    async with mock(url, kind) as server:
        await server.script({**stall, "after_chunks": 5})
        with pytest.raises(ProviderError, match="lost the connection"):
            await ask(server.model(timeout_s=0.4), shown=[])
        assert await server.findings() in ([], ["gave_up"])


async def test_a_slow_provider_is_waited_for(url: str, kind: str) -> None:
    async with mock(url, kind) as server:
        await server.script(
            {"type": "slow_first_token", "seconds": 0.4},
            {"type": "delay", "seconds": 0.4},
        )
        assert (await ask(server.model(timeout_s=5.0), shown=[])).text
        assert await server.findings() == []


async def test_a_cancel_drops_the_connection_at_once(url: str, kind: str) -> None:
    async with mock(url, kind) as server:
        await server.script({"type": "delay", "seconds": 10})
        with trio.move_on_after(0.3) as scope:
            await ask(server.model())
        assert scope.cancelled_caught
        assert trio.current_time() - scope.deadline < 0.3


async def test_a_fleet_behind_one_key_rides_out_refusals(url: str, kind: str) -> None:
    replies: list[Reply] = []
    async with mock(url, kind) as server:
        await server.script(
            {"type": "fail", "status": 429, "retry_after": 0.5, "times": 5}
        )
        model = server.model()

        async def one(number: int) -> None:
            request = Request(messages=(Message.user(f"task {number}"),))
            replies.append(await ask(model, request))

        async with trio.open_nursery() as nursery:
            for number in range(40):
                nursery.start_soon(one, number)
        assert len(replies) == 40
        assert await server.findings() == []


async def test_no_tries_means_the_error_comes_at_once(url: str, kind: str) -> None:
    async with mock(url, kind) as server:
        await server.script({"type": "fail", "status": 429, "retry_after": 30})
        with pytest.raises(RateLimitError) as caught:
            await ask(server.model(retries=0))
        assert caught.value.retry_after_s == pytest.approx(30, abs=1)
