"""MODULE:NAME on a command line: the agent that is meant."""

import importlib
import os
import sys

from actors import Agent

_FORM = "write MODULE:NAME, such as 'agents:writer' for 'writer' in agents.py"


def named_agent(text: str) -> Agent:
    """Import the module, with the current folder in front of the path.

    Args:
        text: ``MODULE:NAME``, the module as ``import`` names it.

    Raises:
        ValueError: it names no agent; the text says what is wrong.
        Exception: what the module itself raises while it is imported.
    """
    module_name, colon, name = text.partition(":")
    if not (module_name and colon and name):
        raise ValueError(f"{text!r} names no agent: {_FORM}")
    folder = os.getcwd()  # noqa: PTH109 - the path holds strings
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{module_name}.".startswith(f"{missing.name}."):
            raise  # the module is there, and misses another one
        raise ValueError(
            f"there is no module {module_name!r} in {folder!r} or on the path: {_FORM}"
        ) from missing
    found: object = getattr(module, name, None)
    if isinstance(found, Agent):
        return found
    agents = [key for key, value in vars(module).items() if isinstance(value, Agent)]
    known = ", ".join(agents) or "none"
    raise ValueError(
        f"{name!r} in module {module_name!r} is no Agent; the agents there are: {known}"
    )
