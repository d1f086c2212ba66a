"""The figures of the agents: `python -m benchmarks.agents [--smoke]`.

Each stands beside a bare trio program that does the same by hand (`_by_hand`). Ours and
the bare one run in turns, so that a busy machine slows both; the time is that of the
CPU, and the figure is the median of the ratios. The exit code is 1 when a target is
missed. With `--smoke` the counts are so small that speed says little: only what must be
exact decides.
"""

import gc
import re
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import attrs
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Agent,
    Message,
    Run,
    State,
    Supervisor,
    Usage,
    loop,
    open_supervisor,
    waiting_for_user,
)
from actors._node import Node
from benchmarks import _by_hand
from benchmarks._contest import beside, contest, exact
from benchmarks._measure import Row, show
from benchmarks._scripted import (
    ANSWER,
    QUESTION,
    USAGE,
    Scripted,
    Silent,
    ask_of,
    lookup,
    reply_with,
    script,
)

LATENCY_S = 0.1
TREE = (10, 10, 10)


@attrs.frozen(kw_only=True)
class Scale:
    """How much is done for each figure."""

    rounds: int
    turns: int
    long: tuple[int, int]
    agents: int
    agent_turns: int = 5
    weighed: int
    children: int
    runs: tuple[int, int]


FULL = Scale(
    rounds=15, turns=1_000, long=(200, 10_000), agents=10_000, weighed=1_000,
    children=1_000, runs=(10_000, 100_000),
)  # fmt: skip
SMOKE = Scale(
    rounds=1, turns=20, long=(20, 100), agents=20, weighed=20, children=20,
    runs=(50, 200),
)  # fmt: skip


@loop(until=waiting_for_user, limit=1_000_000)
async def turn_by_turn(agent: Agent, state: State) -> None:
    await agent.athink(state)
    await agent.ause_tools(state)


def quiet(model: Any, **settings: Any) -> Agent:
    """An agent that nobody looks at."""
    return Agent(model=model, reporter=None, human=None, loop=turn_by_turn, **settings)


def fresh() -> State:
    return State(messages=[Message.user(QUESTION)])


# One agent


async def ours_turns(turns: int, on_turn: Callable[[], object] | None = None) -> float:
    replies = script(turns)
    agent = quiet(Scripted(replies), tools=[lookup])
    if on_turn is not None:
        agent = agent.copy(loop=_counting(on_turn))
    state = fresh()
    begin = process_time()
    await agent.arun(state)
    took = process_time() - begin
    assert state.usage.requests == turns + 1
    return took


def _counting(on_turn: Callable[[], object]) -> Any:
    @loop(until=waiting_for_user, limit=1_000_000)
    async def counting(agent: Agent, state: State) -> None:
        on_turn()
        await turn_by_turn.body(agent, state)

    return counting


def one_turn(scale: Scale) -> Iterator[Row]:
    turns = scale.turns
    times = contest(
        partial(ours_turns, turns),
        lambda: _by_hand.turns(ask_of(script(turns)), turns),
        scale.rounds,
    )
    yield beside("one turn: a call, its result", 0.8, turns, times)
    yield growth(scale)


def growth(scale: Scale) -> Row:
    """How much longer late turns take than early ones, in one conversation."""
    early, late = scale.long
    window = early // 2
    times: list[float] = []
    trio.run(ours_turns, late + window, lambda: times.append(process_time()))
    steps = [b - a for a, b in pairwise(times)]
    first, last = (median(steps[at - window : at + window]) for at in (early, late))
    return Row(
        figure=f"turn {late:,} against turn {early:,}",
        target="<= 1.05 x",
        measured=f"{last / first:.2f} x",
        holds=last / first <= 1.05,
    )


# Many agents


def fleet_agent(scale: Scale, latency_s: float = LATENCY_S) -> Agent:
    return quiet(Scripted(script(scale.agent_turns), latency_s), tools=[lookup])


async def ours_fleet(scale: Scale) -> float:
    agent = fleet_agent(scale)
    begin = process_time()
    async with open_supervisor() as supervisor:
        runs = [supervisor.start(agent, QUESTION) for _ in range(scale.agents)]
    took = process_time() - begin
    used = sum(run.usage.requests for run in runs)
    assert used == scale.agents * (scale.agent_turns + 1), "usage is exact"
    return took


def fleet(scale: Scale) -> Iterator[Row]:
    def ask() -> Any:
        return ask_of(replies, LATENCY_S)

    replies = script(scale.agent_turns)
    times = contest(
        partial(ours_fleet, scale),
        lambda: _by_hand.fleet(ask, scale.agents),
        min(scale.rounds, 3),
    )
    figure = f"{scale.agents:,} agents x {scale.agent_turns} turns, a model of 100 ms"
    yield beside(f"{figure}; an agent", 0.9, scale.agents, times)
    weight = trio.run(weigh, scale)
    yield Row(
        figure="memory of a running agent beside its records",
        target="<= 12,000 bytes",
        measured=f"{weight:,.0f} bytes",
        holds=weight <= 12_000,
    )


async def weigh(scale: Scale) -> float:
    """Bytes that a run holds while it waits in its last turn, and frees at its end."""
    go_on = trio.Event()
    agent = quiet(_Waiting(scale.agent_turns, go_on), tools=[lookup])
    states = [fresh() for _ in range(scale.weighed)]
    async with open_supervisor() as supervisor:
        runs = await _begun_and_traced(agent, states, supervisor)
        gc.collect()
        running, _ = tracemalloc.get_traced_memory()
        go_on.set()
        del runs
    gc.collect()
    rest, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (running - rest) / scale.weighed


async def _begun_and_traced(
    agent: Agent, states: list[State], supervisor: Supervisor
) -> list[Run]:
    gc.collect()
    tracemalloc.start()
    runs = [supervisor.start(agent, state) for state in states]
    await wait_all_tasks_blocked()
    return runs


