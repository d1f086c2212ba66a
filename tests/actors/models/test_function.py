"""Rules in the place of a model, and what may stand for a reply."""

from typing import Any

import pytest
import trio

from actors import FunctionModel, Message, Reply, Request, TextBlock, ToolCall, Usage
from actors.models import as_reply
from tests.actors.models.server import HELLO, ask

CALL = ToolCall(id="a", name="read", args={"p": 1})


@pytest.mark.parametrize(
    ("item", "content", "stop_reason"),
    [
        ("hi", [TextBlock(text="hi")], "stop"),
        (CALL, [CALL], "tool_calls"),
        (["so", CALL, CALL], [TextBlock(text="so"), CALL, CALL], "tool_calls"),
        (("a", "b"), [TextBlock(text="a"), TextBlock(text="b")], "stop"),
        ([], [], "stop"),
    ],
    ids=["text", "call", "both", "tuple", "nothing"],
)
async def test_a_rule_says_text_and_calls(
    item: Any, content: list[Any], stop_reason: str
) -> None:
    async def later(_request: Request) -> Any:
        await trio.lowlevel.checkpoint()
        return item

    for fn in (lambda _: item, later):
        reply = await ask(FunctionModel(fn))
        assert reply.message == Message(
            role="assistant", content=content, stop_reason=stop_reason
        )
        assert reply.model == "function/rule"
        assert reply.usage == Usage(requests=1, cost=0.0)
        assert [*reply.usage.by_model] == ["function/rule"]


async def test_a_rule_sees_the_request() -> None:
    model = FunctionModel(lambda request: request.messages[0].text() * 2, name="my/own")
    reply = await ask(model)
    assert (reply.text, reply.model, model.name) == ("hellohello", "my/own", "my/own")


async def test_the_text_is_shown_in_one_piece() -> None:
    shown: list[str] = []
    await ask(FunctionModel(lambda _: ["a", CALL, "b"]), on_text=shown.append)
    await ask(FunctionModel(lambda _: CALL), on_text=shown.append)
    assert shown == ["ab"]


async def test_an_exception_is_raised_whether_returned_or_raised() -> None:
    def fails(_request: Request) -> Any:
        raise KeyError("raised")

    with pytest.raises(KeyError, match="raised"):
        await ask(FunctionModel(fails))
    with pytest.raises(KeyError, match="returned"):
        await ask(FunctionModel(lambda _: KeyError("returned")))


def test_a_reply_is_completed_and_otherwise_kept() -> None:
    bare = Reply(message=Message.assistant("x"))
    full = as_reply(bare, "m/n")
    assert (full.message, full.model) == (bare.message, "m/n")
    assert full.usage == Usage(requests=1, cost=0.0)
    own = Reply(message=bare.message, usage=Usage(5, requests=1), model="a/b")
    assert as_reply(own, "m/n") == own
    assert [*as_reply(own, "m/n").usage.by_model] == ["a/b"]


@pytest.mark.parametrize("item", [None, 5, b"x", ["a", 5], {"a": 1}], ids=repr)
async def test_what_stands_for_no_reply_is_refused(item: Any) -> None:
    with pytest.raises(TypeError, match="stands for no reply: give text"):
        await ask(FunctionModel(lambda _: item))


def test_a_rule_must_be_callable() -> None:
    with pytest.raises(TypeError, match="asks a callable of the request, got 'x'"):
        FunctionModel("x")


async def test_a_cancel_comes_before_the_rule_is_asked() -> None:
    asked: list[Request] = []
    model = FunctionModel(lambda request: asked.append(request) or "x")
    with trio.CancelScope() as scope:
        scope.cancel()
        await ask(model, HELLO)
    assert scope.cancelled_caught
    assert asked == []
