"""Checks that several settings share; each error names its setting."""

import math
from typing import Any


def check_grace(given: Any) -> None:
    """Refuse what is no time for clean-up, in seconds.

    Raises:
        ValueError: it is no number >= 0. Without end is one: ``math.inf``.
    """
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or given < 0 or math.isnan(given):
        raise ValueError(f"grace_s= is a number of seconds >= 0, not {given!r}")


def check_count(name: str, given: Any, *, or_none: bool = False) -> None:
    """Refuse what is no number of things that may run at once.

    Args:
        name: The setting.
        given: What was given for it.
        or_none: Whether None stands for no bound.

    Raises:
        ValueError: it is no int >= 1.
    """
    if given is None and or_none:
        return
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        wanted = "an int >= 1 or None" if or_none else "an int >= 1"
        raise ValueError(f"{name}= is {wanted}, not {given!r}")


def check_text(name: str, given: Any) -> None:
    """Refuse what is no text that a history could hold.

    Raises:
        TypeError: it is no text.
        ValueError: it has half of a surrogate pair.
    """
    if not isinstance(given, str):
        raise TypeError(f"{name}= is a str or None, not {given!r}")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{name}= has half of a surrogate pair, which no file can hold: {given!r}; "
            f"decode it with errors='replace'"
        ) from None


def check_reason(given: Any) -> None:
    """Refuse what is no reason for a stop: it is told, and recorded, as text.

    Raises:
        TypeError: it is neither text nor None.
        ValueError: it has half of a surrogate pair.
    """
    if given is not None:
        check_text("reason", given)
