"""What a traceback shows, and what it leaves out."""

import traceback
from typing import Any

import pytest

from actors import Agent, State, loop, tool, waiting_for_user
from actors._tracebacks import shorten
from actors.testing import FakeModel, tool_call


@tool
def broken() -> str:
    return {}["k"]


@loop(until=waiting_for_user, limit=3)
def by_hand(agent: Agent, state: State) -> None:
    agent.think(state)
    agent.use_tools(state)


def functions(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def test_plain_code_sees_its_own_lines_and_the_way_in() -> None:
    model = FakeModel([tool_call("broken")])
    settings: dict[str, Any] = {"reporter": None, "human": None, "on_error": "raise"}
    agent = Agent(model, tools=[broken], loop=by_hand, **settings)
    with pytest.raises(KeyError) as caught:
        agent.run("go")
    names = functions(caught.value)
    here = [name for name in names if name in {"by_hand", "broken"}]
    assert here == ["by_hand", "broken"]
    assert names.index("by_hand") < names.index("broken") == len(names) - 1
    assert len(names) < 10


def test_where_the_runtime_itself_raised_stays() -> None:
    def mine() -> None:
        State(messages=[3])  # type: ignore[list-item] # the fault that is looked for

    with pytest.raises(TypeError) as caught:
        mine()
    before = functions(caught.value)
    shorten(caught.value)
    assert functions(caught.value) == before


def test_a_traceback_of_the_runtime_alone_stays_whole() -> None:
    with pytest.raises(TypeError) as caught:
        State(messages=[3])  # type: ignore[list-item] # the fault that is looked for
    trace = caught.value.__traceback__
    assert trace is not None
    caught.value.__traceback__ = trace.tb_next
    before = functions(caught.value)
    assert before
    shorten(caught.value)
    assert functions(caught.value) == before
