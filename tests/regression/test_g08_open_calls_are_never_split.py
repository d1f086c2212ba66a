"""G8: an unanswered call is never split from its request by a context manager."""

import pytest

from actors import END, START, Agent, Message, MessageContextManager, StateGraph
from actors.testing import FakeModel
from tests.actors.graph.test_context import check_valid, result_of
from tests.graphs import Counted, asks, call, thread

TALK = [
    Message.user("the task"),
    Message.assistant("sure"),
    Message.user("one"),
    asks(call("open", "wait"), call("closed", "look")),
    result_of("closed"),
    Message.user("two"),
    asks(call("2", "look")),
    result_of("2"),
    Message.assistant("seen"),
    Message.user("three"),
    Message.assistant("yes"),
    Message.user("four"),
]


@pytest.mark.parametrize("window", range(1, len(TALK) + 1))
async def test_the_request_is_valid_at_every_window_size(window: int) -> None:
    model = FakeModel(["answer"])
    manager = MessageContextManager(window)
    graph = StateGraph(Counted, context_manager=manager)
    graph.add_node("a", Agent(model=model, trim_context=True))
    app = graph.add_edge(START, "a").add_edge("a", END).compile()
    result = await app.ainvoke({"messages": TALK}, thread())
    request = model.requests[0].messages
    check_valid(request)
    place = next(i for i, m in enumerate(request) if m.tool_calls)
    assert [each.id for each in request[place].tool_calls] == ["open", "closed"]
    assert request[0].text() == "the task"
    assert len(result["state"].context) == len(TALK) + 1
