"""Chat completions: what is sent, and what is read."""

from typing import Any

import pytest

from actors import (
    Image,
    ImageBlock,
    MediaRef,
    Message,
    OpenAICompatible,
    RawBlock,
    ReasoningBlock,
    Request,
    TextBlock,
    ToolCall,
    ToolResultBlock,
    ToolSpec,
    Usage,
)
from protocol import AudioBlock, DocumentBlock, VideoBlock
from tests.actors.models.server import Server, ask, chunk, completion, stream, tokens

PNG = Image(b"\x89PNG\r\n\x1a\n" + b"0" * 8)
PNG_URL = f"data:image/png;base64,{PNG.media.data_base64}"

READ = ToolSpec(
    name="read",
    description="Read a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)


async def sent(*messages: Message, provider: str = "openai", **more: Any) -> Any:
    server = Server(completion())
    model = server.openai(provider=provider)
    await ask(model, Request(messages=messages, **more))
    return server.bodies[0]


async def sent_messages(*messages: Message, provider: str = "openai") -> Any:
    return (await sent(*messages, provider=provider))["messages"]


async def test_a_request_is_posted_with_its_key_to_the_address() -> None:
    server = Server(completion())
    model = server.openai("m", base_url="http://host:1/v1/", params={"temperature": 0})
    await ask(model, Request(system="be brief", messages=(Message.user("hello"),)))
    request = server.requests[0]
    assert (request.method, str(request.url)) == (
        "POST",
        "http://host:1/v1/chat/completions",
    )
    assert request.headers["authorization"] == "Bearer k"
    assert request.headers["content-type"] == "application/json"
    assert server.bodies[0] == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hello"},
        ],
        "temperature": 0,
    }


async def test_a_key_of_the_environment_is_looked_up_for_each_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server(completion())
    model = server.openai("m", api_key=None)
    for key in ("first", "second"):
        monkeypatch.setenv("OPENAI_API_KEY", f" {key}\n")
        await ask(model)
        assert server.requests[-1].headers["authorization"] == f"Bearer {key}"


async def test_a_server_of_your_own_is_asked_without_a_key() -> None:
    server = Server(completion())
    await ask(server.openai(base_url="http://localhost:8000/v1", api_key=None))
    assert "authorization" not in server.requests[0].headers


async def test_tools_and_the_choice_among_them_are_sent() -> None:
    body = await sent(Message.user("x"), tools=(READ,), tool_choice="read")
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "read",
                "description": "Read a file.",
                "parameters": READ.parameters,
            },
        }
    ]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "read"}}
    for choice in ("auto", "none", "required"):
        body = await sent(Message.user("x"), tools=(READ,), tool_choice=choice)
        assert body["tool_choice"] == choice


async def test_a_schema_for_the_answer_is_sent() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    body = await sent(Message.user("x"), output_schema=schema)
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema},
    }


async def test_calls_and_their_results_go_back_paired() -> None:
    messages = await sent_messages(
        Message.user("go"),
        Message(
            role="assistant",
            content=[
                TextBlock(text="reading"),
                ToolCall(id="a", name="read", args={"path": "x"}),
                ToolCall(id="b", name="read", args={}),
            ],
        ),
        Message.tool_message(
            [
                ToolResultBlock(call_id="b", output={"n": 1}),
                ToolResultBlock(call_id="a", output="text"),
            ]
        ),
    )
    assert messages[1:] == [
        {
            "role": "assistant",
            "content": "reading",
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path":"x"}'},
                },
                {
                    "id": "b",
                    "type": "function",
                    "function": {"name": "read", "arguments": "{}"},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "text"},
        {"role": "tool", "tool_call_id": "b", "content": '{"n": 1}'},
    ]


async def test_an_image_in_a_result_follows_as_user_content() -> None:
    messages = await sent_messages(
        Message(role="assistant", content=[ToolCall(id="a", name="shot")]),
        Message.tool_message([ToolResultBlock(call_id="a", output=(PNG,))]),
        Message.user("well?"),
    )
    assert messages[0]["content"] is None
    assert messages[1] == {
        "role": "tool",
        "tool_call_id": "a",
        "content": "(see below)",
    }
    assert messages[2]["content"] == [
        {"type": "text", "text": "From the result of a:"},
        {"type": "image_url", "image_url": {"url": PNG_URL}},
    ]
    assert messages[3] == {"role": "user", "content": "well?"}