class _Waiting(Scripted):
    """It answers at once, but for the last reply."""

    def __init__(self, turns: int, go_on: trio.Event) -> None:
        super().__init__(script(turns))
        self._last = turns
        self._go_on = go_on

    async def arespond(self, request: Any, on_text: Any, on_event: Any) -> Any:
        if len(request.messages) // 2 == self._last:
            await self._go_on.wait()
        return await super().arespond(request, on_text, on_event)


# Children


async def ours_supervised(children: int) -> float:
    """Children without a State: what a supervisor itself costs."""
    ends: dict[str, str] = {}
    used = 0

    async def work() -> None:
        await trio.lowlevel.checkpoint()

    def ended(node: Node) -> None:
        nonlocal used
        used += 1
        ends[node.id] = "done" if node.stop is None else "cancelled"

    begin = process_time()
    async with open_supervisor() as supervisor:
        root = Node(supervisor, None, "root")
        for number in range(children):
            node = Node(supervisor, root, str(number))
            node.on_end = ended
            supervisor._spawn(node, work)
        await root.join_children()
    took = process_time() - begin
    assert len(ends) == used == children
    return took


def tree_agent(widths: tuple[int, ...]) -> Agent:
    """An agent that calls so many, each of which calls so many; down to answers."""
    below = quiet(Scripted([ANSWER]), name="leaf")
    for width in reversed(widths):
        replies = [reply_with(*[below.name or ""] * width), ANSWER]
        below = quiet(Scripted(replies), tools=[below], name=f"over_{below.name}")
    return below


async def ours_tree(widths: tuple[int, ...], used: list[Usage]) -> float:
    agent, state = tree_agent(widths), fresh()
    begin = process_time()
    await agent.arun(state)
    took = process_time() - begin
    used.append(state.usage)
    return took


def children(scale: Scale) -> Iterator[Row]:
    wide = scale.children
    times = contest(
        partial(ours_supervised, wide),
        partial(_by_hand.supervised, wide),
        scale.rounds,
    )
    yield beside("a bare supervised child", 1.5, wide, times)
    yield from tree(scale, (wide,), f"{wide:,} subagents called in one reply")
    yield from tree(scale, TREE, "tree " + " x ".join(map(str, TREE)))


def tree(scale: Scale, widths: tuple[int, ...], figure: str) -> Iterator[Row]:
    agents, above = 0, 1
    for width in widths:
        above *= width
        agents += above
    used: list[Usage] = []
    times = contest(
        partial(ours_tree, widths, used),
        partial(_by_hand.supervised, agents),
        scale.rounds,
    )
    us = times[0] / agents * 1e6
    yield Row(
        figure=f"{figure}; an agent with its State and usage",
        target="<= 60 us",
        measured=f"{us:.1f} us",
        holds=us <= 60,
        bare=f"{times[1] / agents * 1e6:.1f} us, x {times[2]:.2f}",
    )
    # Each agent that calls others is asked twice, each leaf once.
    requests = 2 * (agents + 1) - above
    wanted = {requests * USAGE.total_tokens}
    found = {usage.total_tokens for usage in used}
    yield exact(f"{figure}; tokens of the root", wanted, found)


# Ends


async def ours_cancelled(agents: int, left: list[tuple[int, int]]) -> float:
    agent = quiet(Silent())
    before = trio.lowlevel.current_statistics().tasks_living
    runs: list[Run] = []
    begin = 0.0
    with trio.CancelScope() as scope:
        async with open_supervisor() as supervisor:
            runs += [supervisor.start(agent, QUESTION) for _ in range(agents)]
            await wait_all_tasks_blocked()
            begin = process_time()
            scope.cancel()
    took = process_time() - begin
    tasks = trio.lowlevel.current_statistics().tasks_living - before
    closed = sum(run.state.history[-1].kind == "error" for run in runs)
    left.append((tasks, agents - closed))
    return took


def cancelling(scale: Scale) -> Iterator[Row]:
    left: list[tuple[int, int]] = []
    times = contest(
        partial(ours_cancelled, scale.agents, left),
        partial(_by_hand.cancelled, scale.agents),
        min(scale.rounds, 3),
    )
    figure = f"cancel {scale.agents:,} agents that wait for the model"
    yield beside(f"{figure}; an agent", 1.5, scale.agents, times)
    yield exact(f"{figure}; tasks left, records open", {(0, 0)}, set(left))


def many_runs(scale: Scale) -> Iterator[Row]:
    warm, runs = scale.runs
    agent = quiet(Scripted(script(1)), tools=[lookup])

    async def work(so_many: int) -> None:
        async with open_supervisor():
            for _ in range(so_many):
                await agent.arun(QUESTION)

    sizes: list[int] = []
    for so_many in (warm, runs - warm):
        trio.run(work, so_many)
        gc.collect()
        sizes.append(resident_kb())
    grown = sizes[1] / sizes[0] - 1
    yield Row(
        figure=f"memory after {runs:,} runs against {warm:,}",
        target="<= + 2 %",
        measured=f"{grown:+.1%} of {sizes[0] / 1024:.0f} MB",
        holds=grown <= 0.02,
    )


def resident_kb() -> int:
    found = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None, "every Linux process has a resident set"
    return int(found[1])


PARTS = (one_turn, children, cancelling, fleet, many_runs)


def main(arguments: list[str]) -> int:
    scale = SMOKE if "--smoke" in arguments else FULL
    rows = [row for part in PARTS for row in part(scale)]
    holds = show("The agents beside bare trio", rows)
    if scale is SMOKE:
        return 0 if all(row.holds for row in rows if row.target.startswith("{")) else 1
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
