"""What an experiment runs: a function of the user's, or an agent with a prompt.

1. An agent keeps nothing from one run to the next: its States are kept in memory for
   the run alone, and scripts begin again.
"""

from collections.abc import Sequence

import click

from actors import Agent, MemoryStore, Message, State
from actors.testing import FakeHuman, FakeModel
from actors.testing._trial import Bench, Invariant, Scenario
from protocol._rules import told

from ._named import named
from ._progress import team_of
from ._unattended import unattended


def bench_of(
    scenario: str,
    invariants: Sequence[str],
    *,
    prompt: str | None,
    model: str | None,
    base_url: str | None,
) -> Bench:
    """Find the scenario and its invariants.

    Args:
        scenario: ``MODULE:NAME`` of a function, or of an Agent.
        invariants: ``MODULE:NAME`` of functions.
        prompt: What an Agent is asked.
        model: A model in place of the Agent's.
        base_url: Where that model is.

    Raises:
        click.UsageError: something of it cannot be meant.
    """
    try:
        found = named(scenario, "scenario")
        if isinstance(found, Agent):
            agent = unattended(found, model=model, base_url=base_url)
            run = _asking(agent, scenario, prompt)
        else:
            _check_alone(scenario, prompt, model, base_url)
            run = _function(found, scenario)
        checks = [_function(named(each, "invariant"), each) for each in invariants]
        return Bench(run, checks)
    except Exception as fault:
        own = isinstance(fault, ValueError | TypeError)
        raise click.UsageError(str(fault) if own else told(fault)) from fault


def _check_alone(scenario: str, *given: str | None) -> None:
    """What is said of an agent fits no function."""
    for option, value in zip(("--prompt", "--model", "--base-url"), given, strict=True):
        if value is not None:
            raise ValueError(
                f"{option} is for an Agent, and {scenario!r} is none: leave it out"
            )


def _function(found: object, name: str) -> Invariant:
    if not callable(found) or isinstance(found, type):
        raise TypeError(
            f"{name!r} is no function but {found!r:.60}: name an async function that "
            f"runs your agents, or an Agent and what it is asked (--prompt TEXT)"
        )
    return found


def _asking(agent: Agent, name: str, prompt: str | None) -> Scenario:
    """A scenario that asks an agent this."""
    if prompt is None:
        raise ValueError(f"{name!r} is an Agent: say what it is asked with --prompt")
    team = team_of(agent)
    roles = [role for each in team for role in (each.model, each.human)]
    fakes = [role for role in roles if isinstance(role, FakeModel | FakeHuman)]

    async def asks() -> None:
        for fake in fakes:
            fake.rewind()
        kept = agent if agent.store is None else agent.copy(store=MemoryStore())
        await kept.arun(State(messages=[Message.user(prompt)]))

    asks.__module__, asks.__qualname__ = name.split(":", 1)
    return asks
