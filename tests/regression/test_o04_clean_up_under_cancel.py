"""O4: a cancelled tool may await in its clean-up, for as long as its grace lasts."""

import pytest
import trio

from actors import Agent, ToolResultEntry, open_supervisor, tool
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    in_call_order,
    outcomes,
    results,
    state,
)


class CleaningTool:
    """Counts the clean-ups that came to their end, and those that were cut."""

    def __init__(self, clean_up_s: float = 0.1) -> None:
        self.clean_up_s = clean_up_s
        self.cleaned = 0
        self.cut = 0

    async def work(self) -> str:
        try:
            await trio.sleep(60)
        finally:
            try:
                await trio.sleep(self.clean_up_s / 2)
                await trio.sleep(self.clean_up_s / 2)
                self.cleaned += 1
            except trio.Cancelled:
                self.cut += 1
                raise
        return "never"


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("calls", [1, 2, 5])
@pytest.mark.parametrize(("grace_s", "is_clean"), [(1.0, True), (0.01, False)])
async def test_clean_up_ends_within_the_grace_or_is_cut_and_the_entry_says_so(
    autojump_clock: trio.testing.MockClock,
    grace_s: float,
    is_clean: bool,
    calls: int,
    parallel: bool,
) -> None:
    cleaning, asked = CleaningTool(), state()
    work = tool(parallel=parallel)(cleaning.work)
    root = agent([call("work") for _ in range(calls)], "never", tools=[work])
    running = calls if parallel else 1
    async with open_supervisor() as supervisor:
        run = supervisor.start(root, asked)
        await trio.sleep(1)
        before = trio.current_time()
        await run.cancel("stop", grace_s=grace_s)
        assert trio.current_time() - before <= min(grace_s, cleaning.clean_up_s) + 1e-6
    assert cleaning.cleaned == (running if is_clean else 0)
    assert cleaning.cut == (0 if is_clean else running)
    assert outcomes(asked) == ["interrupted"] * calls
    assert_cut(in_call_order(asked)[:running], cut=not is_clean)
    assert_cut(in_call_order(asked)[running:], cut=False)
    assert_whole(asked)


def assert_cut(entries: list[ToolResultEntry], *, cut: bool) -> None:
    for entry in entries:
        assert ("did not stop within" in str(entry.content)) == cut


@pytest.mark.parametrize("depth", [1, 4])
async def test_clean_up_far_down_has_the_same_grace_and_not_that_of_each_level(
    autojump_clock: trio.testing.MockClock, depth: int
) -> None:
    cleaning = CleaningTool(0.2)
    below: Agent = agent(call("work"), "never", tools=[cleaning.work], name="a0")
    for level in range(1, depth + 1):
        below = agent(
            call(f"a{level - 1}", prompt="go"), "never", tools=[below], name=f"a{level}"
        )
    async with open_supervisor() as supervisor:
        run = supervisor.start(below, "go")
        await trio.sleep(1)
        before = trio.current_time()
        await run.cancel(grace_s=0.1)
        assert trio.current_time() - before <= 0.1 + 0.06  # and once `AGAIN_S`
        before = trio.current_time()
    assert cleaning.cut == 1
    assert trio.current_time() - before < 0.01


@pytest.mark.parametrize("calls", [1, 2])
async def test_a_scope_around_a_plain_arun_gives_the_agents_grace(
    autojump_clock: trio.testing.MockClock, calls: int
) -> None:
    cleaning, asked = CleaningTool(), state()
    root = agent(
        [call("work") for _ in range(calls)],
        "never",
        tools=[cleaning.work],
        grace_s=0.5,
    )
    with trio.move_on_after(1) as scope:
        await root.arun(asked)
    assert scope.cancelled_caught
    assert trio.current_time() == pytest.approx(1.1)
    assert cleaning.cleaned == calls
    assert outcomes(asked) == ["interrupted"] * calls
    assert_whole(asked)


async def test_a_second_cancel_does_not_shorten_the_clean_up_of_the_first(
    autojump_clock: trio.testing.MockClock,
) -> None:
    cleaning, asked = CleaningTool(), state()
    root = agent(call("work"), "never", tools=[cleaning.work])
    async with open_supervisor() as supervisor:
        run = supervisor.start(root, asked)
        await trio.sleep(1)
        run.cancel_nowait("first", grace_s=1)
        await trio.sleep(0.02)
        await run.cancel("second", grace_s=0.001)
    assert cleaning.cleaned == 1
    assert "first" in str(results(asked)[0].content)
    assert_whole(asked)


async def test_a_tool_that_times_out_may_clean_up_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    cleaning, asked = CleaningTool(), state()
    work = tool(timeout_s=1)(cleaning.work)
    root = agent(call("work"), "went on", tools=[work])
    assert await root.arun(asked) == "went on"
    assert cleaning.cleaned == 1
    assert trio.current_time() == pytest.approx(1.1)
    assert outcomes(asked) == ["error"]
    assert_whole(asked)
