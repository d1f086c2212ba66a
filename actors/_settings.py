"""The settings of an agent: each default with its reason, each check with the fix."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import attrs

from protocol import AgentInfo

from ._checks import check_count, check_grace, check_text
from ._limits import check_limits
from ._loop import check_body, is_async_loop
from ._state import State
from .models import ToolSpec
from .models._names import as_model
from .people import Human, Reporter
from .people._permission import checked_permissions
from .stores import Store
from .tools._collect import collect

NAMES = (
    "model",
    "system",
    "tools",
    "tool_node",
    "loop",
    "reporter",
    "human",
    "store",
    "permissions",
    "name",
    "description",
    "limits",
    "trim_context",
    "busy",
    "max_parallel",
    "siblings",
    "on_error",
    "grace_s",
    "base_url",
    "client",
)
"""Every setting, in the order of the signature."""

_CHOICES = {
    "busy": ("reject", "queue", "interrupt"),
    "siblings": ("keep", "cancel"),
    "on_error": ("raise", "result"),
}

_KINDS: dict[str, tuple[type, str]] = {
    "reporter": (Reporter, "Terminal()"),
    "human": (Human, "Terminal()"),
    "store": (Store, "FileStore(path)"),
}


@attrs.frozen
class _Inherit:
    def __repr__(self) -> str:
        return "(inherited, or the process's Terminal)"


INHERIT: Any = _Inherit()
"""Taken over from the agent above; the process's Terminal where there is none."""


def inherited(own: Any, above: Any, name: str) -> Any:
    """An agent's own setting, that of the run above, or the process's Terminal."""
    if own is not INHERIT:
        return own
    return terminal() if above is None else getattr(above, name)


def checked(given: dict[str, Any]) -> dict[str, Any]:
    """The settings in their final form.

    Raises:
        TypeError, ValueError: one is wrong; the text says what to write instead.
    """
    settings = dict(given)
    settings["model"] = as_model(
        given["model"], base_url=given["base_url"], client=given["client"]
    )
    check_text("model", settings["model"].name)
    settings["tools"] = collect(given["tools"])
    if given["permissions"] is not None:
        settings["permissions"] = checked_permissions(given["permissions"])
    for name, choices in _CHOICES.items():
        if given[name] not in choices:
            raise ValueError(f"{name}= is one of {choices}, not {given[name]!r}")
    check_count("max_parallel", given["max_parallel"])
    check_grace(given["grace_s"])
    check_limits(given["limits"])
    for name in ("system", "name", "description", "tool_node"):
        if given[name] is not None:
            check_text(name, given[name])
    for name, (kind, example) in _KINDS.items():
        value = given[name]
        if value is not None and value is not INHERIT and not isinstance(value, kind):
            raise TypeError(
                f"{name}= takes a {kind.__name__}, such as {example}, or None, "
                f"not {value!r}"
            )
    if not isinstance(given["trim_context"], bool):
        raise TypeError(
            f"trim_context= is True or False, not {given['trim_context']!r}"
        )
    if given["loop"] is not None:
        check_body(given["loop"])
    return settings


def derived(settings: dict[str, Any]) -> dict[str, Any]:
    """What follows from the settings, made once."""
    tools = settings["tools"]
    system = settings["system"]
    digest = None if system is None else sha256(system.encode()).hexdigest()
    return {
        "tool_map": {tool.name: tool for tool in tools},
        "specs": tuple(tool.spec for tool in tools),
        "info": AgentInfo(
            name=settings["name"],
            model=settings["model"].name,
            system_sha256=digest,
            tools=tuple(sorted(tool.name for tool in tools)),
        ),
    }


def specs_of(tools: Sequence[Any]) -> tuple[ToolSpec, ...]:
    """Tools as a model gets to know them."""
    return tuple(tool.spec for tool in collect(tools))


def check_loop(chosen: Any, *, wanted_async: bool) -> None:
    """Refuse a loop of the other kind.

    Raises:
        TypeError: the text names the method that runs it.
    """
    if chosen is None or is_async_loop(chosen) == wanted_async:
        return
    name = getattr(chosen, "__name__", "the loop")
    if wanted_async:
        raise TypeError(
            f"arun needs an async loop, and {name!r} is a plain one: use run(), or "
            f"write it with async def"
        )
    raise TypeError(
        f"run needs a plain loop, and {name!r} is async: use 'await agent.arun(...)'"
    )


def refuse_finished(state: State, what: str) -> None:
    """Refuse a step of a finished State.

    Raises:
        ValueError: it is finished.
    """
    if state.finished:
        raise ValueError(
            f"cannot {what}: State {state.id!r} is finished; start a new one from its "
            f"messages (State(messages=state.messages))"
        )


_the_terminal: list[Any] = []


def terminal() -> Any:
    """The one Terminal of this process, made at the first need."""
    if not _the_terminal:
        from .people import Terminal

        _the_terminal.append(Terminal())
    return _the_terminal[0]
