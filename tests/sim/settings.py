"""What a seed decides before anything runs: how hostile the settings are."""

from random import Random
from typing import Any

import attrs

from actors import Limits


@attrs.frozen(kw_only=True)
class Settings:
    """One simulation, as its seed wants it."""

    conversations: int
    """Root States that run side by side."""
    prompts: int
    """What a person asks of each of them, one thing after the other."""
    depth: int
    """Levels of agents below the root."""
    stored: bool
    """Whether there is a store: without one a process that dies takes all with it."""
    grace_s: float
    max_running: int | None
    threads: int
    attacks: int
    """How often the nemesis does something."""
    pace_s: float
    """About how long it waits in between; 0: some steps only."""
    model_trouble: float
    """The share of requests that something is wrong with."""
    store_trouble: float
    """The share of writes and reads that something is wrong with."""
    share_model: bool
    """Whether all agents pass one gate."""
    human: str
    """Who is asked: nobody, somebody, or an inbox that waits so long."""


def draw_settings(seed: int) -> Settings:
    """The settings of a seed."""
    random = Random(f"settings {seed}")
    pick = random.choice
    return Settings(
        conversations=pick((1, 1, 2, 3)),
        prompts=pick((1, 2, 2, 3)),
        depth=pick((0, 1, 1, 2, 3)),
        stored=random.random() < 0.8,
        grace_s=pick((0, 0, 0.5, 5.0)),
        max_running=pick((None, 1, 1, 2)),
        threads=pick((1, 1, 2, 40)),
        attacks=pick((0, 3, 6, 12, 20)),
        pace_s=pick((0, 0, 0.3, 2.0)),
        model_trouble=pick((0.0, 0.05, 0.2)),
        store_trouble=pick((0.0, 0.02, 0.1, 0.3)),
        share_model=random.random() < 0.5,
        human=pick(("nobody", "somebody", "inbox", "inbox for 1 s", "inbox for 0 s")),
    )


def draw_agent_settings(random: Random, settings: Settings) -> dict[str, Any]:
    """The settings of one agent, as hostile as they come."""
    pick = random.choice
    return {
        "busy": pick(("reject", "queue", "interrupt")),
        "max_parallel": pick((1, 1, 2, 8)),
        "siblings": pick(("keep", "cancel")),
        "on_error": pick(("raise", "result")),
        "grace_s": settings.grace_s,
        "limits": draw_limits(random),
    }


def draw_limits(random: Random) -> Limits | None:
    """Limits under which a conversation still goes on, run after run."""
    if random.random() < 0.6:
        return None
    limits: dict[str, Any] = {
        "requests": random.randint(1, 4),
        "tokens": random.randint(1, 60),
        "seconds": random.choice((2, 20)),
        "children": random.randint(0, 2),
        "depth": random.randint(0, 2),
        "calls_per_turn": random.randint(0, 2),
    }
    names = random.sample(sorted(limits), random.randint(1, 3))
    return Limits(**{name: limits[name] for name in names})
