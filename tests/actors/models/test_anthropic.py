"""Anthropic's messages: what is sent, and what is read."""

from typing import Any

from actors import (
    Anthropic,
    Image,
    MediaRef,
    Message,
    RawBlock,
    ReasoningBlock,
    Request,
    TextBlock,
    ToolCall,
    ToolResultBlock,
    ToolSpec,
    Usage,
)
from protocol import DocumentBlock, VideoBlock
from tests.actors.models.server import Server, ask, message, spoken, stream, text_block

PNG = Image(b"\x89PNG\r\n\x1a\n" + b"0" * 8)
CACHED = {"cache_control": {"type": "ephemeral"}}
READ = ToolSpec(name="read", description="Read.", parameters={"type": "object"})


class Unmarked(Anthropic):
    """Asks for no caching, so that bodies are short to compare."""

    def mark_cache(self, request: Request) -> tuple[int, ...]:
        return ()


def body(*messages: Message, **more: Any) -> Any:
    request = Request(messages=messages, **more)
    return Unmarked("m", api_key="k").body(request, stream=False)


def sent(*messages: Message) -> Any:
    return body(*messages)["messages"]


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


async def test_a_request_is_posted_with_its_key_and_version() -> None:
    server = Server(message())
    model = server.anthropic("m", params={"max_tokens": 9})
    await ask(model, Request(system="be brief", messages=(Message.user("hello"),)))
    request = server.requests[0]
    assert (request.method, str(request.url)) == (
        "POST",
        "https://api.anthropic.com/v1/messages",
    )
    assert request.headers["authorization"] == "Bearer k"
    assert request.headers["anthropic-version"] == "2026-10-21"
    assert server.bodies[0] == {
        "model": "m",
        "max_tokens": 9,
        "system": [{**said("be brief"), **CACHED}],
        "messages": [{"role": "user", "content": [{**said("hello"), **CACHED}]}],
    }


def test_tools_and_the_choice_among_them_are_sent() -> None:
    sent = body(Message.user("x"), tools=(READ,), tool_choice="read")
    schema = {"type": "object"}
    assert sent["tools"] == [
        {"name": "read", "description": "Read.", "input_schema": schema}
    ]
    assert sent["tool_choice"] == {"type": "tool", "name": "read"}
    for choice, form in {"auto": "auto", "none": "none", "required": "any"}.items():
        sent = body(Message.user("x"), tools=(READ,), tool_choice=choice)
        assert sent["tool_choice"] == {"type": form}


def test_a_schema_for_the_answer_is_sent() -> None:
    sent = body(Message.user("x"), output_schema={"type": "object"})
    form = {"type": "json_schema", "schema": {"type": "object"}}
    assert sent["output_config"] == {"format": form}


CALLS = Message(
    role="assistant",
    content=[
        TextBlock(text="reading"),
        ToolCall(id="a", name="read", args={"path": "x"}),
        ToolCall(id="b", name="read"),
    ],
)


def test_results_come_first_in_the_user_turn_in_the_order_of_their_calls() -> None:
    results = Message.tool_message(
        [
            ToolResultBlock(call_id="b", output="bad", is_error=True),
            ToolResultBlock(call_id="a", output=(TextBlock(text="see"), PNG)),
        ]
    )
    messages = sent(Message.user("go"), CALLS, results, Message.user("and?"))
    assert messages[1]["content"] == [
        said("reading"),
        {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}},
        {"type": "tool_use", "id": "b", "name": "read", "input": {}},
    ]
    image = {
        "type": "base64",
        "media_type": "image/png",
        "data": PNG.media.data_base64,
    }
    assert messages[2] == {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "a",
                "content": [said("see"), {"type": "image", "source": image}],
            },
            {
                "type": "tool_result",
                "tool_use_id": "b",
                "content": [said("bad")],
                "is_error": True,
            },
            said("and?"),
        ],
    }


def test_calls_are_of_declared_tools_even_when_none_is_offered() -> None:
    request = body(Message.user("go"), CALLS, Message.user("why?"))
    assert [tool["name"] for tool in request["tools"]] == ["read"]
    assert request["tool_choice"] == {"type": "none"}


