"""An agent: its settings, its runs, and the steps that a run is made of."""

import asyncio
import re
from typing import Any

import pytest
import trio

from actors import (
    Agent,
    FunctionModel,
    Limits,
    Message,
    Reply,
    State,
    StoppedByFinish,
    StoppedByLimit,
    StoppedByUntil,
    Usage,
    afan_out,
    loop,
    open_supervisor,
    tool,
    waiting_for_user,
)
from actors.testing import FakeModel, tool_call
from protocol import CutOffError, ModelReplyEntry, OutputError, ToolError


def quiet(model: Any, **settings: Any) -> Agent:
    return Agent(model, **{"reporter": None, "human": None, **settings})


@tool
async def double(n: int) -> int:
    return 2 * n


def kinds(state: State) -> list[str]:
    return [entry.kind for entry in state.history]


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"model": 7}, TypeError, "FunctionModel"),
        ({"model": "nobody"}, ValueError, "base_url"),
        ({"busy": "wait"}, ValueError, "'queue'"),
        ({"siblings": "kill"}, ValueError, "'cancel'"),
        ({"on_error": "ignore"}, ValueError, "'result'"),
        ({"max_parallel": 0}, ValueError, "max_parallel"),
        ({"max_parallel": True}, ValueError, "max_parallel"),
        ({"grace_s": -1}, ValueError, "grace_s"),
        ({"limits": {"requests": 3}}, TypeError, "Limits("),
        ({"system": 3}, TypeError, "system="),
        ({"name": "\ud800"}, ValueError, "name= has half of a surrogate pair"),
        ({"system": "\ud800"}, ValueError, "system= has half of a surrogate"),
        ({"description": "\ud800"}, ValueError, "description= has half"),
        ({"model": FakeModel(name="\ud800")}, ValueError, "model= has half"),
        ({"reporter": print}, TypeError, "takes a Reporter, such as Terminal"),
        ({"human": "me"}, TypeError, "takes a Human, such as Terminal"),
        ({"store": "runs"}, TypeError, "takes a Store, such as FileStore"),
        ({"trim_context": 1}, TypeError, "is True or False, not 1"),
        ({"loop": 3}, TypeError, "@loop"),
        ({"tools": double}, TypeError, "tools=["),
        ({"tools": [double, double]}, ValueError, "'double'"),
        ({"tools": [quiet(FakeModel())]}, ValueError, "name"),
        ({"permissions": "all"}, TypeError, "not a permission"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_wrong_setting_is_refused_with_the_way_out(
    settings: dict[str, Any], error: type[Exception], says: str
) -> None:
    given = {"model": FakeModel(), **settings}
    with pytest.raises(error, match=says.replace("(", r"\(").replace("[", r"\[")):
        Agent(given.pop("model"), **given)


def test_a_copy_has_the_changed_settings_and_keeps_the_others() -> None:
    agent = quiet(FakeModel(), system="be brief", tools=[double], name="a")
    copy = agent.copy(system="be long")
    assert copy.system == "be long"
    assert copy.name == "a"
    assert list(copy.tool_map) == ["double"]
    assert agent.system == "be brief"
    with pytest.raises(TypeError, match="colour"):
        agent.copy(colour="red")
    with pytest.raises(AttributeError):
        agent.system = "x"  # type: ignore[misc] # that is what is tested


def test_a_copy_of_an_agent_with_a_model_by_name_has_the_very_model() -> None:
    agent = Agent("m", base_url="http://localhost:1/v1", reporter=None)
    assert agent.copy(name="a").model is agent.model
    other = agent.copy(model="n", base_url="http://localhost:2/v1")
    assert other.model.name.endswith("/n")


async def test_a_run_thinks_uses_tools_and_thinks_again() -> None:
    model = FakeModel([tool_call("double", n=21), "it is 42"])
    state = State(messages=[Message.user("go")])
    assert await quiet(model, tools=[double]).arun(state) == "it is 42"
    assert kinds(state) == [
        "context_change", "run_start", "model_request", "model_reply", "tool_result",
        "model_request", "model_reply", "stop",
    ]  # fmt: skip
    assert state.stopped == StoppedByUntil(name="waiting_for_user")
    assert state.usage.requests == 2
    assert [m.role for m in model.requests[1].messages] == ["user", "assistant", "tool"]


async def test_a_text_makes_a_fresh_state_for_each_run() -> None:
    model = FakeModel(["one", "two"])
    agent = quiet(model)
    assert [await agent.arun("a"), await agent.arun("b")] == ["one", "two"]
    assert [len(request.messages) for request in model.requests] == [1, 1]


async def test_neither_text_nor_state_is_refused() -> None:
    with pytest.raises(TypeError, match="a text or a State"):
        await quiet(FakeModel()).arun(7)  # type: ignore[arg-type] # what is tested


async def test_a_finished_state_is_not_run_again() -> None:
    state = State(messages=[Message.user("x")])
    state.finish("done")
    before = state.history
    agent = quiet(FakeModel(["never"]))
    for step in (
        agent.arun(state),
        agent.athink(state),
        agent.ause_tools(state),
        agent.aask(state, "why?"),
    ):
        with pytest.raises(ValueError, match="finished"):
            await step
    assert state.history == before


async def test_a_tool_may_finish_the_state_and_the_loop_ends_before_its_next_turn() -> (
    None
):
    @tool
    async def submit(answer: str, state: State) -> str:
        state.finish({"answer": answer})
        return "thank you"

    model = FakeModel([tool_call("submit", answer="42"), "never asked"])
    state = State(messages=[Message.user("go")])
    answer = await quiet(model, tools=[submit]).arun(state)
    assert answer == {"answer": "42"}
    assert isinstance(state.stopped, StoppedByFinish)
    assert model.remaining == 1


async def test_a_failed_request_is_taken_back_and_the_next_run_goes_on() -> None:
    model = FakeModel([OSError("no net"), "hello"])
    state = State(messages=[Message.user("hi")])
    agent = quiet(model)
    with pytest.raises(OSError, match="no net"):
        await agent.arun(state)
    assert (state.turn, state.phase, state.stopped) == (0, "idle", None)
    assert kinds(state)[-1] == "error"
    assert await agent.arun(state) == "hello"
    assert state.turn == 1


async def test_a_reply_cut_off_before_it_said_anything_is_a_failure() -> None:
    silent = Reply(message=Message.assistant(""), stop_reason="length")
    state = State(messages=[Message.user("hi")])
    with pytest.raises(CutOffError, match="output limit"):
        await quiet(FakeModel([silent])).arun(state)
    assert state.turn == 0
    assert state.usage == Usage(requests=1, cost=0.0)  # it was paid for


async def test_a_second_run_of_a_state_is_met_as_the_agent_says() -> None:
    async def slow(request: Any) -> str:
        await trio.sleep(1)
        return "slow"

    state = State(messages=[Message.user("x")])
    async with open_supervisor() as supervisor:
        run = supervisor.start(quiet(FunctionModel(slow)), state)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(ValueError, match="under way"):
            await quiet(FakeModel(["never"])).arun(state)
        taken = quiet(FakeModel(["mine"]), busy="interrupt")
        assert await taken.arun(state) == "mine"
        assert run.status == "ended"


async def test_queued_runs_of_a_state_follow_one_another(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def slow(request: Any) -> str:
        await trio.sleep(1)
        return f"answer {len(request.messages)}"

    agent = quiet(FunctionModel(slow), busy="queue", loop=once)
    state = State(messages=[Message.user("x")])
    async with open_supervisor() as supervisor:
        runs = [supervisor.start(agent, state) for _ in range(3)]
        answers = [await run.wait() for run in runs]
    assert sorted(answers) == ["answer 1", "answer 2", "answer 3"]
    assert trio.current_time() == pytest.approx(3)


async def once(agent: Agent, state: State) -> Any:
    reply = await agent.athink(state)
    return reply.text


async def test_any_callable_is_a_loop_and_run_returns_its_value() -> None:
    assert await quiet(FakeModel(["hi"]), loop=once).arun("x") == "hi"


async def test_a_loop_of_the_other_kind_is_refused_by_name() -> None:
    @loop(until=waiting_for_user, limit=1)
    def plain(agent: Agent, state: State) -> None:
        agent.think(state)

    with pytest.raises(TypeError, match=r"use run\(\)"):
        await quiet(FakeModel(), loop=plain).arun("x")


async def test_the_limit_of_a_loop_stops_it() -> None:
    model = FakeModel([tool_call("double", n=1)] * 5)

    @loop(until=waiting_for_user, limit=3)
    async def short(agent: Agent, state: State) -> None:
        await agent.athink(state)
        await agent.ause_tools(state)

    state = State(messages=[Message.user("x")])
    await quiet(model, tools=[double], loop=short).arun(state)
    assert state.stopped == StoppedByLimit(turns=3)
    assert state.turn == 3


async def test_steps_work_outside_of_a_run_and_record_no_start() -> None:
    model = FakeModel([tool_call("double", n=4), "eight"])
    agent = quiet(model, tools=[double])
    state = State(messages=[Message.user("x")])
    reply = await agent.athink(state)
    assert reply.tool_calls[0].name == "double"
    await agent.ause_tools(state)
    await agent.ause_tools(state)
    assert (await agent.athink(state)).text == "eight"
    assert "run_start" not in kinds(state)


async def test_tools_given_to_a_think_are_for_that_request_only() -> None:
    model = FakeModel(["a", "b"])
    agent = quiet(model, tools=[double])
    state = State(messages=[Message.user("x")])
    await agent.athink(state, tools=[])
    state.add_message(Message.user("y"))
    await agent.athink(state)
    assert [[t.name for t in r.tools] for r in model.requests] == [[], ["double"]]


async def test_a_side_question_leaves_the_context_as_it_is() -> None:
    model = FakeModel(["not a number", "7"])
    state = State(messages=[Message.user("hi")])
    before = state.messages
    assert await quiet(model).aask(state, "how many?", returns=int) == 7
    assert state.messages == before
    assert state.usage.requests == 2
    entry = state.history[-1]
    assert entry.kind == "ask"
    assert (entry.content.question, entry.content.answer) == ("how many?", 7)
    assert "number" in model.requests[1].messages[-1].text() or model.requests[1]


async def test_an_answer_that_never_fits_raises_and_its_cost_is_counted() -> None:
    state = State(messages=[Message.user("hi")])
    with pytest.raises(OutputError):
        await quiet(FakeModel(["x", "y"])).aask(state, "n?", returns=int, retries=1)
    assert state.usage.requests == 2


async def test_a_tool_cannot_ask_the_state_that_waits_for_it() -> None:
    agents: list[Agent] = []

    @tool
    async def curious(state: State) -> str:
        with pytest.raises(ValueError, match="no result yet"):
            await agents[0].aask(state, "why?")
        with pytest.raises(ValueError, match="neither would ever end"):
            await agents[0].arun(state)
        with pytest.raises(ValueError, match="no result yet"):
            await agents[0].athink(state)
        return "all refused"

    agent = quiet(FakeModel([tool_call("curious"), "ok"]), tools=[curious])
    agents.append(agent)
    state = State(messages=[Message.user("x")])
    assert await agent.arun(state) == "ok"
    assert "all refused" in state.messages[2].text()


async def test_compaction_puts_the_models_summary_in_the_place_of_the_messages() -> (
    None
):
    state = State(messages=[Message.user("task"), Message.assistant("working")])
    model = FakeModel(["all is well"])
    await quiet(model).acompact(state, "be brief")
    texts = [message.text() for message in state.messages]
    assert texts == ["task", "[notice] all is well"]
    assert state.usage.requests == 1
    assert "be brief" in model.requests[0].messages[-1].text()


@pytest.mark.parametrize("reply", [OSError("down"), "  "])
async def test_a_failed_compaction_leaves_the_messages_as_they_were(
    reply: Any,
) -> None:
    state = State(messages=[Message.user("task"), Message.assistant("working")])
    before = state.messages
    with pytest.raises((OSError, OutputError)):
        await quiet(FakeModel([reply])).acompact(state)
    assert state.messages == before
    state.restore(state.snapshot())


async def test_nobody_goes_back_while_a_compaction_is_under_way() -> None:
    state = State(messages=[Message.user("task"), Message.assistant("working")])
    snapshot = state.snapshot()

    def summary(request: Any) -> str:
        with pytest.raises(ValueError, match="under way"):
            state.restore(snapshot)
        return "short"

    await quiet(FakeModel([summary])).acompact(state)
    state.restore(snapshot)


async def test_the_context_is_compacted_once_it_is_full() -> None:
    class Small(FakeModel):
        context_window = 100

    model = Small(["the summary", "answer"])
    state = State(messages=[Message.user("x" * 400)])
    agent = quiet(model)
    assert agent.context_used(state) >= 0.6
    assert await agent.arun(state) == "answer"
    assert "context_change" in kinds(state)[1:]


async def test_what_the_provider_counted_is_believed() -> None:
    reply = Reply(message=Message.assistant("hi"), context_tokens=1_000)
    state = State(messages=[Message.user("x" * 4_000)])
    agent = quiet(FakeModel([reply]))
    await agent.athink(state)
    assert agent.context_tokens(state) == 1_000
    state.add_message(Message.user("y" * 40))
    assert agent.context_tokens(state) == 1_010


async def test_a_tools_failure_is_a_result_or_leaves_the_run_as_the_agent_says() -> (
    None
):
    @tool
    async def broken() -> str:
        raise KeyError("lost")

    state = State(messages=[Message.user("x")])
    agent = quiet(FakeModel([tool_call("broken"), "never"]), tools=[broken])
    with pytest.raises(KeyError, match="lost"):
        await agent.arun(state)
    entry = state.history[-1]
    assert entry.kind == "tool_result"
    assert (entry.outcome, state.pending_calls) == ("aborted", ())
    kind = quiet(
        FakeModel([tool_call("broken"), "I see"]), tools=[broken], on_error="result"
    )
    assert await kind.arun("x") == "I see"


async def test_a_tool_is_tried_again_as_often_as_it_says() -> None:
    tries: list[int] = []

    @tool(retries=2)
    async def flaky() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise ToolError("not yet")
        return "at last"

    agent = quiet(FakeModel([tool_call("flaky"), "ok"]), tools=[flaky])
    state = State(messages=[Message.user("x")])
    await agent.arun(state)
    assert len(tries) == 3
    assert "at last" in state.messages[2].text()


async def test_a_limit_ends_the_run_that_owns_it_and_no_request_is_too_many() -> None:
    model = FakeModel([tool_call("double", n=1)] * 9)
    agent = quiet(model, tools=[double], limits=Limits(requests=4))
    state = State(messages=[Message.user("x")])
    await agent.arun(state)
    assert state.stopped is not None
    assert state.stopped.kind == "budget"
    assert len(model.requests) == 4
    replies = [e for e in state.history if isinstance(e, ModelReplyEntry)]
    assert len(replies) == 4


async def test_runs_that_a_loops_body_starts_are_in_the_usage_of_its_state() -> None:
    helper = quiet(FunctionModel(lambda request: "helped"), name="helper")
    shared = State(messages=[Message.user("shared")])

    async def body(agent: Agent, state: State) -> Any:
        await helper.arun("one")
        await helper.arun(shared)
        await afan_out(helper, ["two", "three"])
        return (await agent.athink(state)).text

    state = State(messages=[Message.user("x")])
    assert await quiet(FakeModel(["done"]), loop=body).arun(state) == "done"
    assert state.usage.requests == 5
    asked = [entry for entry in state.history if entry.kind == "ask"]
    assert [entry.content.answer for entry in asked] == ["helped"] * 4
    assert f"run of helper ({shared.id})" in {e.content.question for e in asked}
    assert [message.text() for message in state.messages] == ["x", "done"]
    assert State(history=state.history).snapshot() == state.snapshot()


@pytest.mark.parametrize(
    ("raised", "outcome"),
    [(SystemExit(3), "aborted"), (KeyboardInterrupt(), "interrupted")],
)
async def test_what_leaves_a_run_past_every_handler_aborts_its_call(
    raised: BaseException, outcome: str
) -> None:
    @tool
    async def leave() -> None:
        raise raised

    state = State(messages=[Message.user("x")])
    agent = quiet(FakeModel([tool_call("leave"), "never"]), tools=[leave])
    with pytest.raises(type(raised)):
        await agent.arun(state)
    result = state.history[-1]
    assert result.kind == "tool_result"
    assert result.outcome == outcome


@pytest.mark.parametrize(
    ("alone", "reason", "says"),
    [
        (False, "lunch", r"\(interrupted: lunch\)"),
        (False, None, r"\(interrupted\)"),
        (True, None, r"\(interrupted(: the (run above|supervisor) was cancelled)?\)"),
    ],
)
async def test_a_call_whose_subagent_was_cancelled_says_why_and_says_it_once(
    alone: bool, reason: str | None, says: str
) -> None:
    asked = trio.Event()

    async def hangs(_request: Any) -> str:
        asked.set()
        await trio.sleep_forever()
        raise AssertionError("it sleeps for ever")

    below = quiet(FunctionModel(hangs), name="below")
    agent = quiet(FakeModel([tool_call("below", prompt="y")]), tools=[below])
    state = State(messages=[Message.user("x")])
    if alone:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(agent.arun, state)
            await asked.wait()
            nursery.cancel_scope.cancel()
    else:
        async with open_supervisor() as supervisor:
            run = supervisor.start(agent, state)
            await asked.wait()
            await run.cancel(reason)
    (result,) = [entry for entry in state.history if entry.kind == "tool_result"]
    assert re.fullmatch(says, result.content)


async def test_a_value_of_the_wrong_type_is_told_with_its_article() -> None:
    wrong: Any = 3
    with pytest.raises(TypeError, match="from a text or a State, not from an int"):
        await quiet(FakeModel()).arun(wrong)
    with pytest.raises(TypeError, match="takes a list of messages, not an int:"):
        State(messages=wrong)
    with pytest.raises(TypeError, match=r"messages\[0\] is an int, not a Message"):
        State(messages=[wrong])
    with pytest.raises(TypeError, match=r"prompts\[0\] is an int, not a str"):
        await afan_out(quiet(FakeModel()), [wrong])


@pytest.mark.parametrize("text", ["", " \n"])
async def test_a_text_that_says_nothing_starts_no_run(text: str) -> None:
    model = FakeModel(["hello"])
    with pytest.raises(ValueError, match="that says something"):
        await quiet(model).arun(text)
    assert not model.requests


def test_tools_that_share_a_name_are_named_by_where_they_stand() -> None:
    twin = quiet(FakeModel(), name="double")
    with pytest.raises(ValueError, match=r"'double', tools\[0\] and tools\[1\]: give"):
        quiet(FakeModel(), tools=[double, twin])


def test_a_single_tool_in_the_place_of_a_list_is_named_as_the_program_does() -> None:
    for single in (double, quiet(FakeModel(), name="double")):
        with pytest.raises(TypeError, match=r"write tools=\[double\]$"):
            quiet(FakeModel(), tools=single)


def test_a_tool_for_asyncio_that_does_not_say_so_is_told_how() -> None:
    @tool
    async def fetch() -> None:
        await asyncio.sleep(0.01)

    with pytest.raises(RuntimeError, match="no running event loop") as raised:
        quiet(FakeModel([tool_call("fetch")]), tools=[fetch]).run("go")
    assert "@tool(asyncio=True)" in raised.value.__notes__[0]
