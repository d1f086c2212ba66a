"""The checks of `check_model`, one promise each, named for what must hold."""

from collections.abc import Awaitable, Callable, Sequence

import trio
import trio.testing

from actors._gate import respond
from actors.models import Model, OnText, Request, ToolSpec
from protocol import (
    Image,
    Message,
    ModelEvent,
    Price,
    RawBlock,
    ReasoningBlock,
    Reply,
    TextBlock,
    ToolCall,
    ToolResultBlock,
    Usage,
)

AT_ONCE = 20

PNG = Image(b"\x89PNG\r\n\x1a\n" + b"\0" * 8)
READ = ToolSpec(
    name="read",
    description="Read a file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
)
HELLO = Request(messages=(Message.user("Say hello."),))


def _call(call_id: str) -> ToolCall:
    return ToolCall(id=call_id, name="read", args={"path": call_id})


def _result(call_id: str, output: object = "contents") -> ToolResultBlock:
    return ToolResultBlock(call_id=call_id, name="read", output=output)


_TWO_CALLS = Message(
    role="assistant",
    content=[TextBlock(text="I read both."), _call("a"), _call("b")],
)

CONVERSATIONS: tuple[tuple[str, Sequence[Message]], ...] = (
    ("one text", HELLO.messages),
    ("neighbours of one role", (Message.user("Hello."), Message.notice("It is late."))),
    ("an image", (Message.user("What is this?", PNG),)),
    ("a reply before", (*HELLO.messages, Message.assistant("Hello."))),
    (
        "results, one of them an error, one with an image",
        (
            *HELLO.messages,
            _TWO_CALLS,
            Message.tool_message(
                [_result("a", (TextBlock(text="see"), PNG)), _result("b", {"n": [1]})]
            ),
            Message.user("And now?"),
        ),
    ),
    ("calls that are still running", (*HELLO.messages, _TWO_CALLS)),
    (
        "a result whose call was compacted away",
        (Message.user("Go on."), Message.tool_message([_result("gone")])),
    ),
    (
        "content that only another provider understands",
        (
            *HELLO.messages,
            Message(
                role="assistant",
                content=[
                    ReasoningBlock(summary="Hm.", details={"provider": "nobody"}),
                    RawBlock(provider="nobody", data={"type": "x"}),
                    TextBlock(text="Hello."),
                ],
            ),
            Message.user("Once more."),
        ),
    ),
)


async def ask(
    model: Model, request: Request = HELLO, on_text: OnText | None = None
) -> Reply:
    """Ask once, without a gate, and hold the reply to its form."""
    reply = await model.arespond(request, on_text, _ignore)
    _check_reply(reply)
    return reply


def _ignore(_event: ModelEvent) -> None:
    pass


def _check_reply(reply: object) -> None:
    assert isinstance(reply, Reply), f"arespond must return a Reply, got {reply!r}"
    role = reply.message.role
    assert role == "assistant", (
        f"a reply's message must be the assistant's, got {role!r}"
    )
    usage = reply.usage
    assert usage.requests == 1, f"a reply's usage counts one request, got {usage!r}"
    counts = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        reply.context_tokens or 0,
    )
    assert min(counts) >= 0, f"tokens cannot be fewer than none: {reply!r}"
    for call in reply.tool_calls:
        assert call.name, f"a call must name its tool: {call!r}"


async def settings_are_of_their_types(model: Model) -> None:
    """Hold what the runtime reads of a model to its types."""
    parts = model.name.split("/", 1)
    assert len(parts) == 2, f"name must be 'provider/name', got {model.name!r}"
    assert all(parts), f"name must be 'provider/name', got {model.name!r}"
    assert model.key is None or isinstance(model.key, str), "key must be text or None"
    window = model.context_window
    assert window is None or window > 0, "context_window must be above 0 or None"
    assert model.price is None or isinstance(model.price, Price), "price: Price or None"
    assert model.retries >= 0, f"retries must be >= 0, got {model.retries!r}"


async def conversations_of_every_shape_are_answered(model: Model) -> None:
    """Ask with each conversation, with and without instructions and tools."""
    for what, messages in CONVERSATIONS:
        for tools in ((), (READ,)):
            request = Request(messages=messages, system="Be brief.", tools=tools)
            try:
                await ask(model, request)
            except Exception as error:
                error.add_note(f"when asked with {what}, tools={tools!r}")
                raise


