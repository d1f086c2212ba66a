"""O5: a tool that does not hear its cancel is named, and waited for no longer."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
import trio

from actors import Agent, Run, RunCancelled, open_supervisor, tool
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    late,
    outcomes,
    results,
    state,
)


async def shields_itself() -> str:
    with trio.CancelScope(shield=True):
        await trio.sleep(30)
    return "went on"


async def catches_it() -> str:
    with suppress(trio.Cancelled):
        await trio.sleep(30)
    with trio.CancelScope(shield=True):
        await trio.sleep(29)
    return "went on"


async def catches_it_again_and_again() -> str:
    for _ in range(5):
        with suppress(trio.Cancelled):
            await trio.sleep(1000)
    with trio.CancelScope(shield=True):
        await trio.sleep(29)
    return "went on"


async def cleans_up_for_ever() -> str:
    try:
        await trio.sleep(30)
    finally:
        with trio.CancelScope(shield=True):
            await trio.sleep(29)
    return "never"


DEAF = [shields_itself, catches_it, catches_it_again_and_again, cleans_up_for_ever]


@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("deaf", DEAF, ids=lambda deaf: deaf.__name__)
async def test_a_cancel_returns_after_its_grace_and_names_the_calls_that_go_on(
    autojump_clock: trio.testing.MockClock,
    deaf: Callable[[], Awaitable[str]],
    calls: int,
) -> None:
    asked = state()
    root = agent(
        [call("deaf") for _ in range(calls)], "never", tools=[tool(name="deaf")(deaf)]
    )
    async with open_supervisor() as supervisor:
        run = supervisor.start(root, asked)
        await trio.sleep(1)
        report = await run.cancel("stop", grace_s=2)
        assert trio.current_time() == pytest.approx(3, abs=0.1)
        ids = [entry.call.id for entry in results(asked)]
        assert sorted(report.unstopped) == sorted((asked.id, each) for each in ids)
        named = supervisor.statistics().unstopped
        assert {(each.path, each.call_id) for each in named} == {
            ((asked.id, each), each) for each in ids
        }
        assert outcomes(asked) == ["interrupted"] * calls
        assert all("did not stop" in str(e.content) for e in results(asked))
    assert trio.current_time() >= 30  # leaving waited for it
    assert_whole(asked)
    assert len(late(asked)) == (0 if deaf is cleans_up_for_ever else calls)


async def test_a_deaf_tool_far_down_is_named_with_its_whole_path(
    autojump_clock: trio.testing.MockClock,
) -> None:
    below: Agent = agent(
        call("deaf"), "never", tools=[tool(name="deaf")(shields_itself)], name="a0"
    )
    for level in (1, 2):
        below = agent(
            call(f"a{level - 1}", prompt="go"), "never", tools=[below], name=f"a{level}"
        )
    asked = state()
    async with open_supervisor() as supervisor:
        run = supervisor.start(below, asked)
        await trio.sleep(1)
        report = await run.cancel(grace_s=1)
        assert trio.current_time() < 2.5
    child = asked.child(results(asked)[0].child_ids[0])
    grandchild = child.child(results(child)[0].child_ids[0])
    path = (
        *(asked.id, results(asked)[0].call.id),
        *(child.id, results(child)[0].call.id),
        *(grandchild.id, results(grandchild)[0].call.id),
    )
    assert report.unstopped == (path,)
    for each in (asked, child, grandchild):
        assert_whole(each)


async def test_a_loop_that_does_not_stop_is_named_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def deaf_loop(agent: Agent, state: object) -> None:
        await shields_itself()

    async with open_supervisor() as supervisor:
        run: Run = supervisor.start(agent("never", loop=deaf_loop), "go")
        await trio.sleep(1)
        report = await run.cancel(grace_s=1)
        assert report.unstopped == ((run.id,),)
        assert trio.current_time() == pytest.approx(2)
    assert trio.current_time() == pytest.approx(30)


async def test_leaving_the_supervisor_says_what_it_waits_for(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asked = state()
    root = agent(call("deaf"), "never", tools=[tool(name="deaf")(shields_itself)])
    with trio.move_on_after(1):
        async with open_supervisor(grace_s=2) as supervisor:
            supervisor.start(root, asked)
            await trio.sleep_forever()
    assert trio.current_time() == pytest.approx(30)
    (named,) = supervisor.statistics().unstopped
    assert named.call_id == results(asked)[0].call.id
    assert_whole(asked)


async def test_a_second_stop_that_gives_less_time_counts(
    autojump_clock: trio.testing.MockClock,
) -> None:
    root = agent(call("deaf"), "never", tools=[tool(name="deaf")(shields_itself)])
    async with open_supervisor() as supervisor:
        run = supervisor.start(root, "go")
        await trio.sleep(1)
        run.cancel_nowait("first", grace_s=20)
        report = await run.cancel("second", grace_s=2)
        assert trio.current_time() == pytest.approx(3, abs=0.2)
        assert len(report.unstopped) == 1
        with pytest.raises(RunCancelled, match="first"):
            await run.wait()
