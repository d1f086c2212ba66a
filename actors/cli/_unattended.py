"""An agent as a command runs it, where nobody looks at it alone."""

from typing import Any

import attrs

from actors import Agent, Inbox, Limits
from actors._settings import INHERIT, check_loop


def unattended(
    agent: Agent,
    *,
    model: str | None = None,
    base_url: str | None = None,
    timeout_s: float | None = None,
) -> Agent:
    """The agent without a reporter and a human, unless it was given some.

    A question to a person stops its run.

    Args:
        agent: As its module has it.
        model: A model in place of its own.
        base_url: Where that model is.
        timeout_s: Seconds for each run, if its own limits do not say less.

    Raises:
        ValueError: ``model`` names none, or there is only a ``base_url``.
        TypeError: its loop is not async.
    """
    if base_url and not model:
        raise ValueError("--base-url says where --model is: give both")
    check_loop(agent.loop, wanted_async=True)
    if model:
        agent = agent.copy(model=model, base_url=base_url, client=None)
    changes: dict[str, Any] = {}
    if agent.reporter is INHERIT:
        changes["reporter"] = None
    if agent.human is INHERIT:
        changes["human"] = Inbox(wait_s=0)
    if timeout_s is not None:
        limits = agent.limits or Limits()
        own = limits.seconds
        seconds = timeout_s if own is None else min(own, timeout_s)
        changes["limits"] = attrs.evolve(limits, seconds=seconds)
    return agent.copy(**changes)
