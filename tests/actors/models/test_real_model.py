"""A real model, however small: what it says is its own affair, how it comes is ours.

Name a server of chat completions and these run, else they are skipped:

    CALLBOARD_TEST_MODEL_URL=http://localhost:8080/v1 pytest -m slow tests/actors/models

`CALLBOARD_TEST_MODEL` is the server's name of the model, where it has several.
"""

import os
from typing import Annotated

import attrs
import msgspec
import pytest
import trio

from actors import Agent, Message, OpenAICompatible, State, TextDelta, afan_out

pytestmark = pytest.mark.slow  # real sockets, and a model that takes its time


@attrs.frozen
class City:
    name: Annotated[str, msgspec.Meta(max_length=20)]
    is_large: bool


@pytest.fixture
def agent() -> Agent:
    url = os.environ.get("CALLBOARD_TEST_MODEL_URL")
    if not url:
        pytest.skip("CALLBOARD_TEST_MODEL_URL names no server of chat completions")
    name = os.environ.get("CALLBOARD_TEST_MODEL", "default")
    params = {"max_tokens": 32, "temperature": 0}  # a JSON answer needs most of them
    model = OpenAICompatible(name, base_url=url, params=params)
    return Agent(model, reporter=None, human=None)


async def test_it_answers_and_its_tokens_are_counted(agent: Agent) -> None:
    state = State(messages=[Message.user("Say hello.")])
    assert await agent.arun(state) == state.messages[-1].text() != ""
    assert state.usage.requests == 1
    assert state.usage.input_tokens > 0 < state.usage.output_tokens


async def test_its_text_comes_in_pieces_that_are_the_whole(agent: Agent) -> None:
    state = State(messages=[Message.user("Count to ten.")])
    async with agent.stream(state) as events:
        pieces = [e.text async for e in events if isinstance(e, TextDelta)]
    assert len(pieces) > 1
    assert "".join(pieces) == state.messages[-1].text()
    assert state.usage.output_tokens > 0


async def test_its_answer_can_be_of_a_type(agent: Agent) -> None:
    city = await agent.aask(State(), "Name a city and whether it is large.", City)
    assert isinstance(city, City)


async def test_a_cancel_in_mid_stream_leaves_it_ready_for_the_next(
    agent: Agent,
) -> None:
    state = State(messages=[Message.user("Count to a hundred.")])
    async with agent.stream(state) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    assert state.phase == "idle"
    assert [message.role for message in state.messages] == ["user"]
    with trio.fail_after(60):
        assert await agent.arun("Say hello.")


async def test_it_answers_several_at_once(agent: Agent) -> None:
    results = await afan_out(agent, [f"Name a number above {n}." for n in range(3)])
    assert [each.outcome for each in results] == ["done"] * 3
