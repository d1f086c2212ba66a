"""One thread that writes for everybody, and groups what waits.

1. Jobs are done in the order they come, as many at once as are waiting: while one
   group is being synced the next one gathers, so the busier it is, the less a job
   costs.
2. A job that was handed over is done, whoever waits for it: a task that is cancelled
   meanwhile hears of it at its next checkpoint, and knows what became of the job.
3. The thread starts with the first job and ends when the writer is closed or dropped.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, TypeAlias
from weakref import finalize

import attrs
import trio

from ._binding import Write

GROUP_JOBS_MAX = 1_000
"""So many jobs at most share one sync; more would only delay the first of them."""


class Job:
    """Something for the thread to do, and what came of it."""

    __slots__ = ("error", "fn", "result", "wake", "write")

    def __init__(
        self, write: Write | None = None, fn: Callable[[Any], Any] | None = None
    ) -> None:
        self.write = write
        self.fn = fn
        self.result: Any = None
        self.error: BaseException | None = None
        self.wake: Event | tuple[trio.lowlevel.TrioToken, trio.lowlevel.Task]

    def answer(self) -> Any:
        """What the job returned, or raise what it raised."""
        if self.error is not None:
            raise self.error
        return self.result


@attrs.define
class Counts:
    """What the thread has done so far."""

    jobs: int = 0
    groups: int = 0


Perform: TypeAlias = Callable[[list[Job]], None]
"""Does these jobs in order and fills in their results and errors."""

_Queue: TypeAlias = "SimpleQueue[Job | None]"


class Writer:
    """Hands jobs to a thread of its own.

    Args:
        name: The thread's name.
        connect: Makes what does the jobs, in the thread; after a fork it is made anew.
    """

    def __init__(self, name: str, connect: Callable[[], Perform]) -> None:
        self._name = name
        self._connect = connect
        self._lock = Lock()
        self._queue: _Queue | None = None
        self._thread: Thread | None = None
        self._process = os.getpid()
        self._closed = False
        self.counts = Counts()
        self._end: Callable[[], object] = _nothing

    def do(self, job: Job) -> Any:
        """Have it done, and wait as a plain thread does.

        Interrupted, it still waits for the outcome before it raises.
        """
        done = job.wake = Event()
        self._hand_over(job)
        try:
            done.wait()
        except BaseException:
            done.wait()
            raise
        return job.answer()

    async def ado(self, job: Job) -> Any:
        """Have it done, and wait as a task does; a cancel waits for the outcome."""
        await trio.lowlevel.checkpoint_if_cancelled()
        job.wake = trio.lowlevel.current_trio_token(), trio.lowlevel.current_task()
        self._hand_over(job)
        await trio.lowlevel.wait_task_rescheduled(_not_now)
        return job.answer()

    def close(self) -> None:
        """End the thread behind the jobs that wait. Later jobs are refused."""
        with self._lock:
            self._closed = True
            thread = self._thread
            self._end()
        if thread is not None and self._process == os.getpid():
            thread.join()

    def _hand_over(self, job: Job) -> None:
        with self._lock:
            if self._closed:
                raise ValueError("the store is closed: open it again to use it")
            if self._queue is None or self._process != os.getpid():
                self._start()
            assert self._queue is not None, "started"
            self._queue.put(job)

    def _start(self) -> None:
        queue: _Queue = SimpleQueue()
        self._queue, self._process = queue, os.getpid()
        self._thread = Thread(
            target=_work,
            args=(queue, self._connect, self.counts),
            name=self._name,
            daemon=True,
        )
        self._end = finalize(self, queue.put, None)
        self._thread.start()


def _nothing() -> None:
    """There is no thread to end."""


def _not_now(_raise_cancel: object) -> trio.lowlevel.Abort:
    return trio.lowlevel.Abort.FAILED


def _work(queue: _Queue, connect: Callable[[], Perform], counts: Counts) -> None:
    perform = connect()
    ended = False
    while not ended:
        waiting = [queue.get()]
        with suppress(Empty):
            while len(waiting) < GROUP_JOBS_MAX:
                waiting.append(queue.get_nowait())
        jobs = [job for job in waiting if job is not None]
        ended = len(jobs) < len(waiting)
        try:
            perform(jobs)
        except BaseException as error:  # noqa: BLE001 - whoever waits must hear of it
            for job in jobs:
                job.error = job.error or error
        counts.jobs += len(jobs)
        counts.groups += 1
        _wake(jobs)
    perform([])


def _wake(jobs: list[Job]) -> None:
    """Wake all who wait, the tasks of each trio run with one call."""
    runs: dict[trio.lowlevel.TrioToken, list[trio.lowlevel.Task]] = {}
    for job in jobs:
        if isinstance(job.wake, Event):
            job.wake.set()
        else:
            token, task = job.wake
            runs.setdefault(token, []).append(task)
    for token, tasks in runs.items():
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(_reschedule, tasks)


def _reschedule(tasks: list[trio.lowlevel.Task]) -> None:
    for task in tasks:
        trio.lowlevel.reschedule(task)
