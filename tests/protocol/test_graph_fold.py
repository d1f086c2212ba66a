"""The thread of a graph: what each entry does, and what cannot follow what."""

from typing import Any

import pytest

from protocol import Message, Usage
from protocol._commands import (
    EndGraph,
    EndNode,
    EndStep,
    Pause,
    StartGraph,
    StartNode,
    TrimContext,
)
from protocol._decide import step
from protocol._entries import (
    GraphEndEntry,
    GraphStartEntry,
    InterruptEntry,
    MessageEntry,
    ModelRequestEntry,
    NodeEndEntry,
    NodeStartEntry,
    StepEndEntry,
    TrimEntry,
)
from protocol._entry import EPOCH
from protocol._fold import fold, replay
from protocol._graph_entries import (
    Goto,
    GraphEnd,
    GraphStart,
    GraphUpdate,
    Interrupt,
    NodeEnd,
    NodeTask,
    StepEnd,
    Trim,
)
from protocol._graph_fold import view_of
from protocol._graph_value import GraphThread, Named
from protocol._json import FrozenDict
from protocol._lines import lines
from protocol._value import NOTHING_RECORDED, Value
from tests.effort import instructions

ONE, TWO = NodeTask("1", "one"), NodeTask("2", "two")


def start(*tasks: NodeTask, **fields: Any) -> GraphStartEntry:
    return GraphStartEntry(content=GraphStart(tasks=tasks, **fields))


def done(task: NodeTask, *messages: Message, **fields: Any) -> NodeEndEntry:
    updates = (GraphUpdate(messages=messages),) if messages else ()
    end = NodeEnd(
        task_id=task.id, node=task.node, outcome="done", updates=updates, **fields
    )
    return NodeEndEntry(content=end)


def thread(value: Value) -> GraphThread:
    assert isinstance(value.open, GraphThread)
    return value.open


def texts(value: Value) -> list[str]:
    return [message.text() for message in value.messages.iterate(value.count)]


def test_a_run_begins_with_its_messages_fields_and_tasks() -> None:
    entry = start(ONE, messages=(Message.user("hi"),), fields={"total": 10})
    value = fold(NOTHING_RECORDED, entry)
    assert texts(value) == ["hi"]
    assert thread(value).fields == {"total": 10}
    assert (thread(value).status, thread(value).tasks) == ("running", (ONE,))
    assert value.phase == "idle"
    assert value.facts.first_user is not None


def test_the_end_of_a_node_costs_the_same_among_many() -> None:
    def cost_of_the_last(size: int) -> int:
        tasks = [NodeTask(str(number), "one") for number in range(size)]
        value = replay([start(*tasks), *map(done, tasks[:-1])])
        last = done(tasks[-1])
        return instructions(lambda: fold(value, last))

    assert cost_of_the_last(1_000) <= 1.05 * cost_of_the_last(10)


def test_things_by_name_are_a_value_that_forks_share() -> None:
    first = Named[int]().plus("a", 1)
    assert list(first.plus("b", 2).items()) == [("a", 1), ("b", 2)]
    assert list(first.plus("c", 3)) == [1, 3], "a fork goes its own way"
    assert list(first.plus("c", 3).plus("a", 4).items()) == [("c", 3), ("a", 4)]
    assert (first.get("a"), first.get("b"), len(first)) == (1, None, 1)
    assert (Named[int]().get("a"), "a" in first, "b" in first) == (None, True, False)
    assert first == Named.of([("a", 1)]) != Named()
    assert hash(first) == hash(Named.of([("a", 1)]))
    assert first != (1,)
    assert repr(first) == "Named({'a': 1})"


