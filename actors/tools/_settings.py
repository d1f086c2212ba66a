"""The checks of a tool's settings, all in one place."""

import math
import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

OnError: TypeAlias = Literal["raise", "result"]
"""What an exception does that is no ToolError: stop the run, or become a result."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what the providers accept in common

_SWITCHES = ("parallel", "asyncio")
_HINTS = ("read_only", "destructive", "idempotent", "open_world")


def check_name(name: object) -> None:
    """Refuse a name that no provider would take.

    Raises:
        TypeError: It is no text.
        ValueError: It has other characters, or is too long or empty.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a tool must be text, got {name!r}")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"a tool cannot be named {name!r}: write @tool(name=...) with 1 to 64"
            " letters of a-z and A-Z, digits, _ and -"
        )


def check_settings(settings: Mapping[str, Any], tool: str) -> None:
    """Check what `tool` takes beside the name.

    Raises:
        TypeError: A value has the wrong type.
        ValueError: A value is not allowed, or two of them contradict each other.
    """
    for name in _SWITCHES:
        if type(settings[name]) is not bool:
            raise _wrong(tool, name, "True or False", settings[name])
    for name in _HINTS:
        if settings[name] is not None and type(settings[name]) is not bool:
            raise _wrong(tool, name, "True, False or None", settings[name])
    description = settings["description"]
    if description is not None and not isinstance(description, str):
        raise _wrong(tool, "description", "text or None", description)
    if settings["on_error"] not in {None, "raise", "result"}:
        raise ValueError(
            f"on_error of tool {tool!r} must be 'raise', 'result' or None (the"
            f" agent's), got {settings['on_error']!r}"
        )
    if settings["read_only"] and settings["destructive"]:
        raise ValueError(
            f"tool {tool!r} cannot be read_only and destructive: leave out one"
        )
    _check_numbers(settings["timeout_s"], settings["retries"], tool)


def _check_numbers(timeout_s: Any, retries: Any, tool: str) -> None:
    if timeout_s is not None:
        if type(timeout_s) not in {int, float}:
            raise _wrong(tool, "timeout_s", "a number of seconds or None", timeout_s)
        if not (timeout_s > 0 and math.isfinite(timeout_s)):
            raise ValueError(
                f"timeout_s of tool {tool!r} must be more than 0 seconds, got"
                f" {timeout_s!r}: None is no timeout"
            )
    if type(retries) is not int:
        raise _wrong(tool, "retries", "an int", retries)
    if retries < 0:
        raise ValueError(f"retries of tool {tool!r} must be 0 or more, got {retries!r}")


def _wrong(tool: str, name: str, wanted: str, got: object) -> TypeError:
    return TypeError(f"{name} of tool {tool!r} must be {wanted}, got {got!r}")
