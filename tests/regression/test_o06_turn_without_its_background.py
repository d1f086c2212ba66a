"""O6: a turn that ends, or is interrupted, leaves its background children running."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from actors import (
    Agent,
    FunctionModel,
    Limits,
    MemoryStore,
    Message,
    Run,
    RunCancelled,
    RunStart,
    State,
    default_loop,
    open_supervisor,
    start_child,
)
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    kinds,
    late,
    outcomes,
    results,
    seeded_run,
    state,
)


async def slow() -> str:
    await trio.sleep(60)
    return "never"


class Crew:
    """An agent whose tool starts children that take ``seconds`` each."""

    def __init__(self, *replies: Any, seconds: float = 10, **settings: Any) -> None:
        self.runs: list[Run] = []
        self.seconds = seconds
        self.requests: list[list[str]] = []
        self.child = agent(self.work, name="child")
        self.agent = agent(
            *[self.noted(reply) for reply in replies],
            tools=[self.send, slow],
            name="owner",
            **settings,
        )

    def noted(self, reply: Any) -> Callable[[Any], Any]:
        def rule(request: Any) -> Any:
            self.requests.append([m.text() for m in request.messages])
            return reply

        return rule

    async def work(self, request: Any) -> str:
        await trio.sleep(self.seconds)
        return f"did {request.messages[0].text()}"

    async def send(self, what: str = "it") -> str:
        run = start_child(self.child, what)
        self.runs.append(run)
        return f"started {run.id}"


def ends(of: State) -> list[Any]:
    return [entry for entry in of.history if entry.kind == "child_end"]


def assert_ended_once(of: State, crew: Crew, outcome: str = "done") -> None:
    assert sorted(e.content.child_id for e in ends(of)) == sorted(
        run.id for run in crew.runs
    )
    assert {e.content.outcome for e in ends(of)} == {outcome}
    for run in crew.runs:
        assert_whole(run.state)
    assert_whole(of)


@pytest.mark.parametrize("count", [1, 3])
async def test_an_interrupt_ends_the_turn_and_the_children_end_in_their_own_time(
    autojump_clock: trio.testing.MockClock, count: int
) -> None:
    crew = Crew(
        [*[call("send") for _ in range(count)], call("slow"), call("slow")], "read it"
    )
    asked = state()
    async with open_supervisor() as supervisor:
        run = supervisor.start(crew.agent, asked)
        await trio.sleep(1)
        await run.interrupt("stop that")
        assert trio.current_time() == 1
        with pytest.raises(RunCancelled, match="stop that"):
            await run.wait()
        assert outcomes(asked) == ["done"] * count + ["interrupted"] * 2
        assert len(supervisor.tree()) == count
        assert all(each.status == "thinking" for each in crew.runs)
        for each in crew.runs:
            assert await each.wait() == "did it"
        assert trio.current_time() == 10
    assert_ended_once(asked, crew)
    assert asked.answer == "read it"
    assert sum("did it" in text for text in crew.requests[-1]) == count
    assert asked.usage.requests == len(crew.requests) + count


@pytest.mark.parametrize("before", ["in the turn", "after an interrupt", "at the end"])
async def test_cancelling_the_run_stops_its_background_too(
    autojump_clock: trio.testing.MockClock, before: str
) -> None:
    second = "over" if before == "at the end" else call("slow")
    crew = Crew([call("send"), call("send")], second)
    asked = state()
    async with open_supervisor() as supervisor:
        run = supervisor.start(crew.agent, asked)
        await trio.sleep(1)
        if before == "after an interrupt":
            await run.interrupt("first")
        report = await run.cancel("all of it")
        assert report.unstopped == ()
        assert trio.current_time() == 1
        assert supervisor.tree() == ()
        assert [each.status for each in crew.runs] == ["ended"] * 2
    assert trio.current_time() == 1
    assert_ended_once(asked, crew, "cancelled")
    assert len(crew.requests) == 2


async def test_a_scope_around_a_run_stops_its_background_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    crew, asked = Crew([call("send")], call("slow")), state()
    async with open_supervisor() as supervisor:
        with trio.move_on_after(1):
            await crew.agent.arun(asked)
        assert supervisor.tree() == ()
    assert trio.current_time() == 1
    assert_ended_once(asked, crew, "cancelled")


@pytest.mark.parametrize("way", ["started", "arun"])
async def test_an_idle_owner_is_run_again_by_its_agent_and_reads_of_the_end(
    autojump_clock: trio.testing.MockClock, way: str
) -> None:
    crew, asked = Crew([call("send")], "on its way", "thanks"), state()
    async with open_supervisor() as supervisor:
        if way == "started":
            answer = await supervisor.start(crew.agent, asked).wait()
        else:
            answer = await crew.agent.arun(asked)
        assert answer == "on its way"
        assert trio.current_time() == 0
        assert asked.stopped is not None
    assert trio.current_time() == 10
    assert asked.answer == "thanks"
    notices = [m.text() for m in asked.messages if m.is_notice]
    assert len(notices) == 1
    assert "did it" in notices[0]
    assert kinds(asked).count("run_start") == 2
    assert_ended_once(asked, crew)


@pytest.mark.parametrize("seconds", [1, 2, 3])
async def test_in_the_middle_of_a_turn_the_notice_waits_for_the_next_request(
    autojump_clock: trio.testing.MockClock, seconds: float
) -> None:
    crew, asked = Crew([call("send")], call("work"), "read it", seconds=1), state()

    async def work() -> str:
        await trio.sleep(seconds)
        return "worked"

    owner = crew.agent.copy(tools=[crew.send, work])
    async with open_supervisor():
        assert await owner.arun(asked) == "read it"
    read = [t for t in crew.requests[-1] if "did it" in t]
    assert len(read) == 1
    assert_ended_once(asked, crew)


async def test_an_end_during_the_last_think_is_read_in_one_more_run(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asked, asks = state(), []
    crew = Crew(seconds=1)

    async def rule(request: Any) -> Any:
        asks.append([m.text() for m in request.messages])
        if len(asks) == 1:
            return call("send")
        await trio.sleep(5)
        return f"answer {len(asks)}"

    owner = crew.agent.copy(model=FunctionModel(rule))
    async with open_supervisor():
        assert await owner.arun(asked) == "answer 2"
    assert asked.answer == "answer 3"
    assert len(asks) == 3
    assert sum("did it" in text for text in asks[-1]) == 1
    assert_ended_once(asked, crew)


@pytest.mark.parametrize("seed", range(8))
def test_an_end_that_another_run_has_read_is_not_asked_about_again(seed: int) -> None:
    async def main() -> None:
        asked, asks = state(), []
        crew = Crew(seconds=1)

        async def rule(request: Any) -> Any:
            asks.append([(m.role, m.text()) for m in request.messages])
            if len(asks) == 1:
                return call("send")
            await trio.sleep(5)
            return f"answer {len(asks)}"

        owner = crew.agent.copy(model=FunctionModel(rule), busy="queue")
        async with open_supervisor():
            await owner.arun(asked)
            asked.add_message(Message.user("and?"))
            await owner.arun(asked)
        assert len(asks) == 3
        assert [text for _, text in asks[-1]].count("and?") == 1
        assert all(ask[-1][0] != "assistant" for ask in asks)
        assert_ended_once(asked, crew)

    seeded_run(seed, main, clock=trio.testing.MockClock(autojump_threshold=0))


@pytest.mark.parametrize("plain", [True, False])
async def test_a_run_on_its_own_waits_for_its_background_and_gives_its_own_answer(
    autojump_clock: trio.testing.MockClock, plain: bool
) -> None:
    crew, asked = Crew([call("send")], "my answer"), state()
    if plain:
        async with crew.agent.stream(asked) as events:
            read = [event async for event in events]
        assert len([e for e in read if isinstance(e, RunStart)]) >= 1
    else:
        assert await crew.agent.arun(asked) == "my answer"
    assert trio.current_time() == 10
    assert len(crew.requests) == 2
    assert_ended_once(asked, crew)


@pytest.mark.parametrize("depth", [1, 3])
async def test_the_end_goes_up_to_the_nearest_owner_that_has_not_ended(
    autojump_clock: trio.testing.MockClock, depth: int
) -> None:
    crew, asked = Crew([call("send")], "sent"), state()
    below: Agent = crew.agent
    for level in range(depth):
        below = agent(
            call(below.name or "", prompt="go"),
            call("wait"),
            f"level {level} is done",
            tools=[below, waits(20 if level == depth - 1 else 0)],
            name=f"a{level}",
        )
    async with open_supervisor():
        assert await below.arun(asked) == f"level {depth - 1} is done"
    assert_ended_once(asked, crew)
    child = asked
    for _ in range(depth):
        child = child.child(results(child)[0].child_ids[0])
        assert ends(child) == []
        assert_whole(child)
    assert crew.runs[0].state.parent_id == child.id
    total = 1 + 3 * depth + 2
    assert asked.usage.requests == total


def waits(seconds: float) -> Callable[[], Any]:
    async def wait() -> str:
        await trio.sleep(seconds)
        return "waited"

    return wait


async def test_a_closed_owner_hears_nothing_and_nothing_is_left(
    autojump_clock: trio.testing.MockClock,
) -> None:
    crew, asked = Crew([call("send")], "on its way"), state()
    async with open_supervisor() as supervisor:
        await supervisor.start(crew.agent, asked).wait()
        asked.close()
    assert ends(asked) == []
    assert crew.runs[0].status == "ended"


async def test_a_finished_owner_gets_the_entry_and_is_not_run_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    crew, asked = Crew([call("send")], "on its way"), state()
    async with open_supervisor() as supervisor:
        await supervisor.start(crew.agent, asked).wait()
        asked.finish("my own answer")
    assert_ended_once(asked, crew)
    assert len(crew.requests) == 2
    assert asked.answer == "my own answer"


@pytest.mark.parametrize("ending", ["raises", "is cancelled"])
async def test_a_child_that_fails_ends_with_one_entry_that_says_so(
    autojump_clock: trio.testing.MockClock, ending: str
) -> None:
    crew, asked = Crew([call("send")], "on its way", "I see"), state()
    if ending == "raises":
        crew.child = agent(ValueError("no luck"), name="child")
    async with open_supervisor():
        await crew.agent.arun(asked)
        if ending == "is cancelled":
            await trio.sleep(1)
            await crew.runs[0].cancel("not needed")
    (end,) = ends(asked)
    assert end.content.outcome == ("error" if ending == "raises" else "cancelled")
    words = "ValueError: no luck" if ending == "raises" else "not needed"
    assert words in str(end.content.text)
    assert asked.answer in ("I see", "on its way")
    assert_whole(asked)


async def test_a_new_run_of_the_owner_takes_its_background_over(
    autojump_clock: trio.testing.MockClock,
) -> None:
    crew, asked = Crew([call("send")], "on its way", "more", "thanks"), state()
    async with open_supervisor():
        await crew.agent.arun(asked)
        await trio.sleep(1)
        asked.add_message(Message.user("anything new?"))
        assert await crew.agent.arun(asked) == "more"
        assert ends(asked) == []
    assert asked.answer == "thanks"
    assert_ended_once(asked, crew)


async def test_a_child_in_the_background_may_have_one_of_its_own(
    autojump_clock: trio.testing.MockClock,
) -> None:
    inner, asked = Crew([call("send")], "inner is sent", seconds=30), state()
    crew = Crew([call("send")], "on its way", "thanks", "thanks again")
    crew.child = inner.agent
    async with open_supervisor():
        await crew.agent.arun(asked)
    assert trio.current_time() == 30
    assert sorted(e.content.name for e in ends(asked)) == ["child", "owner"]
    assert ends(crew.runs[0].state) == []
    assert_whole(asked)


async def test_rights_limits_store_and_path_go_down_to_the_background(
    autojump_clock: trio.testing.MockClock,
) -> None:
    store = MemoryStore()
    crew = Crew(
        [call("send"), call("send"), call("send")],
        "on its way",
        limits=Limits(children=2),
        store=store,
    )
    asked = state()
    async with open_supervisor() as supervisor:
        await crew.agent.arun(asked)
        assert {node.path for node in supervisor.tree()} == {
            (asked.id, run.id) for run in crew.runs
        }
    assert outcomes(asked).count("error") == 1
    assert len(crew.runs) == 2
    for run in crew.runs:
        loaded = await store.aload(run.id)
        assert loaded.parent_id == asked.id
        assert loaded.parent_call_id in {e.call.id for e in results(asked)}
        assert asked.child(run.id) is run.state


async def test_a_plain_tool_in_a_thread_starts_one_too() -> None:
    runs: list[Run] = []
    child = agent("did it", name="child")

    def send() -> str:
        runs.append(start_child(child, "it"))
        return "started"

    asked = state()
    async with open_supervisor():
        await agent(call("send"), "on its way", "thanks", tools=[send]).arun(asked)
    (end,) = ends(asked)
    assert end.content.child_id == runs[0].id
    assert len([m for m in asked.messages if m.is_notice]) == 1
    assert_whole(asked)


def test_a_plain_run_waits_for_its_background() -> None:
    child = agent("did it", name="child")

    def send() -> str:
        start_child(child, "it")
        return "started"

    asked = state()
    root = agent(call("send"), "my answer", tools=[send], loop=default_loop)
    assert root.run(asked) == "my answer"
    assert len(ends(asked)) == 1
    assert_whole(asked)


async def test_outside_of_a_call_it_is_refused_and_nothing_happens() -> None:
    asked = state()
    with pytest.raises(ValueError, match=r"supervisor\.start"):
        start_child(agent("never"), asked)
    assert kinds(asked) == ["context_change"]


async def test_a_run_started_in_a_call_and_not_waited_for_ends_before_its_call(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_supervisor() as supervisor:
        crew = Crew()

        async def send() -> str:
            supervisor.start(crew.child, "it")
            return "started"

        asked = state()
        root = agent(call("send"), "done", tools=[send])
        assert await root.arun(asked) == "done"
        assert trio.current_time() == 10
        assert results(asked)[0].usage.requests == 1
        with trio.move_on_after(1):
            await root.arun(state())
        assert supervisor.tree() == ()
        assert trio.current_time() == 11
    assert_whole(asked)


async def test_a_run_that_takes_over_keeps_the_background_of_the_one_it_interrupts(
    autojump_clock: trio.testing.MockClock,
) -> None:
    crew = Crew([call("send")], call("slow"), "took over", "thanks", busy="interrupt")
    asked = state()
    async with open_supervisor() as supervisor:
        first = supervisor.start(crew.agent, asked)
        await trio.sleep(1)
        assert await crew.agent.arun(asked) == "took over"
        with pytest.raises(RunCancelled, match="took over"):
            await first.wait()
        assert crew.runs[0].status == "thinking"
    assert outcomes(asked) == ["done", "interrupted"]
    assert asked.answer == "thanks"
    assert_ended_once(asked, crew)


async def test_an_error_in_the_supervisors_block_stops_the_background_for_good(
    autojump_clock: trio.testing.MockClock,
) -> None:
    crew, asked = Crew([call("send")], "on its way"), state()
    with pytest.raises(KeyError):
        async with open_supervisor():
            await crew.agent.arun(asked)
            raise KeyError("mine")
    assert trio.current_time() == 0
    assert len(crew.requests) == 2
    assert_ended_once(asked, crew, "cancelled")


async def test_what_a_deaf_child_uses_after_its_end_comes_as_a_late_result(
    autojump_clock: trio.testing.MockClock,
) -> None:
    crew, asked = Crew([call("send")], "on its way", "I see"), state()

    async def deaf(request: Any) -> str:
        with trio.CancelScope(shield=True):
            await trio.sleep(50)
        return "too late"

    crew.child = agent(deaf, name="child", grace_s=2)
    async with open_supervisor() as supervisor:
        await crew.agent.arun(asked)
        await trio.sleep(1)
        report = await crew.runs[0].cancel("stop", grace_s=2)
        assert report.unstopped == ((asked.id, crew.runs[0].id),)
        assert trio.current_time() == pytest.approx(3)
        assert len(supervisor.statistics().unstopped) == 1
    assert trio.current_time() == pytest.approx(50)
    assert_ended_once(asked, crew, "cancelled")
    own = len(crew.requests)
    assert crew.runs[0].state.usage.requests == 1
    assert asked.usage.requests == own + 1
    assert sum(entry.usage.requests for entry in late(asked)) == 1


@pytest.mark.parametrize("owner", ["alone", "finished", "interrupted"])
async def test_the_end_of_a_child_is_durable_though_no_run_follows(
    autojump_clock: trio.testing.MockClock, owner: str
) -> None:
    store = MemoryStore()
    second = call("slow") if owner == "interrupted" else "on its way"
    crew, asked = Crew([call("send")], second, "I see", store=store), state()
    if owner == "alone":
        await crew.agent.arun(asked)
    else:
        async with open_supervisor() as supervisor:
            run = supervisor.start(crew.agent, asked)
            await trio.sleep(1)
            await run.interrupt()
            asked.finish("over")
    assert_ended_once(asked, crew)
    loaded = await store.aload(asked.id)
    assert loaded.history == asked.history
