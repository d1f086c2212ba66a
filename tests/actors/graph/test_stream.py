"""Streams: the same run, event by event."""

from typing import Any

import pytest
import trio
import trio.testing

from actors import Agent, GraphEnded, Message, MessageDelta, StateGraph, emit
from actors.graph import END, START, ToolNode, _stream
from actors.testing import FakeModel
from tests.graphs import (
    Counted,
    adds,
    asks,
    call,
    chain,
    kept,
    says,
    texts,
    thread,
    user,
)


async def read(app: Any, given: Any = None, config: Any = None) -> list[Any]:
    async with app.astream(given or {}, config or thread()) as events:
        return [event async for event in events]


async def test_a_stream_gives_state_messages_updates_and_the_end() -> None:
    app = chain(("a", says("hello")), ("b", adds(1, "x")))
    events = await read(app, user("hi"))
    assert [event.kind for event in events] == [
        "state", "message", "update", "state", "update", "state", "end",
    ]  # fmt: skip
    assert events[1].message.text() == "hello"
    assert events[4].updates == ({"total": 1, "log": ["x"]},)
    assert [e.state.total for e in events if e.kind == "state"] == [0, 0, 1]
    result = events[-1].result
    assert texts(result["messages"]) == ["hi", "hello"]
    assert result["state"].total == 1


async def test_a_stream_and_an_invoke_leave_the_same_thread() -> None:
    app = chain(("a", says("hello")), ("b", adds(1)))
    await app.ainvoke(user("hi"), thread("one"))
    await read(app, user("hi"), thread("two"))
    one, two = kept(app, "one"), kept(app, "two")
    assert [e.kind for e in one.history] == [e.kind for e in two.history]
    assert texts(one.messages) == texts(two.messages)


async def test_pieces_of_a_reply_come_as_deltas_of_their_node() -> None:
    app = chain(("talk", Agent(model=FakeModel(["hello dear world"]))))
    events = await read(app, user("hi"))
    pieces = [event for event in events if isinstance(event, MessageDelta)]
    assert {(piece.node, piece.message.delta) for piece in pieces} == {("talk", True)}
    assert "".join(piece.message.text() for piece in pieces) == "hello dear world"
    assert texts(kept(app).messages) == ["hi", "hello dear world"]


async def test_deltas_that_a_node_returns_are_shown_and_never_stored() -> None:
    piece = Message(role="assistant", content=[], delta=True, message_id="piece")

    async def node(state: Any) -> list[Message]:
        return [piece, Message.assistant("whole")]

    events = await read(chain(("a", node)))
    assert [e.message.message_id for e in events if e.kind == "delta"] == ["piece"]
    assert texts(events[-1].result["messages"]) == ["whole"]


async def test_a_node_and_its_tools_emit_values_of_their_own() -> None:
    async def loud(state: Any) -> Message:
        emit({"at": 1})
        return asks(call("1", "quiet"))

    def quiet() -> str:
        emit("from a thread")
        return "ok"

    app = chain(("a", loud), ("b", ToolNode([quiet])))
    events = await read(app)
    given = [(e.node, e.value) for e in events if e.kind == "custom"]
    assert given == [("a", {"at": 1}), ("b", "from a thread")]
    await app.ainvoke({}, thread())  # nobody streams: nothing happens


async def test_a_failure_is_an_event_and_then_raised() -> None:
    async def fail(state: Any) -> None:
        raise KeyError("x")

    app = chain(("a", adds(1)), ("b", fail))
    events: list[Any] = []
    with pytest.raises(KeyError):
        async with app.astream({}, thread()) as stream:
            async for event in stream:
                assert event.kind
                events.append(event)
    assert [event.kind for event in events] == ["state", "update", "state", "error"]
    assert (await app.aget_state(thread())).total == 1


async def test_an_interrupt_ends_the_stream_with_its_result() -> None:
    app = chain(("a", adds(1)), interrupt_before=["a"])
    events = await read(app)
    assert isinstance(events[-1], GraphEnded)
    assert events[-1].result["interrupts"][0].node == "a"


async def test_leaving_early_stops_and_joins_the_run() -> None:
    ended: list[bool] = []

    async def hang(state: Any) -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append(True)

    app = chain(("a", adds(1)), ("b", hang))
    async with app.astream({}, thread()) as events:
        async for event in events:
            if event.kind == "update":
                break
    assert ended in ([True], [])
    state = await app.aget_state(thread())
    assert state.total in (0, 1)
    assert state.execution_meta.stop_current_execution == "stopped"


async def test_a_plain_async_for_works_and_may_be_left_too() -> None:
    app = chain(("a", adds(1)), ("b", adds(1)))
    async for event in app.astream({}, thread()):
        assert event.kind == "state"
        break
    await trio.testing.wait_all_tasks_blocked()
    assert [event.kind async for event in app.astream({}, thread())][-1] == "end"


async def test_a_reader_that_is_cancelled_stops_the_run() -> None:
    async def hang(state: Any) -> None:
        await trio.sleep_forever()

    app = chain(("a", hang))
    with trio.move_on_after(0.01):
        async for _ in app.astream({}, thread()):
            pass
    state = await app.aget_state(thread())
    assert state.execution_meta.stop_current_execution == "stopped"


async def test_a_slow_reader_holds_the_run_up_and_the_queue_stays_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_stream.Listener.__init__, "__defaults__", (4,))
    graph = StateGraph(Counted).add_node("a", adds(1)).add_edge(START, "a")
    graph.add_conditional_edges(
        "a", lambda s: END if s.total >= 20 else "a", ["a", END]
    )
    app = graph.compile()
    most = 0
    async with app.astream({}, thread()) as stream:
        async for _ in stream:
            await trio.testing.wait_all_tasks_blocked()
            most = max(most, len(stream._hosted.listener._events))
    assert 1 < most <= 6
    assert (await app.aget_state(thread())).total == 20


def test_plain_code_streams_and_may_leave() -> None:
    app = chain(("a", says("hello")), ("b", adds(1)))
    kinds = [event.kind for event in app.stream(user("hi"), thread())]
    assert kinds[0] == "state"
    assert kinds[-1] == "end"
    for event in app.stream(user("again"), thread()):
        assert event.kind == "state"
        break
    assert app.invoke({}, thread())["state"].total >= 2


async def test_a_wrong_input_is_refused_before_the_stream_begins() -> None:
    app = chain(("a", adds(1)))
    with pytest.raises(ValueError, match="'message'"):
        app.astream({"message": 1})


async def test_events_hold_objects_of_their_own() -> None:
    app = chain(("a", adds(1)), ("b", adds(1)))
    states = [e.state for e in await read(app) if e.kind == "state"]
    states[1].total = 99
    assert [state.total for state in states] == [0, 99, 2]
