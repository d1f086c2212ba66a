"""O15: a cancelled approval is closed, holds up nothing, and takes no late answer."""

from typing import Any

import pytest
import trio
import trio.testing

from actors import (
    AllowByDefault,
    DecideByHuman,
    Inbox,
    Message,
    RunCancelled,
    State,
    open_supervisor,
)
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    kinds,
    outcomes,
    state,
)


class Guarded:
    """An agent whose every call of ``write`` needs an approval."""

    def __init__(self, calls: int = 1, **settings: Any) -> None:
        self.written = 0
        settings.setdefault("human", Inbox())
        settings.setdefault("permissions", [DecideByHuman("write"), AllowByDefault()])
        self.agent = agent(
            [call("write") for _ in range(calls)],
            lambda request: f"answer to {request.messages[-1].text()}",
            tools=[self.write],
            **settings,
        )

    async def write(self) -> str:
        self.written += 1
        return "written"


async def wait_for_questions(of: State, count: int) -> list[str]:
    while len(of.questions) < count:
        await trio.testing.wait_all_tasks_blocked()
    return [question.id for question in of.questions]


@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("answered", [0, 1])
async def test_a_cancel_closes_the_question_and_a_later_answer_is_refused(
    autojump_clock: trio.testing.MockClock, calls: int, answered: int
) -> None:
    guarded, asked = Guarded(calls), state()
    async with open_supervisor() as supervisor:
        run = supervisor.start(guarded.agent, asked)
        ids = await wait_for_questions(asked, calls)
        assert len({*ids}) == calls
        assert [q.id for q in supervisor.questions()] == ids
        assert run.status == "waiting for a human"
        if answered and calls > 1:
            asked.answer_question(ids[0], "yes")
        await run.cancel("changed my mind")
        assert asked.questions == ()
        assert supervisor.questions() == ()
        with pytest.raises(RunCancelled):
            await run.wait()
    assert outcomes(asked) == ["interrupted"] * calls
    assert guarded.written == 0
    assert_whole(asked)
    before = asked.history
    for question_id in ids:
        with pytest.raises(ValueError, match=question_id):
            asked.answer_question(question_id, "yes")
    assert asked.history == before
    asked.add_message(Message.user("something else"))
    assert await guarded.agent.arun(asked) == "answer to something else"
    assert guarded.written == 0
    assert_whole(asked)


async def test_a_scope_around_the_run_closes_the_question_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    guarded, asked = Guarded(), state()
    with trio.move_on_after(100):
        await guarded.agent.arun(asked)
    assert trio.current_time() == 100
    assert asked.questions == ()
    assert outcomes(asked) == ["interrupted"]
    assert_whole(asked)


@pytest.mark.parametrize("wait_s", [0, 5])
async def test_a_run_that_stopped_with_open_questions_can_be_given_up(
    autojump_clock: trio.testing.MockClock, wait_s: float
) -> None:
    guarded, asked = Guarded(human=Inbox(wait_s=wait_s)), state()
    await guarded.agent.arun(asked)
    assert trio.current_time() == wait_s
    assert asked.stopped is not None
    assert asked.stopped.kind == "question"
    assert len(asked.questions) == 1
    assert len(asked.pending_calls) == 1
    with trio.move_on_after(1):
        await guarded.agent.copy(human=Inbox()).arun(asked)
    assert asked.questions == ()
    assert outcomes(asked) == ["interrupted"]
    assert_whole(asked)


@pytest.mark.parametrize(("answer", "written"), [("yes", 1), ("no", 0)])
async def test_a_run_that_stopped_goes_on_from_the_answer_it_got_meanwhile(
    autojump_clock: trio.testing.MockClock, answer: str, written: int
) -> None:
    guarded, asked = Guarded(human=Inbox(wait_s=0)), state()
    await guarded.agent.arun(asked)
    asked.answer_question(asked.questions[0].id, answer)
    await guarded.agent.arun(asked)
    assert guarded.written == written
    assert outcomes(asked) == ["done" if written else "denied"]
    assert kinds(asked).count("question") == 1
    assert_whole(asked)


async def test_answers_come_in_any_order_and_each_reaches_the_call_that_asked(
    autojump_clock: trio.testing.MockClock,
) -> None:
    got: list[int] = []

    async def write(n: int) -> str:
        got.append(n)
        return f"wrote {n}"

    asked = state()
    root = agent(
        [call("write", n=n) for n in range(4)],
        "done",
        tools=[write],
        human=Inbox(),
        permissions=[DecideByHuman("write")],
    )
    async with open_supervisor() as supervisor:
        run = supervisor.start(root, asked)
        await wait_for_questions(asked, 4)
        by_n = {q.call.args["n"]: q.id for q in asked.questions if q.call is not None}
        for n, answer in [(3, "yes"), (1, "not that one"), (0, "no"), (2, True)]:
            asked.answer_question(by_n[n], answer)
        assert await run.wait() == "done"
    assert sorted(got) == [2, 3]
    by_call = {e.call.args["n"]: e for e in asked.history if e.kind == "tool_result"}
    assert [by_call[n].outcome for n in range(4)] == [
        "denied",
        "denied",
        "done",
        "done",
    ]
    assert "not that one" in str(by_call[1].content)
    assert_whole(asked)
