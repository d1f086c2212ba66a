"""The conformance kit of models: it passes ours, and finds each kind of fault."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
import trio

from actors import FunctionModel, Message, Model, Reply, Request, TextBlock, Usage
from actors.testing import FakeModel, check_model, tool_call
from tests.actors.models.server import (
    Server,
    chunk,
    completion,
    message,
    spoken,
    stream,
    text_block,
)


def chat(request: httpx2.Request) -> httpx2.Response:
    if not json.loads(request.content).get("stream"):
        return completion()
    return stream(
        chunk({"content": "Hel"}), chunk({"content": "lo"}), chunk({}, "stop")
    )


def messages(request: httpx2.Request) -> httpx2.Response:
    if not json.loads(request.content).get("stream"):
        return message()
    return stream(*spoken([text_block("Hel", "lo")]))


def rule(request: Request) -> Any:
    last = request.messages[-1]
    return (
        tool_call("read", path="x") if request.tools and last.role == "user" else "hi"
    )


@pytest.mark.parametrize(
    "make_model",
    [
        lambda: FunctionModel(rule),
        lambda: FakeModel(["hello there"] * 100),
        lambda: Server(chat).openai(),
        lambda: Server(messages).anthropic(),
    ],
    ids=["function", "fake", "chat completions", "messages"],
)
def test_the_models_of_this_package_pass(make_model: Callable[[], Model]) -> None:
    assert len(check_model(make_model)) == 12


class Sound(Model):
    """Passes; its children each break one rule."""

    name = "test/sound"

    async def arespond(self, request: Request, on_text: Any, on_event: Any) -> Reply:
        await trio.lowlevel.checkpoint()
        if on_text is not None:
            on_text("Hello")
        return self.reply()

    def reply(self) -> Reply:
        return Reply(message=Message.assistant("Hello"), usage=Usage(requests=1))


class Nameless(Sound):
    name = "sound"


class Uncounted(Sound):
    def reply(self) -> Reply:
        return Reply(message=Message.assistant("Hello"))


class Quiet(Sound):
    def reply(self) -> Reply:
        return Reply(message=Message.assistant("Hello!"), usage=Usage(requests=1))


class NoReply(Sound):
    def reply(self) -> Any:
        return "Hello"


class Deaf(Sound):
    async def arespond(self, request: Request, on_text: Any, on_event: Any) -> Reply:
        try:
            return await super().arespond(request, on_text, on_event)
        except Exception:
            return self.reply()


class Blind(Sound):
    async def arespond(self, request: Request, on_text: Any, on_event: Any) -> Reply:
        if not all(
            isinstance(block, TextBlock) for block in request.messages[0].content
        ):
            raise TypeError("text only")
        return await super().arespond(request, on_text, on_event)


class Unstoppable(Sound):
    async def arespond(self, request: Request, on_text: Any, on_event: Any) -> Reply:
        with trio.CancelScope(shield=True):
            return await super().arespond(request, on_text, on_event)


class Fragile(Sound):
    def __init__(self) -> None:
        self.broken = False

    async def arespond(self, request: Request, on_text: Any, on_event: Any) -> Reply:
        if self.broken:
            raise RuntimeError("left broken by a cancel")
        try:
            return await super().arespond(request, on_text, on_event)
        except trio.Cancelled:
            self.broken = True
            raise


class Shared(Sound):
    """Keeps the text of a request on the object."""

    text = ""

    async def arespond(self, request: Request, on_text: Any, on_event: Any) -> Reply:
        self.text = ""
        for piece in ("Hel", "lo"):
            await trio.lowlevel.checkpoint()
            self.text += piece
            if on_text is not None:
                on_text(piece)
        return Reply(message=Message.assistant(self.text), usage=Usage(requests=1))


class Marker(Sound):
    def mark_cache(self, request: Request) -> tuple[int, ...]:
        return (len(request.messages),)


def test_a_sound_model_passes() -> None:
    check_model(Sound)


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (Nameless, "settings_are_of_their_types"),
        (Uncounted, "counts one request"),
        (Quiet, "the_pieces_shown_are_the_text"),
        (NoReply, "must return a Reply"),
        (Deaf, "an_error_of_the_listener_comes_out"),
        (Blind, "conversations_of_every_shape_are_answered"),
        (Unstoppable, "a_cancel_ends_the_request"),
        (Fragile, "a_cancel_in_the_middle_leaves_the_model_usable"),
        (Shared, "many_requests_at_once_are_answered"),
        (Marker, "what_is_optional_is_of_its_type"),
    ],
)
def test_each_broken_rule_is_named(broken: type[Model], check: str) -> None:
    with pytest.raises(AssertionError, match=check) as caught:
        check_model(broken)
    assert str(caught.value).partition(" of 12 checks failed")[1]
    assert caught.value.__cause__ is not None


def test_a_model_that_never_answers_is_given_up() -> None:
    class Silent(Sound):
        async def arespond(self, *_: Any) -> Reply:
            await trio.sleep_forever()
            raise AssertionError

    with pytest.raises(AssertionError, match="TooSlowError"):
        check_model(Silent, timeout_s=0.01)
