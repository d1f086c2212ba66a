import os
import threading

import pytest
import trio

from tests.leaks import leaving_no_task, no_leaks


def test_a_task_that_outlives_a_test_is_found() -> None:
    async def leak() -> None:
        trio.lowlevel.spawn_system_task(trio.sleep_forever)

    with pytest.raises(AssertionError, match="1 trio tasks outlived"):
        trio.run(leaving_no_task(leak))


def test_tasks_that_end_within_a_test_are_no_leak() -> None:
    async def tidy() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.lowlevel.checkpoint)

    trio.run(leaving_no_task(tidy))


def test_a_thread_that_outlives_a_test_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.leaks.THREAD_END_TIMEOUT_S", 0.01)
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="forgotten")
    with pytest.raises(AssertionError, match="forgotten"), no_leaks():
        thread.start()
    release.set()
    thread.join()


def test_a_descriptor_that_outlives_a_test_is_found() -> None:
    descriptor = -1
    with pytest.raises(AssertionError, match=os.devnull), no_leaks():
        descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
