"""A second server that is not ours, in another language: `aimock`, if npm is there."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from actors import (
    Anthropic,
    Message,
    OpenAICompatible,
    ProviderError,
    RateLimitError,
    Reply,
    Request,
    ToolResultBlock,
    ToolSpec,
)
from actors.models import close_clients, hold_clients

pytestmark = pytest.mark.slow  # npm fetches it, real sockets, real time

PACKAGE = "@copilotkit/aimock@1.43.0"
START_S = 60
READ = ToolSpec(name="read", description="Read a file.")
LONG = "one two three four five six seven eight nine ten eleven twelve thirteen"


def said(text: str, response: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"match": {"userMessage": text}, "response": response, **more}


CALL = {"type": "toolCall", "name": "read", "arguments": {"path": "ä"}}
LIMITED = {"message": "slow down", "type": "rate_limit_error"}
FIXTURES = [
    said("hello", {"content": LONG}),
    said("think", {"content": "yes", "reasoning": "let me see"}),
    {
        "match": {"userMessage": "use", "hasToolResult": True},
        "response": {"content": "done"},
    },
    said("use", {"blocks": [CALL, {"type": "text", "text": "I look."}]}),
    said("limit", {"error": LIMITED, "status": 429}),
    said("cut", {"content": LONG}, truncateAfterChunks=4),
    said("drop", {"content": LONG}, chaos={"disconnectRate": 1}),
    said("garble", {"content": LONG}, chaos={"malformedRate": 1}),
    said("fail", {"content": LONG}, chaos={"dropRate": 1}),
]


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    """Whether the server is up before it ended or the time is over."""
    end = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < end:
        try:
            httpx2.get(f"{url}/health", timeout=1.0)
        except httpx2.TransportError:
            time.sleep(0.1)
        else:
            return True
    return False


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("npm is not there")
    folder: Path = tmp_path_factory.mktemp("aimock")
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": FIXTURES}))
    port = free_port()
    program = ["llmock", "-p", str(port), "-f", str(folder / "fixtures.json")]
    with subprocess.Popen(
        [npx, "--yes", "-p", PACKAGE, *program, "-c", "8", "--log-level", "warn"],
        cwd=folder,
        start_new_session=True,  # npx starts children, which end with the group
        stdin=subprocess.DEVNULL,
    ) as server:
        try:
            if not answers(f"http://127.0.0.1:{port}", server):
                pytest.skip("npm cannot start it here")
            yield f"http://127.0.0.1:{port}"
        finally:
            subprocess.run(["kill", "--", f"-{server.pid}"], check=False)


@pytest.fixture(params=["openai", "anthropic"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def model_at(url: str, kind: str) -> AsyncIterator[OpenAICompatible | Anthropic]:
    hold_clients()
    try:
        with trio.fail_after(20):
            if kind == "openai":
                yield OpenAICompatible("m", base_url=f"{url}/v1", api_key="k")
            else:
                yield Anthropic("claude-opus-5", base_url=url, api_key="k")
    finally:
        await close_clients()


async def ask(
    model: Any, *messages: Message | str, shown: list[str] | None = None
) -> Reply:
    talk = tuple(Message.user(m) if isinstance(m, str) else m for m in messages)
    tools = (READ,) if "use" in talk[0].text() else ()
    on_text = None if shown is None else shown.append
    reply = await model.arespond(
        Request(messages=talk, tools=tools), on_text, lambda _event: None
    )
    assert isinstance(reply, Reply)
    return reply


async def test_it_answers_whole_and_streamed_alike(url: str, kind: str) -> None:
    async with model_at(url, kind) as model:
        shown: list[str] = []
        whole = await ask(model, "hello")
        streamed = await ask(model, "hello", shown=shown)
        assert whole.text == streamed.text == "".join(shown) == LONG
        assert len(shown) > 3
        assert whole.usage == streamed.usage
        assert whole.stop_reason == streamed.stop_reason


@pytest.mark.parametrize("listening", [False, True], ids=["whole", "streamed"])
async def test_reasoning_is_kept_and_can_be_sent_back(
    url: str, kind: str, listening: bool
) -> None:
    async with model_at(url, kind) as model:
        shown: list[str] | None = [] if listening else None
        reply = await ask(model, "think", shown=shown)
        assert (reply.text, reply.message.reasoning) == ("yes", "let me see")
        assert not shown or shown == ["yes"]
        again = await ask(model, "think", reply.message, "hello", shown=shown)
        assert again.text == LONG


@pytest.mark.parametrize("listening", [False, True], ids=["whole", "streamed"])
async def test_a_call_comes_through_and_its_result_goes_back(
    url: str, kind: str, listening: bool
) -> None:
    async with model_at(url, kind) as model:
        shown: list[str] | None = [] if listening else None
        reply = await ask(model, "use", shown=shown)
        (call,) = reply.tool_calls
        assert (call.name, call.args, reply.text) == ("read", {"path": "ä"}, "I look.")
        result = Message.tool_message([ToolResultBlock(call_id=call.id, output="x")])
        end = await ask(model, "use", reply.message, result, shown=shown)
        assert end.text == "done"


async def test_a_refusal_has_its_class(url: str, kind: str) -> None:
    async with model_at(url, kind) as model:
        with pytest.raises(RateLimitError, match="slow down"):
            await ask(model, "limit")


@pytest.mark.parametrize("listening", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("fault", ["drop", "garble", "fail"])
async def test_chaos_is_a_failure_that_may_pass(
    url: str, kind: str, fault: str, listening: bool
) -> None:
    async with model_at(url, kind) as model:
        shown: list[str] | None = [] if listening else None
        with pytest.raises(ProviderError) as caught:
            await ask(model, fault, shown=shown)
        assert caught.value.transient is not bool(shown)


async def test_a_stream_that_ends_early_is_a_failure(url: str, kind: str) -> None:
    async with model_at(url, kind) as model:
        shown: list[str] = []
        with pytest.raises(ProviderError) as caught:
            await ask(model, "cut", shown=shown)
        assert caught.value.transient is not bool(shown)
