"""Context managers: a view and an entry, never a rewrite."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from actors import (
    Agent,
    BaseContextManager,
    Message,
    MessageContextManager,
    Model,
    StateGraph,
    SummaryContextManager,
    ToolResultBlock,
)
from actors.graph import END, START
from actors.graph._agent_node import closed
from actors.graph._context import whole
from actors.testing import FakeModel
from tests.graphs import Counted, asks, call, kept, texts, thread, user


def trimming(model: Model, manager: BaseContextManager | None, *more: Any) -> Any:
    graph = StateGraph(Counted, context_manager=manager)
    graph.add_node("a", Agent(model=model, trim_context=True)).add_edge(START, "a")
    before = "a"
    for name, fn in more:
        graph.add_node(name, fn).add_edge(before, name)
        before = name
    return graph.add_edge(before, END).compile()


def result_of(*call_ids: str) -> Message:
    blocks = [ToolResultBlock(call_id=each, output=each) for each in call_ids]
    return Message.tool_message(content=blocks)


def some_conversation(random: Random, turns: int, *, open_at: int | None) -> Any:
    messages: list[Message] = []
    if random.random() < 0.5:
        messages.append(Message.text_message("be kind", role="system"))
    for turn in range(turns):
        messages.append(Message.user(f"q{turn}"))
        for number in range(random.randrange(3)):
            ids = [f"{turn}-{number}-{n}" for n in range(random.randrange(1, 3))]
            messages.append(asks(*[call(each, "f") for each in ids]))
            if open_at != turn:
                messages += [result_of(each) for each in ids]
        messages.append(Message.assistant(f"a{turn}"))
    return messages


def check_valid(request: Sequence[Message]) -> None:
    """What every provider asks for: calls and results pair up, users begin."""
    assert request[0].role in ("user", "system")
    waiting: set[str] = set()
    for message in request:
        if message.role == "tool":
            content: Any = message.content  # a tool message has results only
            ids = {block.call_id for block in content}
            assert ids <= waiting
            waiting -= ids
        else:
            assert not waiting
        waiting |= {each.id for each in message.tool_calls}
    assert not waiting


@pytest.mark.parametrize("remove", [True, False])
def test_every_window_of_every_conversation_is_a_valid_request(remove: bool) -> None:
    for seed in range(40):
        random = Random(seed)
        turns = random.randrange(1, 8)
        open_at = random.choice([None, *range(turns)])
        messages = some_conversation(random, turns, open_at=open_at)
        opened = [m for m in messages if m.tool_calls] if open_at is not None else []
        opened = [m for m in opened if m.tool_calls[0].id.startswith(f"{open_at}-")]
        first = next(m for m in messages if m.role == "user")
        for window in range(1, len(messages) + 1):
            manager = MessageContextManager(window, remove_tool_msgs=remove)
            view = whole(messages, manager.trim(messages))
            check_valid(closed(view))
            assert first in view
            assert all(message in view for message in opened)


def test_the_first_message_and_the_newest_turns_stay() -> None:
    messages = some_conversation(Random(1), 5, open_at=None)
    kept_users = [
        m.text()
        for m in MessageContextManager(2).trim(messages)
        if m.role in ("user", "system")
    ]
    assert [text for text in kept_users if text != "be kind"] == ["q0", "q3", "q4"] or (
        kept_users == ["be kind", "q3", "q4"]
    )


@pytest.mark.parametrize("wrong", [0, -1, True, "10", None])
def test_a_window_is_a_positive_int(wrong: Any) -> None:
    with pytest.raises(ValueError, match="max_messages"):
        MessageContextManager(wrong)
    with pytest.raises(ValueError, match="keep_recent"):
        SummaryContextManager(FakeModel(), keep_recent=wrong)


async def test_trimming_is_a_view_and_an_entry_and_the_history_stays_whole() -> None:
    seen: list[list[str]] = []

    async def look(state: Counted) -> None:
        seen.append(texts(state.context))

    model = FakeModel([f"a{n}" for n in range(4)])
    app = trimming(model, MessageContextManager(2), ("look", look))
    for number in range(4):
        result = await app.ainvoke(user(f"q{number}"), thread())
    assert texts(model.requests[-1].messages) == ["q0", "q2", "a2", "q3"]
    assert seen[-1] == ["q0", "q2", "a2", "q3", "a3"]
    wanted = [f"{kind}{n}" for n in range(4) for kind in "qa"]
    assert texts(result["state"].context) == wanted
    assert texts(kept(app).messages) == wanted
    assert any(entry.kind == "context_trim" for entry in kept(app).history)


async def test_a_manager_without_trim_context_does_nothing() -> None:
    graph = StateGraph(Counted, context_manager=MessageContextManager(1))
    model = FakeModel(["a"] * 4)
    graph.add_node("a", Agent(model=model)).add_edge(START, "a").add_edge("a", END)
    app = graph.compile()
    for number in range(4):
        await app.ainvoke(user(f"q{number}"), thread())
    assert len(model.requests[-1].messages) == 7
    assert not any(entry.kind == "context_trim" for entry in kept(app).history)


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_manager_of_ones_own(is_async: bool) -> None:
    class Last(BaseContextManager):
        def trim(self, messages: Sequence[Message]) -> Any:
            async def later() -> Sequence[Message]:
                return messages[-1:]

            return later() if is_async else messages[-1:]

    model = FakeModel(["a"] * 3)
    app = trimming(model, Last())
    for number in range(3):
        await app.ainvoke(user(f"q{number}"), thread())
    assert texts(model.requests[-1].messages) == ["q0", "q2"]


async def test_a_summary_stands_for_what_is_older_and_grows_from_the_last_one() -> None:
    writer = FakeModel(["summary 1", "summary 2"])
    manager = SummaryContextManager(writer, max_messages=5, keep_recent=2)
    model = FakeModel([f"a{n}" for n in range(6)])
    app = trimming(model, manager)
    for number in range(6):
        result = await app.ainvoke(user(f"q{number}"), thread())
    assert result["state"].context_summary == "summary 2"
    assert "summary 1" in writer.requests[1].messages[0].text()
    assert "a2" in writer.requests[1].messages[0].text()
    assert "summary 2" in (model.requests[-1].system or "")
    assert texts(model.requests[-1].messages) == ["q0", "a4", "q5"]
    assert len(result["state"].context) == 12
    assert kept(app).usage.requests == 8


async def test_a_summary_hears_of_tool_results() -> None:
    writer = FakeModel(["short"])
    manager = SummaryContextManager(writer, max_messages=2, keep_recent=1)
    app = trimming(FakeModel(["ok"]), manager)
    talk = [
        Message.user("q"),
        asks(call("1", "f", x=42)),
        result_of("1"),
        Message.assistant("a"),
        Message.user("next"),
    ]
    await app.ainvoke({"messages": talk}, thread())
    told = writer.requests[0].messages[0].text()
    assert "f({'x': 42})" in told
    assert "tool: 1" in told


@pytest.mark.parametrize("failure", [ConnectionError("down"), "  "])
async def test_a_summary_that_fails_leaves_everything_as_it_was(failure: Any) -> None:
    manager = SummaryContextManager(FakeModel([failure]), max_messages=2, keep_recent=1)
    model = FakeModel(["ok"])
    app = trimming(model, manager)
    talk = [Message.user("q"), Message.assistant("a"), Message.user("next")]
    result = await app.ainvoke({"messages": talk}, thread())
    assert texts(model.requests[0].messages) == ["q", "a", "next"]
    assert result["state"].context_summary is None


async def test_many_tokens_are_summarised_as_many_messages_are() -> None:
    writer = FakeModel(["short"])
    manager = SummaryContextManager(writer, 100, token_budget=50, keep_recent=1)
    model = FakeModel(["ok"])
    talk = [Message.user("q"), Message.assistant("long " * 100), Message.user("next")]
    await trimming(model, manager).ainvoke({"messages": talk}, thread())
    assert texts(model.requests[0].messages) == ["q", "next"]


def test_a_graph_takes_only_a_manager_of_ours() -> None:
    manager: Any = object()
    with pytest.raises(TypeError, match="context_manager"):
        StateGraph(Counted, context_manager=manager)