def test_roles_alternate_and_the_user_begins_and_ends() -> None:
    messages = sent(
        Message.assistant("I am"), Message.user("a"), Message.user("b"), CALLS
    )
    assert [m["role"] for m in messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert messages[0]["content"] == [said("(go on)")]
    assert sent(Message.user("a"), Message.assistant("b"))[-1]["content"] == [
        said("(go on)")
    ]
    assert sent()[0]["role"] == "user"


def test_empty_text_is_never_sent() -> None:
    messages = sent(
        Message(role="user", content=[TextBlock(text=" "), TextBlock(text="a")]),
        Message.assistant("\n"),
        Message(role="assistant", content=[ToolCall(id="a", name="n")]),
        Message.tool_message([ToolResultBlock(call_id="a", output="")]),
    )
    assert messages[0]["content"] == [said("a")]
    assert messages[2]["content"] == [{"type": "tool_result", "tool_use_id": "a"}]
    assert sent(Message.user("a"), Message.assistant(" "))[1]["content"] == [
        said("(nothing)")
    ]


def test_system_messages_go_where_the_format_has_a_place() -> None:
    request = body(
        Message.text_message("first", role="system"),
        Message.user("a"),
        Message.text_message("later", role="system"),
        system="instructions",
    )
    assert request["system"] == [said("instructions"), said("first")]
    assert request["messages"][0]["content"] == [said("a"), said("later")]


def test_media_are_sent_as_what_they_are_or_told_in_words() -> None:
    pdf = MediaRef(kind="data", data_base64="AA==", mime_type="application/pdf")
    blocks = [
        DocumentBlock(media=pdf),
        DocumentBlock(media=MediaRef(kind="data", mime_type="text/csv"), text="a,b"),
        DocumentBlock(text="only text"),
        VideoBlock(media=MediaRef(filename="v.mp4")),
    ]
    blocks += [
        Message.image_message(image_url=url).content[0]
        for url in ("https://x/i.png", "data:image/gif;base64,AA==")
    ]
    blocks += [Message.image_message(image_base64="AA==").content[0]]
    (user,) = sent(Message(role="user", content=blocks))
    sources = [part.get("source", part.get("text")) for part in user["content"]]
    assert sources == [
        {"type": "base64", "media_type": "application/pdf", "data": "AA=="},
        "a,b",
        "only text",
        "[video v.mp4 that cannot be shown here]",
        {"type": "url", "url": "https://x/i.png"},
        {"type": "base64", "media_type": "image/gif", "data": "AA=="},
        {"type": "base64", "media_type": "image/png", "data": "AA=="},
    ]


def test_an_uploaded_file_is_named() -> None:
    media = MediaRef(kind="file_id", file_id="f")
    (user,) = sent(Message(role="user", content=[DocumentBlock(media=media)]))
    source = {"type": "file", "file_id": "f"}
    assert user["content"] == [{"type": "document", "source": source}]


def test_thinking_of_others_is_left_out() -> None:
    thought = Message(
        role="assistant",
        content=[
            ReasoningBlock(summary="hm", details={"provider": "openai"}),
            ReasoningBlock(summary="unsigned", details={"provider": "anthropic"}),
            ReasoningBlock(summary="mine"),
            RawBlock(provider="openai", data={"type": "x"}),
            RawBlock(provider="anthropic", data={"type": "server_tool_use"}),
            TextBlock(text="yes"),
        ],
    )
    assert sent(Message.user("a"), thought)[1]["content"] == [
        {"type": "server_tool_use"},
        said("yes"),
    ]


def test_an_id_that_the_format_refuses_is_replaced_in_call_and_result() -> None:
    messages = sent(
        Message.user("a"),
        Message(role="assistant", content=[ToolCall(id="call:1/ü", name="read")]),
        Message.tool_message([ToolResultBlock(call_id="call:1/ü", output="ok")]),
    )
    replaced = messages[1]["content"][0]["id"]
    assert replaced.isascii()
    assert messages[2]["content"][0]["tool_use_id"] == replaced


def marks_of(*messages: Message, **more: Any) -> list[str]:
    request = Request(messages=messages, **more)
    sent = Anthropic("m", api_key="k").body(request, stream=False)
    found = [
        name
        for name in ("tools", "system")
        for part in sent.get(name, ())
        if "cache_control" in part
    ]
    found += [
        f"{number}.{index}"
        for number, message in enumerate(sent["messages"])
        for index, part in enumerate(message["content"])
        if "cache_control" in part
    ]
    return found


def test_the_context_is_cached_up_to_the_last_two_user_turns() -> None:
    first = Message.user("a")
    assert marks_of(first, system="s", tools=(READ,)) == ["system", "0.0"]
    assert marks_of(first, tools=(READ,)) == ["tools", "0.0"]
    results = Message.tool_message(
        [ToolResultBlock(call_id=call_id, output="ok") for call_id in "ab"]
    )
    assert marks_of(first, CALLS, results, system="s") == ["system", "0.0", "2.1"]
    longer = (first, CALLS, results, Message.assistant("b"), Message.user("c"))
    assert marks_of(*longer) == ["tools", "2.1", "4.0"]


def test_a_request_has_no_more_marks_than_the_format_allows() -> None:
    class Eager(Anthropic):
        def mark_cache(self, request: Request) -> tuple[int, ...]:
            return tuple(range(len(request.messages)))

    talk = [Message.user("a"), Message.assistant("b")] * 5
    request = Request(messages=talk, system="s")
    sent = Eager("m", api_key="k").body(request, stream=False)
    assert str(sent).count("cache_control") == 4


async def test_a_count_below_0_is_one_that_is_not_known() -> None:
    text = {"type": "text", "text": "hi"}
    server = Server(message(text, cache_read_input_tokens=-1))
    reply = await ask(server.anthropic())
    assert reply.usage.cache_read_tokens == 0
    assert reply.usage.input_tokens == 10


async def test_a_whole_answer_is_read() -> None:
    server = Server(
        message(
            {"type": "text", "text": "reading"},
            {"type": "tool_use", "id": "t", "name": "read", "input": {"p": 1}},
            stop="tool_use",
            cache_creation_input_tokens=30,
            cache_read_input_tokens=40,
        )
    )
    reply = await ask(server.anthropic())
    assert "stream" not in server.bodies[0]
    assert reply.text == "reading"
    assert [(c.id, c.name, c.args) for c in reply.tool_calls] == [
        ("t", "read", {"p": 1})
    ]
    assert (reply.stop_reason, reply.model) == (
        "tool_use",
        "anthropic/claude-opus-4-1",
    )
    cost = (10 * 15 + 5 * 75 + 40 * 1.5 + 30 * 18.75) / 1e6
    assert reply.usage == Usage(10, 5, 40, 30, 1, cost)
    assert reply.context_tokens == 85
    assert reply.message.usages.prompt_tokens == 80


async def test_a_stream_is_shown_as_it_comes_and_read_whole() -> None:
    call = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
    deltas = [
        {"type": "input_json_delta", "partial_json": part}
        for part in ("", '{"p"', ":1}")
    ]
    server = Server(
        stream(*spoken([text_block("Hel", "lo"), (call, deltas)], stop="tool_use"))
    )
    shown: list[str] = []
    reply = await ask(server.anthropic(), on_text=shown.append)
    assert server.bodies[0]["stream"] is True
    assert shown == ["Hel", "lo"]
    assert reply.text == "Hello"
    assert reply.tool_calls[0].args == {"p": 1}
    assert reply.stop_reason == "tool_use"
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (10, 5)


async def test_thinking_is_kept_with_its_signature_and_sent_back() -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    deltas = [
        {"type": "thinking_delta", "thinking": "let me "},
        {"type": "thinking_delta", "thinking": "see"},
        {"type": "signature_delta", "signature": "sig"},
    ]
    hidden = {"type": "redacted_thinking", "data": "xyz"}
    server = Server(
        stream(*spoken([(thinking, deltas), (hidden, []), text_block("yes")]))
    )
    shown: list[str] = []
    model = server.anthropic()
    reply = await ask(model, on_text=shown.append)
    assert shown == ["yes"]
    assert reply.message.reasoning == "let me see"
    back = model.body(
        Request(messages=(Message.user("a"), reply.message, Message.user("b"))),
        stream=False,
    )
    assert back["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "let me see", "signature": "sig"},
        hidden,
        said("yes"),
    ]


async def test_content_of_an_unknown_kind_is_kept_and_sent_back() -> None:
    strange = {"type": "server_tool_use", "id": "s", "name": "web", "input": {"q": "x"}}
    model = Server(message(strange, {"type": "text", "text": "found"})).anthropic()
    reply = await ask(model)
    assert reply.text == "found"
    request = Request(messages=(Message.user("a"), reply.message))
    assert model.body(request, stream=False)["messages"][1]["content"][0] == strange


async def test_an_event_of_an_unknown_kind_passes_by() -> None:
    events = spoken([text_block("a")])
    events.insert(3, {"type": "weather", "delta": {"type": "sun"}})
    shown: list[str] = []
    reply = await ask(Server(stream(*events)).anthropic(), on_text=shown.append)
    assert reply.text == "a"


async def test_a_reply_without_content_is_read() -> None:
    server = Server(stream(*spoken([], stop="end_turn")))
    reply = await ask(server.anthropic(), on_text=print)
    assert reply.message.content == ()
