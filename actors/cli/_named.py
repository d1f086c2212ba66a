"""MODULE:NAME on a command line: the value that is meant."""

import importlib
import os
import sys
from types import FunctionType, ModuleType

from actors import Agent

_FORM = "write MODULE:NAME, such as 'agents:writer' for 'writer' in agents.py"


def named_agent(text: str) -> Agent:
    """The agent that is meant; see `named`.

    Raises:
        ValueError: it names no agent; the text says what is wrong.
        Exception: what the module itself raises while it is imported.
    """
    module, name = _found(text, "agent")
    found: object = getattr(module, name, None)
    if isinstance(found, Agent):
        return found
    agents = [key for key, value in vars(module).items() if isinstance(value, Agent)]
    known = ", ".join(agents) or "none"
    raise ValueError(
        f"{name!r} in module {module.__name__!r} is no Agent; the agents there are: "
        f"{known}"
    )


def named(text: str, what: str) -> object:
    """Import the module, with the current folder in front of the path.

    Args:
        text: ``MODULE:NAME``, the module as ``import`` names it.
        what: What it should be, for the error.

    Raises:
        ValueError: it names nothing; the text says what is wrong.
        Exception: what the module itself raises while it is imported.
    """
    module, name = _found(text, what)
    if not hasattr(module, name):
        raise ValueError(
            f"there is no {name!r} in module {module.__name__!r}: its own functions "
            f"and agents are {', '.join(_own(module)) or 'none'}"
        )
    found: object = getattr(module, name)
    return found


def _own(module: ModuleType) -> list[str]:
    return [
        key
        for key, value in vars(module).items()
        if isinstance(value, Agent)
        or (isinstance(value, FunctionType) and value.__module__ == module.__name__)
    ]


def _found(text: str, what: str) -> tuple[ModuleType, str]:
    """The module, and the name in it."""
    module_name, colon, name = text.partition(":")
    if not (module_name and colon and name):
        raise ValueError(f"{text!r} names no {what}: {_FORM}")
    folder = os.getcwd()  # noqa: PTH109 - the path holds strings
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(module_name), name
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{module_name}.".startswith(f"{missing.name}."):
            raise  # the module is there, and misses another one
        raise ValueError(
            f"there is no module {module_name!r} in {folder!r} or on the path: {_FORM}"
        ) from missing