async def the_request_stays_as_it_is(model: Model) -> None:
    """Ask twice with one request, which must be equal to its copy afterwards."""
    messages = CONVERSATIONS[4][1]
    request = Request(messages=messages, system="Be brief.", tools=(READ,))
    before = repr(request)
    await ask(model, request)
    await ask(model, request)
    assert repr(request) == before, "arespond must not change the request"


async def the_pieces_shown_are_the_text(model: Model) -> None:
    """Listen: together the pieces are the reply's text, and none comes later."""
    shown: list[str] = []
    reply = await ask(model, on_text=shown.append)
    text = "".join(shown)
    assert text == reply.text, f"shown was {text!r}, the reply says {reply.text!r}"
    assert all(shown), "an empty piece must not be shown"
    await trio.testing.wait_all_tasks_blocked()
    assert "".join(shown) == text, "text was shown after the reply was returned"


async def an_error_of_the_listener_comes_out(model: Model) -> None:
    """Raise in the listener; the error is the caller's own and no provider's."""

    class OwnError(Exception):
        pass

    def listen(_text: str) -> None:
        raise OwnError

    try:
        reply = await ask(model, on_text=listen)
    except OwnError:
        return
    assert not reply.text, "an error that on_text raised was swallowed"


async def a_reply_can_be_sent_back(model: Model) -> None:
    """Go on with the model's own reply, and with results for the calls in it."""
    messages = [*HELLO.messages]
    for _ in range(2):
        reply = await ask(model, Request(messages=tuple(messages), tools=(READ,)))
        messages.append(reply.message)
        results = [_result(call.id) for call in reply.tool_calls]
        if results:
            messages.append(Message.tool_message(results))
        messages.append(Message.user("Go on."))
    await ask(model, Request(messages=tuple(messages), tools=(READ,)))


async def many_requests_at_once_are_answered(model: Model) -> None:
    """Ask one object many times at once, half of them with a listener."""
    wrong: list[str] = []

    async def one(listening: bool) -> None:
        shown: list[str] = []
        reply = await ask(model, on_text=shown.append if listening else None)
        if listening and "".join(shown) != reply.text:
            wrong.append("".join(shown))

    async with trio.open_nursery() as nursery:
        for number in range(AT_ONCE):
            nursery.start_soon(one, number % 2 == 0)
    assert not wrong, f"text of several requests was mixed up: {wrong!r}"


async def a_cancel_ends_the_request(model: Model) -> None:
    """Cancel before the first step, then ask again."""
    with trio.CancelScope() as scope:
        scope.cancel()
        await ask(model)
    assert scope.cancelled_caught, (
        "a cancelled request was answered; let arespond pass a checkpoint, such as"
        " await trio.lowlevel.checkpoint()"
    )
    await ask(model)


async def a_cancel_in_the_middle_leaves_the_model_usable(model: Model) -> None:
    """Cancel with the first shown text, and soon after the start; then ask again."""
    with trio.CancelScope() as scope:
        await ask(model, on_text=lambda _text: scope.cancel())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, model)
        await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    await ask(model)


async def what_is_optional_is_of_its_type(model: Model) -> None:
    """Call the methods that need not be written."""
    for _what, messages in CONVERSATIONS:
        request = Request(messages=messages, tools=(READ,))
        count = model.count_tokens(request)
        assert count is None or count >= 0, f"count_tokens: {count!r}"
        for index in model.mark_cache(request):
            assert 0 <= index < len(messages), f"mark_cache names no message: {index!r}"
    summary = await model.compact(HELLO, None)
    assert summary is None or summary.text, "compact gives a reply with text, or None"


async def it_works_through_its_gate(model: Model) -> None:
    """Ask as an agent does, and add the usage up."""
    spent = Usage()
    for _ in range(2):
        reply = await respond(model, HELLO, None, _ignore)
        _check_reply(reply)
        spent += reply.usage
    assert spent.requests == 2


async def closing_twice_does_no_harm(model: Model) -> None:
    """Close twice; once more comes when the check is over."""
    await ask(model)
    await model.aclose()
    await model.aclose()


CHECKS: tuple[Callable[[Model], Awaitable[None]], ...] = (
    settings_are_of_their_types,
    conversations_of_every_shape_are_answered,
    the_request_stays_as_it_is,
    the_pieces_shown_are_the_text,
    an_error_of_the_listener_comes_out,
    a_reply_can_be_sent_back,
    many_requests_at_once_are_answered,
    a_cancel_ends_the_request,
    a_cancel_in_the_middle_leaves_the_model_usable,
    what_is_optional_is_of_its_type,
    it_works_through_its_gate,
    closing_twice_does_no_harm,
)
