"""Names for States and messages.

1. 64 random bits are drawn once for each process, again after a fork, and a
   counter goes on from there: an id is unique without a system call of its own.
2. An explicit id always wins; a user's generator replaces message ids only.
"""

from __future__ import annotations

import os
import re
import secrets
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_STATE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


class _Source:
    """Where this process's ids come from."""

    __slots__ = ("generate", "next", "prefix")

    def __init__(self) -> None:
        self.generate: Callable[[], str | int] = new_id
        self.draw()

    def draw(self) -> None:
        """Start a series of ids that no other process has."""
        self.prefix = secrets.token_hex(8) + "-"
        self.next = count(1).__next__


def new_id() -> str:
    """Return an id that no other call returns, in this process or another.

    It is a legal State id. Safe from any thread: one step of a `count` is atomic.
    """
    return f"{_source.prefix}{_source.next()!s}"  # `!s` skips a slow format()


def new_message_id() -> str | int:
    """Return the id for a message that was given none."""
    return _source.generate()


def set_message_ids(generator: Callable[[], str | int] | None) -> None:
    """Let `generator` make the id of every later message that is given none.

    It holds for the whole process and is called from any thread that makes a
    message. Ids have to be unique within a conversation.

    Args:
        generator: Returns a fresh str or int at each call; None goes back to
            callboard's own ids.

    Raises:
        TypeError: `generator` is neither callable nor None; nothing changed.
            Making a message raises it when `generator` returned anything but a
            str or an int.
    """
    if generator is None:
        _source.generate = new_id
    elif callable(generator):
        _source.generate = _checked(generator)
    else:
        raise TypeError(
            f"set_message_ids takes a function or None, not {generator!r}; pass the"
            " function itself: set_message_ids(make_id)"
        )


def _checked(generator: Callable[[], str | int]) -> Callable[[], str | int]:
    def generate() -> str | int:
        made: Any = generator()
        if isinstance(made, bool) or not isinstance(made, str | int):
            raise TypeError(
                f"the message id generator {generator!r} returned {made!r};"
                " it has to return a str or an int"
            )
        return made

    return generate


def check_state_id(id: str) -> str:
    """Return `id` if a State can be saved under it.

    Raises:
        TypeError: It is not a str.
        ValueError: It is empty, longer than 128 characters, or has a character
            other than ASCII letters, digits, `_` and `-`.
    """
    given: Any = id  # not every caller has a type checker
    if not isinstance(given, str):
        raise TypeError(f"a State id is a str, not {given!r}")
    if not _STATE_ID.fullmatch(id):
        raise ValueError(
            f"cannot use {id!r} as a State id; use 1 to 128 letters, digits,"
            " '_' and '-'"
        )
    return id


_source = _Source()
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_source.draw)
