"""O13: the exception of a tool leaves the run as it is, with nothing around it."""

import traceback

import pytest
import trio

from actors import open_supervisor
from tests.regression.stage import agent, assert_whole, call, state


async def raises(n: int) -> str:
    await trio.sleep(n)
    raise ValueError(f"from {n}")


async def slow() -> str:
    await trio.sleep(10)
    return "fine"


def plain_raises() -> str:
    raise ValueError("from a thread")


@pytest.mark.parametrize("way", ["alone", "supervised", "started"])
@pytest.mark.parametrize("siblings", ["keep", "cancel"])
async def test_the_error_of_one_parallel_tool_is_caught_by_its_own_class(
    autojump_clock: trio.testing.MockClock, way: str, siblings: str
) -> None:
    asked = state()
    root = agent(
        [call("slow"), call("raises", n=1), call("slow")],
        "never",
        tools=[slow, raises],
        siblings=siblings,
    )
    caught: BaseException | None = None
    try:
        if way == "alone":
            await root.arun(asked)
        elif way == "supervised":
            async with open_supervisor():
                await root.arun(asked)
        else:
            async with open_supervisor() as supervisor:
                await supervisor.start(root, asked).wait()
    except ValueError as error:
        caught = error
    assert str(caught) == "from 1"
    assert_bare(caught)
    assert trio.current_time() == (10 if siblings == "keep" else 1)
    assert_whole(asked)


def assert_bare(error: BaseException | None) -> None:
    """No group, and no Cancelled, is anywhere around the error."""
    seen: list[BaseException] = []
    todo = [error]
    while todo:
        each = todo.pop()
        if each is None or each in seen:
            continue
        seen.append(each)
        assert not isinstance(each, BaseExceptionGroup | trio.Cancelled)
        todo += [each.__cause__, each.__context__]
    assert seen
    assert "Cancelled" not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("count", [2, 3, 6])
async def test_further_errors_are_notes_of_the_first_in_call_order(
    autojump_clock: trio.testing.MockClock, count: int
) -> None:
    asked = state()
    root = agent(
        [call("raises", n=n) for n in range(count, 0, -1)], "never", tools=[raises]
    )
    with pytest.raises(ValueError, match=f"from {count}") as caught:
        await root.arun(asked)
    notes = caught.value.__notes__
    assert len(notes) == count - 1
    for n, note in zip(range(count - 1, 0, -1), notes, strict=True):
        assert f"from {n}" in note
    assert_bare(caught.value)
    assert_whole(asked)


async def test_the_error_of_a_thread_is_bare_too() -> None:
    asked = state()
    root = agent([call("plain_raises")], "never", tools=[plain_raises])
    with pytest.raises(ValueError, match="from a thread") as caught:
        await root.arun(asked)
    assert_bare(caught.value)


async def test_the_error_of_a_model_is_bare(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asked = state()
    with pytest.raises(ZeroDivisionError) as caught:
        await agent(ZeroDivisionError("model")).arun(asked)
    assert_bare(caught.value)
    assert_whole(asked)


async def test_an_error_in_a_supervisors_block_is_bare_and_stops_what_runs(
    autojump_clock: trio.testing.MockClock,
) -> None:
    asked = state()
    with pytest.raises(KeyError) as caught:
        async with open_supervisor() as supervisor:
            supervisor.start(agent(call("slow"), "never", tools=[slow]), asked)
            await trio.sleep(1)
            raise KeyError("mine")
    assert_bare(caught.value)
    assert trio.current_time() == 1
    assert_whole(asked)