async def test_media_are_sent_as_what_they_are_or_told_in_words() -> None:
    wav = MediaRef(kind="data", data_base64="AA==", mime_type="audio/wav")
    pdf = MediaRef(kind="data", data_base64="AA==", filename="a.pdf")
    blocks = [
        TextBlock(text="look"),
        PNG,
        AudioBlock(media=wav),
        DocumentBlock(media=pdf),
        DocumentBlock(media=MediaRef(kind="file_id", file_id="f")),
        DocumentBlock(media=MediaRef(url="https://d.pdf")),
        ImageBlock(media=MediaRef(kind="file_id", file_id="f")),
        VideoBlock(media=MediaRef(url="https://x/v.mp4")),
        TextBlock(text=""),
    ]
    (message,) = await sent_messages(Message(role="user", content=blocks))
    assert message["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": PNG_URL}},
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
        {
            "type": "file",
            "file": {
                "filename": "a.pdf",
                "file_data": "data:application/pdf;base64,AA==",
            },
        },
        {"type": "file", "file": {"file_id": "f"}},
        {
            "type": "text",
            "text": "[document https://d.pdf that cannot be shown here]",
        },
        {"type": "text", "text": "[image that cannot be shown here]"},
        {"type": "text", "text": "[video https://x/v.mp4 that cannot be shown here]"},
    ]


async def test_texts_of_neighbours_are_joined_and_notices_are_user_text() -> None:
    messages = await sent_messages(Message.user("a"), Message.notice("late"))
    assert messages == [{"role": "user", "content": "a\n\n[notice] late"}]


async def test_reasoning_goes_back_to_its_provider_and_to_no_other() -> None:
    details = {"provider": "local", "reasoning_content": "hm"}
    thought = Message(
        role="assistant",
        content=[
            ReasoningBlock(summary="hm", details=details),
            RawBlock(provider="anthropic", data={"type": "server_tool_use"}),
            TextBlock(text="yes"),
        ],
    )
    said = {"role": "assistant", "content": "yes"}
    back = await sent_messages(thought, provider="local")
    assert back == [{**said, "reasoning_content": "hm"}]
    assert await sent_messages(thought) == [said]


async def test_what_comes_with_a_call_goes_back_with_it() -> None:
    signature = {"google": {"thought_signature": "s"}}
    call = {
        "id": "a",
        "type": "function",
        "function": {"name": "read", "arguments": "{}"},
        "extra_content": signature,
    }
    server = Server(completion({"tool_calls": [call]}, finish="tool_calls"))
    model = server.openai(provider="google")
    reply = await ask(model)
    await ask(model, Request(messages=(Message.user("x"), reply.message)))
    assert server.bodies[1]["messages"][1]["tool_calls"] == [call]


async def test_an_id_that_providers_refuse_is_replaced_in_call_and_result() -> None:
    long = "x" * 41
    messages = await sent_messages(
        Message(role="assistant", content=[ToolCall(id=long, name="read")]),
        Message.tool_message([ToolResultBlock(call_id=long, output="ok")]),
    )
    replaced = messages[0]["tool_calls"][0]["id"]
    assert len(replaced) <= 40
    assert messages[1]["tool_call_id"] == replaced


async def test_a_count_below_0_is_one_that_is_not_known() -> None:
    server = Server(completion(text="hi", usage=tokens(-1, -1, cached=-1)))
    reply = await ask(server.openai())
    assert reply.text == "hi"
    assert (reply.usage.total_tokens, reply.usage.requests) == (0, 1)
    assert reply.context_tokens == 0


async def test_a_whole_answer_is_read() -> None:
    usage = tokens(100, 20, cached=80)
    usage["completion_tokens_details"] = {"reasoning_tokens": 5}
    server = Server(completion(text="hi there", usage=usage))
    reply = await ask(server.openai("gpt-4o-mini"))
    assert "stream" not in server.bodies[0]
    assert reply.text == "hi there"
    assert reply.model == "openai/gpt-4o-mini"
    assert reply.stop_reason == "stop"
    assert reply.context_tokens == 120
    assert reply.usage == Usage(20, 20, 80, 0, 1, (20 * 0.15 + 20 * 0.6 + 6) / 1e6)
    assert [*reply.usage.by_model] == ["openai/gpt-4o-mini"]
    assert reply.message.usages.reasoning_tokens == 5


async def test_the_cost_of_a_model_without_known_price_is_unknown() -> None:
    reply = await ask(Server(completion()).openai("brand-new"))
    assert reply.usage.cost is None


