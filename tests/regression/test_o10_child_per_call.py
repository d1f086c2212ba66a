"""O10: each call of a subagent is an actor of its own."""

from typing import Any

import pytest
import trio

from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    in_call_order,
    requested,
    state,
)


@pytest.mark.parametrize("count", [1, 4, 60])
@pytest.mark.parametrize("window", [1, 3, 100])
async def test_one_definition_called_often_gives_as_many_separate_conversations(
    autojump_clock: trio.testing.MockClock, count: int, window: int
) -> None:
    seen: list[list[str]] = []

    async def echo(request: Any) -> str:
        texts = [message.text() for message in request.messages]
        seen.append(texts)
        await trio.sleep(count - int(texts[0].split()[1]))
        return f"did {texts[0]}"

    worker = agent(echo, name="worker")
    asked = state()
    root = agent(
        [call("worker", prompt=f"task {n}") for n in range(count)],
        "all done",
        tools=[worker],
        max_parallel=window,
    )
    assert await root.arun(asked) == "all done"
    assert sorted(seen) == sorted([f"task {n}"] for n in range(count))
    entries = in_call_order(asked)
    assert [entry.content for entry in entries] == [
        f"did task {n}" for n in range(count)
    ]
    assert [entry.call.id for entry in entries] == [c.id for c in requested(asked)]
    children = [entry.child_ids for entry in entries]
    assert all(len(ids) == 1 for ids in children)
    assert len({ids[0] for ids in children}) == count
    for n, (child_id,) in enumerate(children):
        child = asked.child(child_id)
        assert [m.text() for m in child.messages] == [f"task {n}", f"did task {n}"]
        assert child.parent_id == asked.id
        assert child.parent_call_id == entries[n].call.id
        assert_whole(child)
    assert asked.usage.requests == count + 2
    assert_whole(asked)


async def test_a_second_turn_starts_fresh_children_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    worker = agent(lambda request: f"{len(request.messages)} seen", name="worker")
    asked = state()
    root = agent(
        call("worker", prompt="one"),
        call("worker", prompt="two"),
        "done",
        tools=[worker],
    )
    await root.arun(asked)
    entries = in_call_order(asked)
    assert [entry.content for entry in entries] == ["1 seen", "1 seen"]
    assert entries[0].child_ids != entries[1].child_ids
