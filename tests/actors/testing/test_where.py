"""What a sweep sees of a program at the moment of the cancel."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio

from actors import END, START, Agent, State, StateGraph, tool
from actors.testing import FakeHuman, FakeModel, Trial, tool_call
from actors.testing._sweep import tries
from actors.testing._trial import IN_TIME, Bench
from actors.testing._where import SPOTS_MAX, Scene, Spot
from protocol import Message
from tests.graphs import Counted, thread, user

WITHIN_S = 20.0


def scenes(scenario: Callable[..., Any], seed: int = 0) -> list[Scene]:
    """Where a scenario stands after each step."""
    found = [each.scene for each in tries(Bench(scenario, []), seed, within_s=WITHIN_S)]
    return [scene for scene in found if scene is not None]


def spots(scene: Scene) -> list[Spot]:
    return [*([] if scene.spot is None else [scene.spot]), *scene.others]


@tool
async def look(place: str) -> str:
    """Look at a place."""
    await trio.lowlevel.checkpoint()
    return f"nothing at {place}"


async def asks_once(*calls: Any, tools: Any = (look,), name: str = "scout") -> None:
    async def waits(request: object) -> str:
        await trio.lowlevel.checkpoint()
        return "Done."

    model = FakeModel([list(calls), waits])
    agent = Agent(model, tools=tools, name=name, reporter=None, human=None)
    await agent.arun("Look around.")


async def one_call() -> None:
    await asks_once(tool_call("look", place="home"))


def test_a_task_in_a_tool_stands_in_the_line_of_the_tool_that_waits() -> None:
    found = [spot for scene in scenes(one_call) for spot in spots(scene)]
    (spot,) = {spot for spot in found if spot.kind == "tool" and spot.stack}
    assert spot.who == "tool 'look'"
    functions = [frame.function for frame in spot.stack]
    assert functions == ["one_call", "asks_once", "look"]
    assert Path(spot.stack[-1].file) == Path(__file__)
    assert spot.stack[-1].line == look.fn.__code__.co_firstlineno + 3
    assert spot.runtime is not None
    assert spot.waits_in == "trio checkpoint"
    assert spot.at.startswith("tool 'look' at test_where.py:")


def test_what_is_open_is_named_request_call_and_child() -> None:
    async def nested() -> None:
        child = Agent(
            FakeModel([tool_call("look", place="home"), "Seen."]),
            tools=[look],
            name="child",
            description="Looks.",
        )
        await asks_once(tool_call("child", prompt="Go."), tools=[child], name="boss")

    told = {line for scene in scenes(nested) for line in scene.open}
    assert {"tool 'child'", "child child", "tool 'look'"} <= told
    assert "request of boss to fake/model" in told


def test_before_the_first_step_nothing_stands_anywhere() -> None:
    first = scenes(one_call)[0]
    assert first.spot is None
    assert first.open == ()


def test_tasks_of_the_users_own_and_the_scenario_itself_are_told_apart() -> None:
    async def work() -> None:
        await trio.lowlevel.checkpoint()

    async def scenario() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            nursery.start_soon(trio.sleep, 0)

    names = {spot.who for scene in scenes(scenario) for spot in spots(scene)}
    assert names == {"the scenario", "task work", "task trio.sleep"}


def test_a_node_of_a_graph_is_told_as_one() -> None:
    async def fills(state: Any) -> dict[str, Any]:
        await trio.lowlevel.checkpoint()
        return {}

    async def scenario() -> None:
        graph = StateGraph(Counted).add_node("fills", fills).add_edge(START, "fills")
        await graph.add_edge("fills", END).compile().ainvoke(user("go"), thread())

    found = [spot for scene in scenes(scenario) for spot in spots(scene)]
    (spot,) = {spot for spot in found if spot.kind == "node"}
    assert spot.who == "node 'fills'"
    assert spot.stack[-1].function == "fills"


def test_who_waits_for_a_person_and_a_task_that_has_ended_are_told() -> None:
    async def asks(agent: Agent, state: State) -> Any:
        return await agent.aask_human(state, "Which way?")

    async def ends() -> None:
        """Takes one step."""

    async def scenario() -> None:
        human = FakeHuman(["Left."])
        agent = Agent(FakeModel(), loop=asks, name="guide", reporter=None, human=human)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ends)
            await agent.arun("Go.")

    found = scenes(scenario)
    told = {line for scene in found for line in scene.open}
    assert "question of guide to a person" in told
    all_spots = [spot for scene in found for spot in spots(scene)]
    assert "person" in {spot.kind for spot in all_spots}
    ended = [spot for spot in all_spots if not spot.stack and spot.runtime is None]
    assert "task ends" in {spot.at for spot in ended}


def test_a_coroutine_is_followed_into_what_python_has_wrapped() -> None:
    class Waits:
        def __await__(self) -> Any:
            return inner().__await__()

    async def inner() -> None:
        await trio.lowlevel.checkpoint()

    async def generates() -> Any:
        await Waits()
        yield 1

    async def scenario() -> None:
        async for _ in generates():
            pass

    found = [spot for scene in scenes(scenario) for spot in spots(scene)]
    functions = [frame.function for frame in found[0].stack]
    assert functions == ["scenario", "generates", "inner"]


def test_of_very_many_tasks_some_are_kept_and_lines_of_the_users_come_first() -> None:
    async def work() -> None:
        await trio.lowlevel.checkpoint()

    async def scenario() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(SPOTS_MAX):
                nursery.start_soon(trio.sleep, 0)
            nursery.start_soon(work)

    scene = scenes(scenario)[1]
    assert len(scene.others) == SPOTS_MAX
    assert scene.in_users_code[0].stack


def test_a_run_that_does_not_end_in_time_is_torn_out_and_says_where_it_stood() -> None:
    async def hangs(trial: Trial) -> None:
        with trio.CancelScope(shield=trial.step is not None):
            if trial.step:
                await trio.sleep_forever()
            await trio.lowlevel.checkpoint()

    runs = list(tries(Bench(hangs, [lambda: False]), 0, [1], within_s=0.02))
    ((name, error),) = runs[0].broken
    assert name == IN_TIME
    assert "it did not end within 0.02 s" in str(error)
    assert "the scenario at test_where.py:" in str(error)


def test_a_shield_that_is_put_up_again_does_not_hold_a_run() -> None:
    async def hangs() -> None:
        for _ in range(2):
            with trio.CancelScope(shield=True):
                try:
                    await trio.sleep_forever()
                except trio.Cancelled:
                    continue

    (run,) = tries(Bench(hangs, []), 0, [0], within_s=0.02)
    assert [name for name, _ in run.broken] == [IN_TIME]


def test_a_sweep_that_looks_on_steps_as_one_that_does_not() -> None:
    def order(within_s: float | None) -> list[list[str]]:
        seen: list[list[str]] = []

        async def scenario() -> None:
            steps: list[str] = []
            seen.append(steps)

            async def work(name: str) -> None:
                for _ in range(3):
                    steps.append(name)
                    await trio.lowlevel.checkpoint()

            async with trio.open_nursery() as nursery:
                for name in "abc":
                    nursery.start_soon(work, name)

        for seed in range(4):
            list(tries(Bench(scenario, []), seed, within_s=within_s))
        return seen

    assert order(None) == order(WITHIN_S)


def test_a_state_that_took_no_step_is_seen_too() -> None:
    async def at_once() -> None:
        state = State(messages=[Message.user("Hello")])
        await Agent(FakeModel(["Hi."]), reporter=None, human=None).arun(state)
        state._mailbox.run = object()

    (run,) = tries(Bench(at_once, []), 0, [None], within_s=WITHIN_S)
    assert [name for name, _ in run.broken] == ["nothing is under way"]