def test_updates_wait_for_the_end_of_the_step() -> None:
    second = Message.assistant("second")
    history = [
        start(ONE, TWO),
        NodeStartEntry(content=ONE),
        done(TWO, second),
        done(ONE, Message.assistant("first"), second),
    ]
    value = replay(history)
    assert texts(value) == []
    assert [end.task_id for end in thread(value).done] == ["2", "1"]
    end = StepEnd(
        fields={"total": 1}, tasks=(NodeTask("3", "one"),), joins={"j": ["a"]}
    )
    value = fold(value, StepEndEntry(content=end))
    assert texts(value) == ["first", "second"]
    assert thread(value).fields == {"total": 1}
    assert (thread(value).step, tuple(thread(value).done)) == (1, ())
    assert thread(value).joins == {"j": ["a"]}
    assert value.reply_answer == "second"


def test_a_context_that_is_replaced_begins_anew() -> None:
    kept = Message.assistant("kept")
    history = [
        start(ONE, messages=(Message.user("old"),)),
        done(ONE, kept),
        StepEndEntry(content=StepEnd(context=(kept,))),
    ]
    value = replay(history)
    assert texts(value) == ["kept"]
    assert thread(value).begin == 0


def test_a_message_of_a_known_id_is_not_put_in_again() -> None:
    message = Message.user("hi")
    value = replay([start(ONE, messages=(message, message)), done(ONE, message)])
    value = fold(value, StepEndEntry(content=StepEnd()))
    assert texts(value) == ["hi"]


def test_a_conversation_becomes_a_thread_with_its_messages() -> None:
    message = Message.user("before")
    value = replay([MessageEntry(message=message), start(ONE, messages=(message,))])
    assert texts(value) == ["before"]
    assert thread(value).begin == 1


def test_a_pause_and_the_run_that_goes_on_from_it() -> None:
    ask = Interrupt("q", "one", "sure?")
    history = [start(ONE), InterruptEntry(content=(ask,))]
    value = replay(history)
    assert (thread(value).status, thread(value).interrupts) == (
        "interrupted_before",
        (ask,),
    )
    value = fold(value, start(goes_on=True, answers={"q": "yes"}))
    assert (thread(value).status, thread(value).passed) == ("running", True)
    assert (thread(value).interrupts, thread(value).answers) == ((), {"q": "yes"})
    value = fold(value, start(TWO))
    assert (thread(value).answers, thread(value).passed) == ({}, False)


@pytest.mark.parametrize(
    ("status", "shown", "stopped"),
    [
        ("completed", "completed", False),
        ("error", "error", False),
        ("stopped", "error", True),
    ],
)
def test_a_run_ends(status: Any, shown: str, stopped: bool) -> None:
    end = GraphEndEntry(content=GraphEnd(status=status, text="why"))
    value = replay([start(ONE), end])
    assert (thread(value).status, thread(value).stopped) == (shown, stopped)
    assert thread(value).can_go_on == (status != "completed")


def test_a_trim_is_a_view_and_adds_what_it_cost() -> None:
    messages = tuple(Message.user(str(number)) for number in range(4))
    trim = TrimEntry(
        content=Trim(kept=(0,), upto=3, summary="so far"), usage=Usage(requests=1)
    )
    value = replay([start(ONE, messages=messages), trim])
    assert [message.text() for _, message in view_of(value)] == ["0", "3"]
    assert len(texts(value)) == 4
    assert thread(value).fields == {"context_summary": "so far"}
    assert value.usage.requests == 1


def test_what_a_node_spent_counts_whatever_its_outcome() -> None:
    end = NodeEnd(task_id="1", node="one", outcome="error", text="no")
    entry = NodeEndEntry(content=end, usage=Usage(requests=2))
    value = replay([start(ONE), entry])
    assert value.usage.requests == 2
    assert not thread(value).done
    again = NodeStartEntry(content=ONE, child_id="child")
    value = fold(value, again)
    assert dict(thread(value).children.items()) == {"1": "child"}
    assert value.history.has_child(value.size, "child")


