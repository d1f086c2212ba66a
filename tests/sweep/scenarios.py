"""Runs that are cancelled at every step: one for each way in which work goes on."""

from collections.abc import Awaitable, Callable

from actors.testing import Trial

from . import background, people, runs, subagents, tools

Scenario = Callable[[Trial], Awaitable[None]]

SCENARIOS: tuple[Scenario, ...] = (
    *tools.SCENARIOS,
    *subagents.SCENARIOS,
    *background.SCENARIOS,
    *people.SCENARIOS,
    *runs.SCENARIOS,
)
