"""A fleet in virtual time, without a store on disk."""

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
import trio
import trio.testing
from rich.console import Console

from actors import Agent, FunctionModel, MemoryStore, Request, ToolCall, tool
from actors.cli._crew import GRACE_S, Fleet, Plan
from actors.cli._progress import Progress, in_dollars, in_time
from actors.cli._results import Spool
from actors.cli._tasks import Task
from actors.testing import tool_call


@tool
async def rest(seconds: float) -> str:
    """Rest."""
    await trio.sleep(seconds)
    return "rested"


def rests(request: Request) -> ToolCall | str:
    """Rest as long as the prompt says, and answer."""
    if len(request.messages) > 1:
        return "rested"
    return tool_call("rest", seconds=float(request.messages[0].text()))


class Site:
    """A fleet, and what its results say."""

    def __init__(self, *seconds: float, **settings: Any) -> None:
        store = settings.pop("store", MemoryStore())
        agent = Agent(
            FunctionModel(rests), tools=[rest], store=store, reporter=None, human=None
        )
        tasks = [Task(id=f"t{n}", prompt=str(s)) for n, s in enumerate(seconds)]
        settings.setdefault("max_running", 10)
        self.spool = Spool()
        plan = Plan(agent=agent, store=store, tasks=tasks, **settings)
        self.fleet = Fleet(plan, self.spool)

    async def work(self) -> list[str]:
        """Do it; the status of each task."""
        with self.spool:
            await self.fleet.work(lambda: None)
            names = [task.id for task in self.fleet.plan.tasks]
            return [json.loads(self.spool.line(name))["status"] for name in names]


async def after(seconds: float, fn: Any, *args: object) -> None:
    await trio.sleep(seconds)
    fn(*args)


async def test_no_more_run_at_once_than_allowed(
    autojump_clock: trio.testing.MockClock,
) -> None:
    site = Site(10, 10, 10, 10, max_running=2)
    assert await site.work() == ["done"] * 4
    assert trio.current_time() == pytest.approx(20.0)


async def test_at_the_deadline_what_is_done_stays_and_the_rest_is_cancelled(
    autojump_clock: trio.testing.MockClock,
) -> None:
    site = Site(100, 1, 100, 1, max_running=2, deadline_s=60)
    assert await site.work() == ["cancelled", "done", "cancelled", "cancelled"]
    assert trio.current_time() == pytest.approx(60.0)
    assert site.fleet.unfinished == 3


@pytest.mark.parametrize(
    ("at_s", "statuses", "ends_s"),
    [
        (1.0, ["done", "cancelled", "cancelled"], 1.0 + GRACE_S),
        (9.0, ["done", "done", "done"], 12.0),
    ],
)
async def test_a_stop_begins_nothing_more_and_gives_what_runs_a_grace(
    at_s: float,
    statuses: Sequence[str],
    ends_s: float,
    autojump_clock: trio.testing.MockClock,
    nursery: trio.Nursery,
) -> None:
    site = Site(2, 10, 10, max_running=2)
    nursery.start_soon(after, at_s, site.fleet.stop, "enough")
    assert await site.work() == statuses
    assert trio.current_time() == pytest.approx(ends_s)
    assert site.fleet.stopping == "enough"


async def test_a_stop_now_has_no_grace_and_the_rest_is_done_later(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    store = MemoryStore()
    site = Site(10, 10, store=store)
    nursery.start_soon(after, 1.0, site.fleet.stop_now, "now")
    assert await site.work() == ["cancelled", "cancelled"]
    assert trio.current_time() == pytest.approx(1.0)
    assert await Site(10, 10, store=store).work() == ["done", "done"]


async def test_progress_tells_what_runs_and_when_it_should_be_over(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    site = Site(10, 20, 10, 20, max_running=2)
    progress = Progress(site.fleet)
    pictures: list[Any] = []
    for at_s in (5.0, 15.0, 45.0):
        nursery.start_soon(after, at_s, lambda: pictures.append(progress.picture()))
    await site.work()
    await trio.sleep(50)
    first, second, last = pictures
    assert (first.running, first.done, first.eta_s) == (2, 0, None)
    assert first.slowest == ("t0", 5.0)
    assert (second.running, second.done, second.ended) == (2, 1, 1)
    assert second.slowest == ("t1", 15.0)
    assert second.eta_s == pytest.approx(45.0)
    assert (last.running, last.done, last.eta_s) == (0, 4, 0.0)
    assert "4 of 4  running 0  done 4  failed 0" in last.line()


@pytest.mark.parametrize("is_terminal", [True, False])
async def test_what_is_shown_moves_at_a_terminal_and_is_plain_lines_elsewhere(
    is_terminal: bool,
    autojump_clock: trio.testing.MockClock,
    nursery: trio.Nursery,
) -> None:
    site = Site(25, 25)
    progress, shown = Progress(site.fleet), io.StringIO()
    console = Console(file=shown, force_terminal=is_terminal, width=150)
    show = progress.paint if is_terminal else progress.write_lines
    nursery.start_soon(show, console)
    await site.work()
    nursery.cancel_scope.cancel()
    text = shown.getvalue()
    assert ("\x1b[" in text) == is_terminal
    assert "0 of 2" in text
    assert "slowest" in text
    if not is_terminal:
        assert len(text.splitlines()) == 2, "one line every ten seconds"


def test_durations_and_costs_are_in_words_of_people() -> None:
    assert in_time(5.25) == "5.2 s"
    assert in_time(65) == "0:01:05"
    assert in_time(90_061) == "25:01:01"
    assert in_dollars(None) == "unknown"
    assert in_dollars(1234.5) == "$1,234.5000"
