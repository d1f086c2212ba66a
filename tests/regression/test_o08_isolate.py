"""O8: a failing call leaves its siblings their results."""

from collections.abc import Callable
from typing import Any

import pytest
import trio

from actors import State, ToolError, tool
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    in_call_order,
    outcomes,
    requested,
    state,
)


def failing(
    bad: int, error: Callable[[], Exception], *, is_async: bool, parallel: bool
) -> Any:
    """A tool whose call number ``bad`` raises; the others take a second each."""

    async def work(n: int) -> str:
        if n == bad:
            await trio.sleep(0.5)
            raise error()
        await trio.sleep(1)
        return f"result {n}"

    def plain_work(n: int) -> str:
        if n == bad:
            raise error()
        return f"result {n}"

    return tool(name="work", parallel=parallel)(work if is_async else plain_work)


def calls(count: int) -> list[Any]:
    return [call("work", n=n) for n in range(count)]


def contents(of: State) -> list[Any]:
    return [entry.content for entry in in_call_order(of)]


COUNTS = [(5, 2), (1, 0), (2, 0), (2, 1), (40, 39)]


@pytest.mark.parametrize(("count", "bad"), COUNTS)
@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("declared_by", ["agent", "tool", "ToolError"])
async def test_an_error_that_the_model_may_see_is_one_result_among_the_others(
    autojump_clock: trio.testing.MockClock,
    *,
    count: int,
    bad: int,
    parallel: bool,
    declared_by: str,
) -> None:
    kind = ToolError if declared_by == "ToolError" else ValueError
    made = failing(bad, lambda: kind("no luck"), is_async=True, parallel=parallel)
    settings: dict[str, Any] = {}
    if declared_by == "agent":
        settings["on_error"] = "result"
    elif declared_by == "tool":
        made = tool(name="work", parallel=parallel, on_error="result")(made.fn)
    asked = state()
    root = agent(calls(count), "went on", tools=[made], **settings)
    assert await root.arun(asked) == "went on"
    words = "no luck" if kind is ToolError else "ValueError: no luck"
    assert contents(asked) == [
        words if n == bad else f"result {n}" for n in range(count)
    ]
    assert [e.outcome for e in in_call_order(asked)] == [
        "error" if n == bad else "done" for n in range(count)
    ]
    (blocks,) = [m.content for m in asked.messages if m.role == "tool"]
    assert [b.call_id for b in blocks] == [c.id for c in requested(asked)]
    assert_whole(asked)


@pytest.mark.parametrize(("count", "bad"), COUNTS)
@pytest.mark.parametrize("parallel", [True, False])
async def test_another_error_leaves_the_run_after_every_sibling_has_its_result(
    autojump_clock: trio.testing.MockClock,
    *,
    count: int,
    bad: int,
    parallel: bool,
) -> None:
    made = failing(bad, lambda: ValueError("no luck"), is_async=True, parallel=parallel)
    asked = state()
    root = agent(calls(count), "never", tools=[made])
    with pytest.raises(ValueError, match="no luck"):
        await root.arun(asked)
    assert [e.outcome for e in in_call_order(asked)] == [
        "aborted" if n == bad else "done" for n in range(count)
    ]
    assert asked.stopped is None
    assert_whole(asked)


@pytest.mark.parametrize(("count", "bad"), COUNTS)
@pytest.mark.parametrize("parallel", [True, False])
async def test_siblings_are_cancelled_where_the_agent_says_so_and_all_are_closed(
    autojump_clock: trio.testing.MockClock,
    *,
    count: int,
    bad: int,
    parallel: bool,
) -> None:
    made = failing(bad, lambda: ValueError("no luck"), is_async=True, parallel=parallel)
    asked = state()
    root = agent(calls(count), "never", tools=[made], siblings="cancel")
    with pytest.raises(ValueError, match="no luck"):
        await root.arun(asked)
    got = [e.outcome for e in in_call_order(asked)]
    assert got[bad] == "aborted"
    assert set(got[:bad]) <= ({"cancelled", "done"} if parallel else {"done"})
    assert "done" not in got or not parallel or count > 32
    assert set(got[bad + 1 :]) <= {"cancelled"}
    assert_whole(asked)


@pytest.mark.parametrize("count", [1, 5])
async def test_plain_tools_are_isolated_the_same_way(count: int) -> None:
    made = failing(0, lambda: ToolError("no luck"), is_async=False, parallel=True)
    asked = state()
    root = agent(calls(count), "went on", tools=[made])
    assert await root.arun(asked) == "went on"
    assert contents(asked) == ["no luck", *(f"result {n}" for n in range(1, count))]
    assert_whole(asked)


@pytest.mark.parametrize("how", ["raises", "is refused"])
async def test_a_failing_subagent_is_an_error_result_and_its_siblings_answer(
    autojump_clock: trio.testing.MockClock, how: str
) -> None:
    bad = agent(ValueError("x" * 2000) if how == "raises" else 7, name="bad")
    good = agent("fine", name="good")
    asked = state()
    root = agent(
        [call("good", prompt="a"), call("bad", prompt="b"), call("good", prompt="c")],
        "went on",
        tools=[bad, good],
    )
    assert await root.arun(asked) == "went on"
    assert outcomes(asked).count("done") == 2
    failed = in_call_order(asked)[1]
    assert failed.outcome == "error"
    assert ("ValueError" if how == "raises" else "TypeError") in str(failed.content)
    assert len(str(failed.content)) <= 500 + len("bad failed: ")
    assert_whole(asked)


async def test_a_failing_subagent_is_an_error_result_while_somebody_looks_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    bad = agent(ValueError("no luck"), name="bad")
    asked = state()
    root = agent(call("bad", prompt="b"), "went on", tools=[bad])
    async with root.stream(asked) as events:
        async for _ in events:
            pass
    assert outcomes(asked) == ["error"]
    assert asked.answer == "went on"
    assert_whole(asked)
