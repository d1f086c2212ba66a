"""Clean-up under cancel, whatever the work waits in when the cancel reaches it."""

from collections.abc import Awaitable, Callable
from typing import Never

import pytest
import trio
import trio.testing

from actors._grace import cancelled_from_outside, with_grace


async def in_a_sleep() -> None:
    await trio.sleep(60)


async def in_checkpoints() -> None:
    while True:
        await trio.lowlevel.checkpoint()


async def in_a_scope_of_its_own() -> None:
    with trio.move_on_after(30):
        await trio.sleep(60)
    await trio.sleep(60)


async def in_a_nursery() -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 60)
        nursery.start_soon(trio.sleep, 60)


WAITS = [
    in_a_sleep,
    in_checkpoints,
    in_a_scope_of_its_own,
    in_a_nursery,
]


@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: wait.__name__)
@pytest.mark.parametrize(("grace_s", "is_cut"), [(1.0, False), (0.05, True)])
async def test_work_sees_the_cancel_once_and_may_then_await_until_its_time_is_over(
    autojump_clock: trio.testing.MockClock,
    wait: Callable[[], Awaitable[None]],
    grace_s: float,
    is_cut: bool,
) -> None:
    told: list[str] = []

    async def work() -> None:
        try:
            await wait()
            told.append("never")
        except BaseException:
            told.append("cancelled")
            raise
        finally:
            await trio.sleep(0.1)
            told.append("clean")

    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                await with_grace(
                    work(),
                    lambda: trio.current_time() + grace_s,
                    lambda: told.append("cut"),
                )

            nursery.start_soon(run)
            for _ in range(5):
                await trio.lowlevel.checkpoint()
            scope.cancel()
    assert scope.cancelled_caught
    assert told == ["cancelled", "cut" if is_cut else "clean"]


async def test_a_cancel_of_a_scope_inside_the_work_is_none_from_outside(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def work() -> str:
        with trio.move_on_after(1):
            await trio.sleep(60)
        await trio.sleep(60)
        return "came to its end"

    def never() -> Never:
        raise AssertionError("nobody outside has cancelled anything")

    assert await with_grace(work(), never, never) == "came to its end"
    assert trio.current_time() == 61


async def test_what_the_work_raises_comes_through() -> None:
    async def work() -> None:
        await trio.lowlevel.checkpoint()
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await with_grace(work(), trio.current_time, lambda: None)


async def test_trio_still_tells_whether_a_scope_around_is_cancelled() -> None:
    await trio.lowlevel.checkpoint()
    with trio.CancelScope() as outer, trio.CancelScope() as inner:
        assert not cancelled_from_outside(inner)
        inner.cancel()
        assert not cancelled_from_outside(inner)
        outer.cancel()
        assert cancelled_from_outside(inner)
        with pytest.raises(trio.Cancelled):
            await trio.lowlevel.checkpoint()
