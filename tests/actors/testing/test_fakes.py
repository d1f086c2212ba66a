from typing import Any

import pytest
import trio

from actors import Agent, Question, Reply, Request, State, tool
from actors.testing import FakeHuman, FakeModel, tool_call
from protocol import Message, NoHumanError


def nothing(_: object) -> None:
    """Take no notice."""


def request(text: str = "Hello") -> Request:
    return Request(messages=(Message.user(text),))


def question(prompt: str) -> Question:
    return Question(id=prompt, state_id="state", prompt=prompt)


def test_a_scripted_call_takes_any_argument_and_has_an_id_of_its_own() -> None:
    one, other = tool_call("read", name="x", n=1), tool_call("read", name="x", n=1)
    assert (one.name, one.args) == ("read", {"name": "x", "n": 1})
    assert one.id != other.id


async def test_a_fake_model_answers_in_order_and_keeps_what_it_was_asked() -> None:
    model = FakeModel(["one", tool_call("read"), ["two", tool_call("read")]])
    first, second = request("1"), request("2")
    assert (await model.arespond(first, None, nothing)).text == "one"
    reply = await model.arespond(second, None, nothing)
    assert [call.name for call in reply.tool_calls] == ["read"]
    assert model.requests == (first, second)
    assert model.remaining == 1


async def test_a_scripted_reply_counts_one_request_under_the_models_name() -> None:
    reply = await FakeModel(["one"], "fake/other").arespond(request(), None, nothing)
    assert (reply.usage.requests, reply.usage.cost) == (1, 0.0)
    assert set(reply.usage.by_model) == {"fake/other"}


async def test_a_script_may_hold_callables_of_the_request_and_replies() -> None:
    async def later(asked: Request) -> str:
        await trio.lowlevel.checkpoint()
        return f"{asked.messages[-1].text()}?"

    whole = Reply(message=Message.text_message("whole", role="assistant"))
    model = FakeModel([lambda _: "now", later, whole])
    texts = [(await model.arespond(request(), None, nothing)).text for _ in range(3)]
    assert texts == ["now", "Hello?", "whole"]


async def test_a_scripted_exception_is_raised_once() -> None:
    model = FakeModel([ValueError("no"), "yes"])
    with pytest.raises(ValueError, match="no"):
        await model.arespond(request(), None, nothing)
    assert (await model.arespond(request(), None, nothing)).text == "yes"


async def test_a_script_that_has_run_out_raises_and_keeps_no_request() -> None:
    model = FakeModel()
    with pytest.raises(LookupError, match="'fake/model' has no reply left for request"):
        await model.arespond(request(), None, nothing)
    assert model.requests == ()


async def test_a_cancelled_request_takes_nothing_from_the_script() -> None:
    model = FakeModel(["one"])
    with trio.CancelScope() as scope:
        scope.cancel()
        await model.arespond(request(), None, nothing)
    assert scope.cancelled_caught
    assert (model.remaining, model.requests) == (1, ())


@pytest.mark.parametrize("text", ["", " ", "one", " one  two\nthree "])
async def test_the_pieces_that_are_shown_make_up_the_text(text: str) -> None:
    pieces: list[str] = []
    await FakeModel([text]).arespond(request(), pieces.append, nothing)
    assert "".join(pieces) == text


async def test_an_agent_runs_on_a_fake_model() -> None:
    @tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    model = FakeModel([tool_call("add", a=1, b=2), "3"])
    state = State(messages=[Message.user("1 + 2?")])
    agent = Agent(model, tools=[add], reporter=None, human=None)
    assert await agent.arun(state) == "3"
    assert state.usage.requests == 2
    assert model.remaining == 0


async def test_a_fake_human_answers_in_order_and_keeps_the_questions() -> None:
    async def later(asked: Question) -> str:
        await trio.lowlevel.checkpoint()
        return asked.prompt.upper()

    human = FakeHuman(["yes", lambda asked: asked.prompt, later, False])
    asked = [question(prompt) for prompt in ("a", "b", "c")]
    assert [await human.aask(each) for each in asked] == ["yes", "b", "C"]
    assert human.questions == tuple(asked)
    assert human.remaining == 1


async def test_a_fake_human_raises_what_the_script_says_or_that_it_ran_out() -> None:
    human = FakeHuman([NoHumanError("gone")])
    with pytest.raises(NoHumanError, match="gone"):
        await human.aask(question("Well?"))
    with pytest.raises(LookupError, match="no answer left for 'Well\\?'"):
        await human.aask(question("Well?"))
    assert len(human.questions) == 1


@pytest.mark.parametrize("single", ["Hello", tool_call("read")])
def test_a_script_that_is_no_list_is_refused(single: Any) -> None:
    for kind in (FakeModel, FakeHuman):
        with pytest.raises(TypeError, match=rf"takes a list: write {kind.__name__}"):
            kind(single)
