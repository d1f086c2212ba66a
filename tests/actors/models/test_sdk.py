"""The official SDKs: their client objects, and the same call through them and us."""

import json
from importlib import import_module
from typing import Any

import httpx2
import pytest
import trio

from actors import (
    Anthropic,
    AuthError,
    Image,
    Message,
    OpenAICompatible,
    ProviderError,
    RateLimitError,
    Reply,
    Request,
    TextBlock,
    ToolCall,
    ToolResultBlock,
    ToolSpec,
)
from actors.models import as_model
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
    tokens,
)

pytestmark = pytest.mark.slow  # importing them takes seconds

READ = ToolSpec(
    name="read",
    description="Read a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)
TALK = Request(
    system="be brief",
    messages=(
        Message.user("look", Image(b"\x89PNG\r\n\x1a\n" + b"0" * 8)),
        Message(
            role="assistant",
            content=[
                TextBlock(text="reading"),
                ToolCall(id="a", name="read", args={"path": "ä", "n": 10**20}),
            ],
        ),
        Message.tool_message([ToolResultBlock(call_id="a", output={"lines": [1, 2]})]),
        Message.notice("hurry"),
    ),
    tools=(READ,),
    tool_choice="auto",
)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.fixture(params=["openai", "anthropic"])
def kind(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(request.param)
    return str(request.param)


def sdk_client(kind: str, server: Server, **more: Any) -> Any:
    package = import_module(kind)
    client = {"openai": "AsyncOpenAI", "anthropic": "AsyncAnthropic"}[kind]
    return getattr(package, client)(api_key="k", http_client=server.client, **more)


def ours(kind: str, server: Server, **more: Any) -> Any:
    return getattr(server, kind)("m", **more)


def whole(kind: str) -> httpx2.Response:
    if kind == "openai":
        function = {"name": "read", "arguments": '{"path": "x"}'}
        call = {"id": "c", "type": "function", "function": function}
        said = {"role": "assistant", "content": "so", "tool_calls": [call]}
        return completion(said, finish="tool_calls", usage=tokens(9, 3, cached=4))
    return message(
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "c", "name": "read", "input": {"path": "x"}},
        stop="tool_use",
        cache_read_input_tokens=4,
    )


def streamed(kind: str) -> httpx2.Response:
    if kind == "openai":
        function = {"name": "read", "arguments": '{"path": "x"}'}
        piece = {"index": 0, "id": "c", "type": "function", "function": function}
        return stream(
            chunk({"content": "so"}),
            chunk({"tool_calls": [piece]}),
            chunk({}, "tool_calls"),
            {"choices": [], "usage": tokens(9, 3, cached=4)},
            "[DONE]",
        )
    call = {"type": "tool_use", "id": "c", "name": "read", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": '{"path": "x"}'}]
    return stream(
        *spoken(
            [text_block("so"), (call, deltas)],
            stop="tool_use",
            cache_read_input_tokens=4,
        )
    )


@pytest.mark.parametrize("listening", [False, True], ids=["whole", "streamed"])
async def test_a_client_of_the_sdk_gives_the_same_request_and_reply(
    kind: str, listening: bool
) -> None:
    shown: tuple[list[str], list[str]] = ([], [])
    replies: list[Reply] = []
    servers: list[Server] = []
    for index, through in enumerate(("us", "the sdk")):
        server = Server(streamed(kind) if listening else whole(kind))
        client = None if through == "us" else sdk_client(kind, server)
        more = {} if client is None else {"client": client, "api_key": None}
        model = ours(kind, server, params={"seed_of_ours": 7}, **more)
        on_text = shown[index].append if listening else None
        replies.append(await ask(model, TALK, on_text))
        servers.append(server)
    assert replies[0] == replies[1]
    assert replies[0].tool_calls[0].args == {"path": "x"}
    assert shown[0] == shown[1]
    first, second = (server.requests[0] for server in servers)
    assert json.loads(first.content) == json.loads(second.content)
    assert first.url == second.url
    for header in ("authorization", "anthropic-version", "content-type"):
        assert first.headers.get(header) == second.headers.get(header)


def openai_call(reply: Any) -> tuple[Any, ...]:
    said, used = reply.choices[0].message, reply.usage
    calls = [
        (call.id, call.function.name, json.loads(call.function.arguments))
        for call in said.tool_calls
    ]
    cached = used.prompt_tokens_details.cached_tokens
    counts = used.prompt_tokens - cached, used.completion_tokens, cached
    return said.content, calls, reply.choices[0].finish_reason, counts


def anthropic_call(reply: Any) -> tuple[Any, ...]:
    text = "".join(block.text for block in reply.content if block.type == "text")
    calls = [(b.id, b.name, b.input) for b in reply.content if b.type == "tool_use"]
    used = reply.usage
    counts = used.input_tokens, used.output_tokens, used.cache_read_input_tokens
    return text, calls, reply.stop_reason, counts


def our_call(reply: Reply) -> tuple[Any, ...]:
    calls = [(call.id, call.name, dict(call.args)) for call in reply.tool_calls]
    used = reply.usage
    counts = used.input_tokens, used.output_tokens, used.cache_read_tokens
    return reply.text, calls, reply.stop_reason, counts


async def test_the_sdk_itself_sends_and_reads_the_same(kind: str) -> None:
    mine, theirs = Server(whole(kind)), Server(whole(kind))
    request = Request(system=TALK.system, messages=TALK.messages, tools=TALK.tools)
    model = ours(kind, mine)
    reply = await ask(model, request)
    client = sdk_client(kind, theirs)
    body = json.loads(mine.requests[0].content)
    if kind == "openai":
        other = openai_call(await client.chat.completions.create(**body))
    else:
        other = anthropic_call(await client.messages.create(**body))
    assert our_call(reply) == other
    assert mine.bodies == theirs.bodies


# The openai SDK leaves its own generators to the garbage collector after `[DONE]`.
@pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")
async def test_the_streams_of_the_sdk_read_the_same(kind: str) -> None:
    mine, theirs = Server(streamed(kind)), Server(streamed(kind))
    reply = await ask(ours(kind, mine), TALK, lambda _text: None)
    client = sdk_client(kind, theirs)
    body = json.loads(mine.requests[0].content)
    if kind == "openai":
        said = [piece async for piece in await client.chat.completions.create(**body)]
        text = "".join(p.choices[0].delta.content or "" for p in said if p.choices)
        assert (reply.text, reply.usage.output_tokens) == (
            text,
            said[-1].usage.completion_tokens,
        )
    else:
        del body["stream"]
        async with client.messages.stream(**body) as events:
            assert our_call(reply) == anthropic_call(await events.get_final_message())
    assert mine.bodies == theirs.bodies


async def test_a_schema_is_sent_as_the_sdk_sends_it(kind: str) -> None:
    mine, theirs = Server(whole(kind)), Server(whole(kind))
    request = Request(messages=HELLO.messages, output_schema=SCHEMA)
    await ask(ours(kind, mine), request)
    body = mine.bodies[0]
    client = sdk_client(kind, theirs)
    if kind == "openai":
        await client.chat.completions.create(**body)
    else:
        await client.messages.create(**body)
    assert mine.bodies == theirs.bodies


@pytest.mark.parametrize(
    ("status", "error"), [(401, AuthError), (429, RateLimitError), (500, ProviderError)]
)
async def test_errors_of_the_sdk_are_ours_and_it_never_tries_again_itself(
    kind: str, status: int, error: type[ProviderError]
) -> None:
    body = {"error": {"type": "x", "message": "no"}}
    refusal = httpx2.Response(status, json=body, headers={"retry-after": "3"})
    server = Server(refusal)
    model = ours(kind, server, client=sdk_client(kind, server))
    with pytest.raises(error) as caught:
        await ask(model)
    assert type(caught.value) is error
    assert caught.value.status == status
    assert caught.value.retry_after_s == (None if status == 401 else 3.0)
    assert len(server.requests) == 1


async def test_a_connection_that_breaks_under_the_sdk_is_told_as_ours(
    kind: str,
) -> None:
    begin = stream(
        *(spoken([text_block("Hel")], stop=None) if kind == "anthropic" else ()),
        *([chunk({"content": "Hel"})] if kind == "openai" else ()),
        httpx2.RemoteProtocolError("peer closed"),
    )
    never = httpx2.ConnectError("no route")
    for script, what in ((never, "cannot connect to"), (begin, "lost the connection")):
        server = Server(script)
        model = ours(kind, server, client=sdk_client(kind, server))
        with pytest.raises(ProviderError, match=f"{what}.* {kind}"):
            await ask(model, on_text=lambda _text: None)


async def test_a_cancel_goes_through_the_sdk(kind: str) -> None:
    async def never(_request: httpx2.Request) -> httpx2.Response:
        await trio.sleep_forever()
        raise AssertionError

    server = Server(never)
    model = ours(kind, server, client=sdk_client(kind, server))
    with trio.move_on_after(0.05) as scope:
        await ask(model)
    assert scope.cancelled_caught


def test_the_class_of_the_client_decides_what_fits(kind: str) -> None:
    client = sdk_client(kind, Server(whole(kind)))
    right, wrong = {
        "openai": (OpenAICompatible, Anthropic),
        "anthropic": (Anthropic, OpenAICompatible),
    }[kind]
    assert type(as_model("some-model", client=client)) is right
    with pytest.raises(TypeError, match="asynchronous client of the official"):
        wrong("m", client=client)
    plain = getattr(import_module(kind), {"openai": "OpenAI"}.get(kind, "Anthropic"))
    with pytest.raises(TypeError, match="asynchronous client of the official"):
        right("m", client=plain(api_key="k"))