WRONG: list[tuple[list[Any], Any, str]] = [
    ([], done(ONE), "no run of a graph"),
    ([], NodeStartEntry(content=ONE), "no run of a graph"),
    ([start(ONE)], NodeStartEntry(content=TWO), "not one of this step"),
    ([start(ONE)], done(TWO), "not one of this step"),
    ([start(ONE), done(ONE)], done(ONE), "has ended already"),
    ([start(ONE)], StepEndEntry(content=StepEnd()), "has not ended yet"),
    ([], start(goes_on=True), "nothing to go on from"),
    ([start(ONE)], start(goes_on=True, answers={"q": 1}), "no interrupt 'q'"),
    (
        [start(), GraphEndEntry(content=GraphEnd(status="completed"))],
        start(goes_on=True),
        "nothing to go on from",
    ),
    ([start()], TrimEntry(content=Trim(upto=1)), "no view up to message 1"),
    ([start()], TrimEntry(content=Trim(kept=(0,))), "no view up to message 0"),
    ([start()], ModelRequestEntry(content="fake/one"), "thread of a graph"),
    ([ModelRequestEntry(content="fake/one")], start(), "turn of a conversation"),
]


@pytest.mark.parametrize(("before", "entry", "why"), WRONG)
def test_what_cannot_follow_is_refused_with_its_place(
    before: list[Any], entry: Any, why: str
) -> None:
    value = replay(before)
    with pytest.raises(ValueError, match=why) as raised:
        fold(value, entry)
    assert str(raised.value).startswith(f"entry {len(before)} ({entry.kind})")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (EndStep(StepEnd()), "has not ended yet"),
        (TrimContext(Trim(upto=9)), "no view up to message 9"),
        (StartNode(TWO), "not one of this step"),
        (StartGraph(GraphStart(goes_on=True, answers={"q": 1})), "no interrupt 'q'"),
    ],
)
def test_a_command_that_cannot_be_is_refused_before_it_is_an_entry(
    command: Any, why: str
) -> None:
    value = fold(NOTHING_RECORDED, start(ONE))
    with pytest.raises(ValueError, match=why):
        step(value, command, lambda: EPOCH)


def test_a_finished_state_runs_no_graph() -> None:
    from protocol._commands import Finish

    value = step(NOTHING_RECORDED, Finish(None), lambda: EPOCH)
    with pytest.raises(ValueError, match="finished"):
        step(value, StartGraph(GraphStart()), lambda: EPOCH)


def test_messages_get_a_time_and_pieces_are_left_out() -> None:
    piece = Message(role="assistant", content=(), delta=True)
    first = StartGraph(GraphStart(messages=(Message.user("hi"), piece), tasks=(ONE,)))
    value = step(NOTHING_RECORDED, first, lambda: EPOCH)
    update = GraphUpdate(messages=(Message.assistant("a"), piece))
    fields = GraphUpdate(fields={"total": 1})
    end = NodeEnd(task_id="1", node="one", outcome="done", updates=(fields, update))
    value = step(value, EndNode(end), lambda: EPOCH)
    value = step(value, EndStep(StepEnd()), lambda: EPOCH)
    found = list(value.messages.iterate(value.count))
    assert [message.text() for message in found] == ["hi", "a"]
    assert all(message.timestamp == 0 for message in found)


def test_a_thread_reads_as_lines() -> None:
    value = NOTHING_RECORDED
    for command in (
        StartGraph(GraphStart(tasks=(ONE,))),
        StartNode(ONE),
        TrimContext(Trim(summary="so far")),
        EndNode(NodeEnd(task_id="1", node="one", outcome="done", goto=(Goto("two"),))),
        EndStep(StepEnd(fields={"total": 1}, tasks=(TWO,))),
        Pause((Interrupt("q", "two", "sure?"),), "interrupted_after"),
        StartGraph(GraphStart(goes_on=True)),
        EndGraph(GraphEnd(status="stopped", text="enough")),
    ):
        value = step(value, command, lambda: EPOCH)
    told = "\n".join(lines(value.history.read(value.size)))
    for part in ("one done", "updated: total; next: two", "q: 'sure?'", "goes on"):
        assert part in told


def test_what_entries_hold_is_frozen() -> None:
    entry = start(ONE, fields={"a": {"b": []}}, answers={})
    assert isinstance(entry.content.fields["a"], FrozenDict)
    ask = Interrupt("q", "one", {"a": []})
    assert isinstance(ask.value, FrozenDict)