async def test_a_stream_is_shown_as_it_comes_and_read_whole() -> None:
    server = Server(
        stream(
            chunk({"role": "assistant", "content": ""}),
            chunk({"content": "Hel"}),
            chunk({"content": "lo"}),
            chunk({}, "stop"),
            {"choices": [], "usage": tokens(7, 2)},
            "[DONE]",
        )
    )
    shown: list[str] = []
    reply = await ask(server.openai(), on_text=shown.append)
    body = server.bodies[0]
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert shown == ["Hel", "lo"]
    assert reply.text == "Hello"
    assert reply.usage.input_tokens == 7
    assert reply.context_tokens == 9


def call_piece(
    index: int | None, arguments: str, name: str | None = None, call_id: str = ""
) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    piece: dict[str, Any] = {"function": function}
    if index is not None:
        piece["index"] = index
    if call_id:
        piece["id"] = call_id
    return chunk({"tool_calls": [piece]})


@pytest.mark.parametrize(
    "pieces",
    [
        [
            call_piece(0, "", "read", "a"),
            call_piece(0, '{"p":'),
            call_piece(0, "1}"),
            call_piece(1, "{}", "write", "b"),
        ],
        [call_piece(0, '{"p":1}', "read", "a"), call_piece(0, "{}", "write", "b")],
        [
            call_piece(None, '{"p":', "read", "a"),
            call_piece(None, "1}"),
            call_piece(None, "{}", "write", "b"),
        ],
        [
            call_piece(0, "", "read", "a"),
            call_piece(1, "", "write", "b"),
            call_piece(0, '{"p":1}'),
            call_piece(1, ""),
        ],
        [
            call_piece(0, '{"p":1}', "read", "a"),
            chunk({"tool_calls": [{"index": 1, "id": "b"}]}),
            call_piece(1, "{}", "write"),
        ],
    ],
    ids=["in pieces", "all of index 0", "without index", "interleaved", "id alone"],
)
async def test_streamed_calls_are_put_together(pieces: list[Any]) -> None:
    server = Server(stream(*pieces, chunk({}, "tool_calls"), "[DONE]"))
    shown: list[str] = []
    reply = await ask(server.openai(), on_text=shown.append)
    calls = [(call.id, call.name, call.args) for call in reply.tool_calls]
    assert calls == [("a", "read", {"p": 1}), ("b", "write", {})]
    assert shown == []


@pytest.mark.parametrize("written", ['{"p": ', "[1]", "null", "p=1", '{"p": 1e999}'])
async def test_arguments_that_are_no_object_are_left_to_the_model(written: str) -> None:
    function = {"name": "read", "arguments": written}
    said = {"tool_calls": [{"id": "a", "function": function}]}
    reply = await ask(Server(completion(said)).openai())
    assert reply.tool_calls[0].args == {"arguments that are no JSON object": written}


@pytest.mark.parametrize("given", ["", None, " ", {}], ids=repr)
async def test_no_arguments_are_an_empty_object(given: Any) -> None:
    said = {
        "tool_calls": [{"id": "a", "function": {"name": "read", "arguments": given}}]
    }
    reply = await ask(Server(completion(said)).openai())
    assert reply.tool_calls[0].args == {}


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_is_kept_and_sent_back_under_its_own_name(field: str) -> None:
    server = Server(
        stream(
            chunk({field: "let me "}),
            chunk({field: "see"}),
            chunk({"content": "yes"}),
            chunk({}, "stop"),
            "[DONE]",
        )
    )
    shown: list[str] = []
    model = server.openai(provider="deep")
    reply = await ask(model, on_text=shown.append)
    assert shown == ["yes"]
    assert reply.message.reasoning == "let me see"
    back = OpenAICompatible("m", provider="deep", api_key="k").body(
        Request(messages=(reply.message,)), stream=False
    )
    assert back["messages"][0][field] == "let me see"


async def test_reasoning_details_go_back_as_they_came() -> None:
    details = [{"type": "reasoning.encrypted", "data": "x"}]
    said = {"content": "yes", "reasoning_details": details}
    model = Server(completion(said)).openai()
    reply = await ask(model)
    body = model.body(Request(messages=(reply.message,)), stream=False)
    assert body["messages"][0]["reasoning_details"] == details


async def test_a_refusal_is_the_text() -> None:
    said = {"content": None, "refusal": "I will not"}
    assert (await ask(Server(completion(said)).openai())).text == "I will not"


async def test_content_in_parts_is_read_as_text() -> None:
    parts = [{"type": "thinking"}, {"type": "text", "text": "a"}, {"text": "b"}]
    assert (await ask(Server(completion({"content": parts})).openai())).text == "ab"


async def test_a_reply_that_was_cut_off_says_so() -> None:
    reply = await ask(Server(completion(text="", finish="length")).openai())
    assert reply.cut_off
    assert reply.message.content == ()
