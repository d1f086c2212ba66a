"""O17: messages that arrive in the middle of a turn wait for it, and go in once."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from actors import MemoryStore, Message, RunCancelled, State, open_supervisor
from tests.regression.stage import agent, assert_whole, call, results, state


class Busy:
    """A turn that stands in a tool, or in the model, until it is let go."""

    def __init__(self, calls: int, **settings: Any) -> None:
        self.let_go = trio.Event()
        self.seen: list[list[str]] = []
        self.agent = agent(
            [call("work") for _ in range(calls)],
            self.last,
            tools=[self.work],
            **settings,
        )

    async def work(self) -> str:
        await self.let_go.wait()
        return "worked"

    def last(self, request: Any) -> str:
        self.seen.append([m.text() for m in request.messages if m.role != "assistant"])
        return "done"


@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("count", [2, 9])
@pytest.mark.parametrize("make", [Message.user, Message.notice], ids=["user", "notice"])
async def test_held_messages_go_in_after_the_results_before_the_next_request_once(
    autojump_clock: trio.testing.MockClock,
    calls: int,
    count: int,
    make: Callable[[str], Message],
) -> None:
    busy, asked = Busy(calls), state()
    new = [make(f"late {n}") for n in range(count)]
    async with open_supervisor() as supervisor:
        run = supervisor.start(busy.agent, asked)
        await trio.testing.wait_all_tasks_blocked()
        for message in new:
            asked.add_message(message)
        texts = [message.text() for message in new]
        assert [m.text() for m in asked.held_messages] == texts
        assert not {*texts} & {m.text() for m in asked.messages}
        again = State(history=asked.history)
        assert [m.text() for m in again.held_messages] == texts
        busy.let_go.set()
        assert await run.wait() == "done"
    assert busy.seen == [["go", "worked" * calls, *texts]]
    assert asked.held_messages == ()
    assert [m.text() for m in asked.messages].count(texts[0]) == 1
    assert_whole(asked)


@pytest.mark.parametrize("calls", [1, 3])
async def test_a_cancelled_turn_keeps_what_was_held(
    autojump_clock: trio.testing.MockClock, calls: int
) -> None:
    busy, asked = Busy(calls), state()
    async with open_supervisor() as supervisor:
        run = supervisor.start(busy.agent, asked)
        await trio.testing.wait_all_tasks_blocked()
        asked.add_message(Message.user("one"))
        asked.add_message(Message.user("two"))
        await run.cancel()
        with pytest.raises(RunCancelled):
            await run.wait()
    assert asked.held_messages == ()
    assert [m.text() for m in asked.messages][-2:] == ["one", "two"]
    assert asked.messages[-3].role == "tool"
    assert_whole(asked)
    assert await busy.agent.arun(asked) == "done"
    assert busy.seen[0][-2:] == ["one", "two"]


@pytest.mark.parametrize("ending", ["answers", "fails", "is cancelled"])
async def test_messages_during_a_think_are_held_until_it_ends_however_it_ends(
    autojump_clock: trio.testing.MockClock, ending: str
) -> None:
    async def answer(request: Any) -> str:
        await trio.sleep(1)
        if ending == "fails":
            raise ValueError("broken")
        return "answer"

    asked = state()
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent(answer), asked)
        await trio.testing.wait_all_tasks_blocked()
        assert asked.phase == "thinking"
        asked.add_message(Message.user("meanwhile"))
        assert [m.text() for m in asked.held_messages] == ["meanwhile"]
        if ending == "is cancelled":
            await run.cancel()
    texts = [m.text() for m in asked.messages]
    if ending == "answers":
        # The answer did not see it: the run asks again, and answers to it.
        assert texts == ["go", "answer", "meanwhile", "answer"]
    else:
        assert texts == ["go", "meanwhile"]
    assert_whole(asked)


async def test_held_messages_are_saved_and_loaded(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = MemoryStore()
    busy, asked = Busy(1, store=store), state()
    async with open_supervisor() as supervisor:
        run = supervisor.start(busy.agent, asked)
        await trio.testing.wait_all_tasks_blocked()
        asked.add_message(Message.user("late"))
        await store.asave(asked)
        there = await MemoryStore.aload(store, asked.id)
        assert [m.text() for m in there.held_messages] == ["late"]
        await run.cancel()
    assert len(results(asked)) == 1
