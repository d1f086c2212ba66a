"""The rows of `benchmarks.fleet` that go over HTTP, to a server of our own.

The server is a process of its own, so its CPU is not counted as ours. What concurrency
allows is the number of agents, or of requests that the server takes at once if that is
less, divided by its mean latency. A turn counts when its reply is read; a refusal comes
as late as a reply and counts for nothing, so at 5 % no more than 0.95 could be reached.
The time is the wall clock's, over some seconds from when all agents are under way. An
agent asks three times in a run, with a tool call after the first two replies, and
begins its next run at once.
"""

import json
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import attrs
import trio

from actors import (
    Agent,
    OpenAICompatible,
    Reply,
    Request,
    open_supervisor,
    tool,
)
from actors.models._model import OnEvent, OnText
from benchmarks._measure import Row

REFUSED = 0.05
ROOM = 20
SHARE_MIN = 0.85
WARM_UP_S = 2.0
ANY = 1_000_000


@attrs.define
class Provider:
    """A server that runs, or that has run."""

    url: str
    seen: dict[str, Any] = attrs.field(factory=dict[str, Any])
    """What it counted; once it has ended."""


@contextmanager
def provider(
    latency_s: float, refused: float, room: int
) -> Generator[Provider, None, None]:
    """Start a server, and end it."""
    settings = [str(value) for value in (latency_s, refused, room)]
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks._server", *settings],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
        text=True,
    ) as process:
        assert process.stdout is not None
        server = Provider(f"http://127.0.0.1:{int(process.stdout.readline())}/v1")
        try:
            yield server
        finally:
            output, _ = process.communicate()
            server.seen = json.loads(output)


@tool
async def look(place: str) -> str:
    """Look at a place."""
    return f"nothing at {place}"


class Counted(OpenAICompatible):
    """Counts replies, refusals left out."""

    replies = 0

    async def arespond(
        self, request: Request, on_text: OnText | None, on_event: OnEvent
    ) -> Reply:
        reply = await super().arespond(request, on_text, on_event)
        Counted.replies += 1
        return reply


@attrs.frozen
class Pace:
    """What came of so many seconds."""

    turns_per_s: float
    cpu_s: float
    """Of one turn, on our side."""


async def pace(url: str, agents: int, spread_s: float, seconds: float) -> Pace:
    """Let so many agents ask the server, and measure once all are under way."""
    agent = Agent(Counted("bench", base_url=url), tools=[look], reporter=None)

    async def work(number: int) -> None:
        await trio.sleep(spread_s * number / agents)  # not in step with each other
        while True:
            await agent.arun("Look around.")

    async with open_supervisor(), trio.open_nursery() as nursery:
        for number in range(agents):
            nursery.start_soon(work, number)
        await trio.sleep(spread_s + min(WARM_UP_S, seconds))
        before, begin, cpu = Counted.replies, perf_counter(), process_time()
        await trio.sleep(seconds)
        turns = Counted.replies - before
        took_s, cpu_s = perf_counter() - begin, process_time() - cpu
        nursery.cancel_scope.cancel()
    return Pace(turns / took_s, cpu_s / max(1, turns))


def beside_ideal(
    agents: int, latency_s: float, seconds: float, *, refused: float, room: int = ANY
) -> Row:
    """Measure beside what concurrency allows."""
    with provider(latency_s, refused, room) as server:
        measured = trio.run(pace, server.url, agents, latency_s, seconds)
    seen = server.seen
    ideal = min(agents, room) / latency_s
    share = measured.turns_per_s / ideal
    refusals = seen["refusals"] / (seen["refusals"] + seen["answers"])
    how = f"{room} at once at most" if room < ANY else f"{refused:.0%} refused"
    return Row(
        figure=f"over HTTP, {agents} agents, {latency_s:g} s, {how}",
        target=f">= {SHARE_MIN} x {ideal:,.0f}/s",
        measured=f"{share:.2f} x, {refusals:.1%} of requests refused",
        holds=share >= SHARE_MIN,
    )


def rows(seconds: float) -> Iterator[Row]:
    """Go over HTTP, where a turn takes about 1 ms of CPU on our side.

    So many agents that CPU is not the bound: they need an eighth of a core each time.
    """
    yield beside_ideal(25, 0.2, seconds, refused=REFUSED)
    yield beside_ideal(200, 1.6, 2 * seconds, refused=REFUSED)
    yield beside_ideal(60, 0.2, seconds, refused=0.0, room=ROOM)
    with provider(0.0, 0.0, ANY) as server:
        flat_out = trio.run(pace, server.url, 100, 0.0, seconds)
    yield Row(
        figure="over HTTP, as many turns as one core takes",
        target="",
        measured=f"{1 / flat_out.cpu_s:,.0f} a second of CPU",
        holds=True,
    )
