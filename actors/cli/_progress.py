"""How a fleet is getting on: a picture at a terminal, plain lines elsewhere."""

from collections import deque
from collections.abc import Iterator

import attrs
import trio
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from actors import Agent, Model
from actors._gate import gate_for
from actors.models._wire_model import WireModel
from actors.tools._subagent import RunAgent
from protocol import Usage

from ._crew import Fleet

PAINTS_PER_S = 4
"""More is not read, and each costs some milliseconds of the fleet's own time."""

LINE_EVERY_S = 10.0
"""Seconds between plain lines: a night of them is a readable log."""

PACE_S = 10.0
"""Seconds over which the pace is taken: shorter ones jump about."""


@attrs.frozen(kw_only=True)
class Picture:
    """How a fleet stands at one moment."""

    total: int
    done: int
    failed: int
    stopped: int
    running: int
    waiting: int
    """Requests that wait for their turn at the gate."""
    turns_per_s: float
    tokens: int
    cost: float | None
    eta_s: float | None
    """Seconds until the last task should have ended; None: nobody knows."""
    slowest: tuple[str, float] | None
    """The task that has run longest, and its seconds."""

    @property
    def ended(self) -> int:
        """Tasks with a result that stays."""
        return self.done + self.failed + self.stopped

    def parts(self) -> Iterator[tuple[str, str]]:
        """What is shown, as labels and values."""
        yield "running", f"{self.running:,}"
        yield "done", f"{self.done:,}"
        yield "failed", f"{self.failed:,}"
        if self.stopped:
            yield "stopped", f"{self.stopped:,}"
        yield "at the gate", f"{self.waiting:,}"
        yield "turns/s", f"{self.turns_per_s:,.1f}"
        yield "tokens", f"{self.tokens:,}"
        yield "cost", in_dollars(self.cost)
        yield "ETA", "-" if self.eta_s is None else in_time(self.eta_s)
        if self.slowest is not None:
            yield "slowest", f"{self.slowest[0]} {in_time(self.slowest[1])}"

    def line(self) -> str:
        """All of it in one line."""
        shown = "  ".join(f"{label} {value}" for label, value in self.parts())
        return f"{self.ended:,} of {self.total:,}  {shown}"


class Progress:
    """Watches a fleet; made when it begins."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._models = models_of(fleet.plan.agent)
        self._began = trio.current_time()
        self._seen: deque[tuple[float, int]] = deque([(self._began, 0)])

    @property
    def seconds(self) -> float:
        """Seconds since the fleet began."""
        return trio.current_time() - self._began

    def picture(self) -> Picture:
        """How the fleet stands now."""
        fleet, counts = self._fleet, self._fleet.counts
        usage = fleet.usage_now()
        return Picture(
            total=len(fleet.plan.tasks),
            done=counts.ended["done"],
            failed=counts.ended["failed"],
            stopped=counts.ended["stopped"],
            running=len(fleet.running),
            waiting=sum(gate_for(model).statistics().waiting for model in self._models),
            turns_per_s=self._pace(),
            tokens=usage.total_tokens,
            cost=usage.cost,
            eta_s=self._eta_s(),
            slowest=self._slowest(),
        )

    def _pace(self) -> float:
        now, turns = trio.current_time(), self._fleet.turns_now()
        seen = self._seen
        while len(seen) > 1 and seen[0][0] < now - PACE_S:
            seen.popleft()
        began, before = seen[0]
        seen.append((now, turns))
        return (turns - before) / (now - began) if now > began else 0.0

    def _eta_s(self) -> float | None:
        counts = self._fleet.counts
        ended = sum(counts.ended.values())
        here = ended - counts.found
        if here <= 0:
            return None
        return (len(self._fleet.plan.tasks) - ended) * self.seconds / here

    def _slowest(self) -> tuple[str, float] | None:
        for name, work in self._fleet.running.items():
            return name, trio.current_time() - work.began
        return None

    async def paint(self, console: Console) -> None:
        """Paint a picture that moves, until cancelled; then it is gone."""
        with Live(console=console, auto_refresh=False, transient=True) as live:
            while True:
                live.update(_painted(self.picture()), refresh=True)
                await trio.sleep(1 / PAINTS_PER_S)

    async def write_lines(self, console: Console) -> None:
        """Write a line now and then, until cancelled."""
        while True:
            await trio.sleep(LINE_EVERY_S)
            console.print(self.picture().line(), soft_wrap=True)


def _painted(picture: Picture) -> Group:
    bar = ProgressBar(total=max(1, picture.total), completed=picture.ended, width=40)
    top = Table.grid(padding=(0, 1))
    top.add_row(bar, Text(f"{picture.ended:,} of {picture.total:,}"))
    parts = [
        Text.assemble((f"{label} ", "dim"), (value, _style(label, value)))
        for label, value in picture.parts()
    ]
    return Group(top, Text("  ").join(parts))


def _style(label: str, value: str) -> str:
    if label == "failed" and value != "0":
        return "bold red"
    return "yellow" if label == "at the gate" and value != "0" else "bold"


def in_time(seconds: float) -> str:
    """Seconds as a person reads them."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def in_dollars(cost: float | None) -> str:
    """A cost as a person reads it."""
    return "unknown" if cost is None else f"${cost:,.4f}"


def used(usage: Usage) -> str:
    """Usage in one line."""
    return (
        f"{usage.requests:,} requests, {usage.total_tokens:,} tokens, "
        f"cost {in_dollars(usage.cost)}"
    )


def models_of(agent: Agent) -> list[Model]:
    """The models of an agent and of its subagents, one for each gate."""
    found: dict[str, Model] = {}
    for each in team_of(agent):
        found.setdefault(each.model.key or each.model.name, each.model)
    return list(found.values())


def unpriced(agent: Agent) -> str:
    """Say whose models cost what nobody knows, and the way out; empty if none does.

    A model of another kind may tell the cost of a reply by itself.
    """
    names = [
        repr(model.name)
        for model in models_of(agent)
        if isinstance(model, WireModel) and model.price is None
    ]
    if not names:
        return ""
    return (
        f"no price is known for {', '.join(names)}: give the model"
        " price=Price(input, output), dollars for a million tokens"
    )


def team_of(agent: Agent) -> list[Agent]:
    """An agent and its subagents, and theirs."""
    found: dict[int, Agent] = {}
    waiting = [agent]
    while waiting:
        each = waiting.pop()
        if id(each) not in found:
            found[id(each)] = each
            waiting += [t.fn.agent for t in each.tools if isinstance(t.fn, RunAgent)]
    return list(found.values())
