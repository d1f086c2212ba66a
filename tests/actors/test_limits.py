"""Limits of a tree: reserved before they are spent, never overrun."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from actors import (
    Agent,
    FunctionModel,
    Inbox,
    Limits,
    MemoryStore,
    Message,
    Reply,
    State,
    StoppedByBudget,
    TextBlock,
    Usage,
    afan_out,
    open_supervisor,
    tool,
)
from actors.testing import FakeModel, tool_call
from protocol import BudgetExceeded


def quiet(model: Any, **settings: Any) -> Agent:
    return Agent(model, **{"reporter": None, "human": None, **settings})


@tool
async def step() -> str:
    return "ok"


@pytest.mark.parametrize(
    "wrong",
    [
        {"requests": -1},
        {"tokens": 1.5},
        {"cost": "1"},
        {"depth": True},
        {"seconds": -1},
    ],
)
def test_a_wrong_limit_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Limits(**wrong)


@pytest.mark.parametrize("agents", [1, 5, 40])
async def test_requests_are_never_overrun_at_any_parallelism(agents: int) -> None:
    model = FakeModel([tool_call("step")] * 1_000)
    agent = quiet(model, tools=[step])
    async with open_supervisor(limits=Limits(requests=23)) as supervisor:
        results = await supervisor.map(agent, ["x"] * agents)
    assert len(model.requests) == 23
    assert {type(result.error) for result in results} == {BudgetExceeded}


@pytest.mark.parametrize(
    ("limits", "usage"),
    [
        (Limits(tokens=100), Usage(input_tokens=30, output_tokens=10, requests=1)),
        (Limits(cost=1.0), Usage(requests=1, cost=0.4)),
    ],
)
async def test_no_request_starts_once_tokens_or_cost_are_spent(
    limits: Limits, usage: Usage
) -> None:
    call = Message(role="assistant", content=[tool_call("step")])
    model = FakeModel([Reply(message=call, usage=usage)] * 9)
    state = State(messages=[Message.user("x")])
    await quiet(model, tools=[step], limits=limits).arun(state)
    assert len(model.requests) == 3
    assert isinstance(state.stopped, StoppedByBudget)


async def test_a_request_that_waited_while_all_was_spent_is_not_sent(
    autojump_clock: MockClock,
) -> None:
    asked: list[float] = []

    async def answer(_request: object) -> Reply:
        asked.append(trio.current_time())
        message = Message(role="assistant", content=[TextBlock(text="answer")])
        return Reply(message=message, usage=Usage(output_tokens=9, requests=1))

    class Slow(MemoryStore):
        """Its writes of one State take longer than a reply."""

        async def awrite(self, state_id: str, *rest: Any, **more: Any) -> None:
            await trio.sleep(0 if state_id == "quick" else 1)
            await super().awrite(state_id, *rest, **more)

    agent = quiet(FunctionModel(answer), store=Slow())
    states = [
        State(id=name, messages=[Message.user("go")]) for name in ("quick", "slow")
    ]
    async with open_supervisor(limits=Limits(tokens=5, requests=2)) as supervisor:
        quick, slow = [supervisor.start(agent, state) for state in states]
        assert await quick.wait() == "answer"
        with pytest.raises(BudgetExceeded, match="tokens"):
            await slow.wait()
        assert supervisor._accounts[0].requests == 1
    assert len(asked) == 1
    assert states[1].phase == "idle"
    assert states[1].usage.requests == 0


async def test_a_request_that_fails_its_checks_is_given_back() -> None:
    model = FakeModel(["a", "b"])
    agent = quiet(model, limits=Limits(requests=1))
    state = State(messages=[Message.user("x")])

    async def twice(agent: Agent, state: State) -> Any:
        finished = State(messages=[Message.user("y")])
        finished.finish()
        with pytest.raises(ValueError, match="finished"):
            await agent.athink(finished)
        return (await agent.athink(state)).text

    assert await agent.copy(loop=twice).arun(state) == "a"


async def test_depth_ends_in_a_readable_error_and_the_tree_unwinds() -> None:
    depths: list[int] = []

    def rule(request: Any) -> Any:
        last = request.messages[-1]
        if last.role == "user":
            depths.append(1)
            return tool_call("down", prompt="deeper")
        return f"<{last.text()}>"

    agents: list[Agent] = []

    @tool
    async def down(prompt: str) -> Any:
        return await agents[0].arun(prompt)

    base = quiet(FunctionModel(rule), name="self", tools=[down], on_error="result")
    agents.append(base)
    top = base.copy(limits=Limits(depth=3))
    answer = await top.arun("go")
    assert len(depths) == 4
    assert answer.startswith("<<<<")
    assert "depth" in answer


async def test_calls_beyond_the_limit_of_a_turn_get_an_error_result() -> None:
    ran: list[int] = []

    @tool
    async def note(n: int) -> str:
        ran.append(n)
        return "ok"

    model = FakeModel([[tool_call("note", n=n) for n in range(5)], "done"])
    state = State(messages=[Message.user("x")])
    await quiet(model, tools=[note], limits=Limits(calls_per_turn=3)).arun(state)
    outcomes = [e.outcome for e in state.history if e.kind == "tool_result"]
    assert sorted(outcomes) == ["done", "done", "done", "error", "error"]
    assert ran == [0, 1, 2]


async def test_the_outermost_limit_that_is_reached_wins(
    autojump_clock: MockClock,
) -> None:
    child = quiet(
        FunctionModel(lambda request: tool_call("step")),
        tools=[step],
        name="child",
        limits=Limits(requests=2),
    )
    seen: list[str] = []

    def rule(request: Any) -> Any:
        seen.append(request.messages[-1].text())
        return tool_call("child", prompt="p")

    state = State(messages=[Message.user("x")])
    agent = quiet(FunctionModel(rule), tools=[child], limits=Limits(requests=7))
    await agent.arun(state)
    assert state.stopped == StoppedByBudget(limit="requests", owner=state.id)
    assert state.usage.requests == 7
    assert all("its limit on requests" in text for text in seen[1:])
    assert state.pending_calls == ()


async def test_a_deadline_ends_the_run_with_its_history(
    autojump_clock: MockClock,
) -> None:
    @tool
    async def slow() -> None:
        await trio.sleep(4)

    model = FakeModel([tool_call("slow")] * 9)
    state = State(messages=[Message.user("x")])
    await quiet(model, tools=[slow], limits=Limits(seconds=10)).arun(state)
    assert trio.current_time() == pytest.approx(10)
    assert state.stopped == StoppedByBudget(limit="seconds", owner=state.id)
    outcomes = [e.outcome for e in state.history if e.kind == "tool_result"]
    assert outcomes == ["done", "done", "interrupted"]


@pytest.mark.parametrize(("counted", "ends"), [(True, 5.0), (False, 105.0)])
async def test_waiting_for_a_human_counts_or_not_as_asked(
    counted: bool, ends: float, autojump_clock: MockClock
) -> None:
    async def ask_then_wait(agent: Agent, state: State) -> None:
        await agent.aask_human(state, "ready?")
        await trio.sleep(50)

    state = State(messages=[Message.user("x")])
    agent = quiet(
        FakeModel(),
        human=Inbox(),
        loop=ask_then_wait,
        limits=Limits(seconds=5, count_waiting=counted),
    )
    async with open_supervisor() as supervisor:
        run = supervisor.start(agent, state)
        await trio.sleep(100)
        for question in supervisor.questions():
            state.answer_question(question.id, "yes")
        await run.wait()
    assert trio.current_time() == pytest.approx(max(ends, 100.0))
    assert isinstance(state.stopped, StoppedByBudget)


async def test_a_limit_above_is_raised_to_whoever_fans_out() -> None:
    agent = quiet(FunctionModel(lambda request: "hi"))
    async with open_supervisor(limits=Limits(requests=1)):
        results = await afan_out(agent, ["a", "b"])
    assert sorted(r.outcome for r in results) == ["done", "error"]
