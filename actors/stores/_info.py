"""What is told of a State beside its entries, and how lists are filtered by it.

Info is small, in JSON form, and made in constant time with every write:

epoch, writer, after   who writes; see `actors.stores._lease`
entries                how many entries the State has
created, updated       when the first and the latest entry were recorded, POSIX seconds
turn, phase, finished  as the State has them
stopped                the kind of its stop, or None
agent, model           the name and the model of the agent that ran it last, or None
parent                 the id of the State whose call started it, or None
questions              how many questions wait for an answer
title                  the beginning of the first user message, or None
requests, input_tokens, output_tokens, cost     its usage
forked_from            the id of the State it is a fork of, and its length, or None
rest                   a shortcut for loading a long State; see `protocol._lazy`
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from actors._family import Origin
from protocol import Message
from protocol._lazy import place_of_first, rest_in, rest_of
from protocol._phases import PHASES
from protocol._value import Value

from ._record import Saved

TITLE_CHARACTERS_MAX = 80

EQUAL_FILTERS = ("agent", "finished", "parent", "phase")
"""Filters of `list` that ask for one value of the info."""

TIME_FILTERS = ("updated_after", "updated_before")
"""Filters of `list` that bound the time of the latest entry, in POSIX seconds; a
State updated at that very moment is left out."""


REST_ENTRIES_MIN = 500
"""Shorter histories are decoded in a millisecond or two."""

REST_GROWTH = 32
"""A new rest is made when the history has grown by one part in so many: loading then
decodes a few entries, and rests are a few hundredths of what is written."""


class Facts(msgspec.Struct):
    """What of the info is dear to make again, or does not stand in the value."""

    title: str | None = None
    created: float | None = None
    origin: Origin | None = None
    rest: str | None = None
    rest_size: int = 0
    first: tuple[object, tuple[int, int] | None] | None = None
    """The id of the first user message, and where it stands."""

    def note(self, value: Value) -> None:
        """Take in what the value brings that was not there before."""
        if self.title is None and value.facts.first_user is not None:
            self.title = title_of(value.facts.first_user)
        if self.created is None and value.size:
            self.created = value.history.at(0).at.timestamp()
        size = value.size
        if size - self.rest_size >= max(REST_ENTRIES_MIN, size // REST_GROWTH):
            self._make_rest(value)

    def _make_rest(self, value: Value) -> None:
        if value.open is not None:
            return
        rest = rest_of(value, self._place(value))
        self.rest_size = value.size
        if rest is not None:
            self.rest = rest

    def _place(self, value: Value) -> tuple[int, int] | None:
        """Where the first user message stands; looked for once, as it is read."""
        message = value.facts.first_user
        if message is None:
            return None
        if self.first is None or self.first[0] != message.message_id:
            self.first = message.message_id, place_of_first(value)
        return self.first[1]


def title_of(message: Message) -> str:
    """The beginning of a message, in one line."""
    words = message.text()[: 4 * TITLE_CHARACTERS_MAX].split()
    return " ".join(words)[:TITLE_CHARACTERS_MAX]


def info_of(value: Value, facts: Facts) -> dict[str, Any]:
    """What is told of a State with this value, the lease left out."""
    usage, stopped = value.usage, value.facts.stopped
    size, parent, origin = value.size, value.facts.parent, facts.origin
    agent = None if value.facts.ran is None else value.facts.ran[1]
    info = {
        "entries": size,
        "created": facts.created,
        "updated": value.history.at(size - 1).at.timestamp() if size else None,
        "turn": value.turn,
        "phase": value.phase,
        "finished": value.facts.finished,
        "stopped": None if stopped is None else type(stopped).__name__,
        "agent": None if agent is None else agent.name,
        "model": None if agent is None else agent.model,
        "parent": None if parent is None else parent[0],
        "questions": len(value.facts.questions),
        "title": facts.title,
        "requests": usage.requests,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost": usage.cost,
        "forked_from": None if origin is None else [origin.id, origin.entries],
    }
    if facts.rest is not None:
        info["rest"] = facts.rest
    return info


def facts_of(info: Mapping[str, Any], value: Value) -> Facts:
    """The facts that a State loaded with this info goes on with."""
    origin, rest, first = info.get("forked_from"), rest_in(info.get("rest")), None
    message = value.facts.first_user
    if rest is not None and message is not None:
        first = message.message_id, rest.first_user
    return Facts(
        title=info.get("title"),
        created=info.get("created"),
        origin=None if origin is None else Origin(*origin),
        rest=None if rest is None else info["rest"],
        rest_size=0 if rest is None else rest.size,
        first=first,
    )


def check_page(limit: int, filters: Mapping[str, Any]) -> None:
    """Refuse a filter that no list knows, and a size that no page has.

    Raises:
        TypeError: with the names that there are.
        ValueError: ``limit`` is no int >= 0, or ``phase`` is none that there is.
    """
    given: Any = limit
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise ValueError(f"list(limit=...) takes an int >= 0, not {limit!r}")
    for name in filters:
        if name not in EQUAL_FILTERS and name not in TIME_FILTERS:
            raise TypeError(
                f"list has no filter {name!r}: there are "
                f"{', '.join((*EQUAL_FILTERS, *TIME_FILTERS))}"
            )
    if filters.get("phase", PHASES[0]) not in PHASES:
        raise ValueError(
            f"list(phase=...) is one of {', '.join(map(repr, PHASES))}, not "
            f"{filters['phase']!r}"
        )


def page_of(
    found: Sequence[Saved], limit: int, after: Saved | None, filters: Mapping[str, Any]
) -> list[Saved]:
    """The page of these, newest first, that follows ``after``.

    For a store that has all its infos at hand. A damaged State, whose info may be
    lost, is never filtered out.
    """
    check_page(limit, filters)
    chosen = [
        each
        for each in found
        if (each.damage is not None or _matches(each, filters))
        and (after is None or _place(each) < _place(after))
    ]
    chosen.sort(key=_place, reverse=True)
    return chosen[:limit]


def _place(saved: Saved) -> tuple[float, str]:
    return saved.updated, saved.id


def _matches(saved: Saved, filters: Mapping[str, Any]) -> bool:
    for name, wanted in filters.items():
        if name == "updated_after":
            keep = saved.updated > wanted
        elif name == "updated_before":
            keep = saved.updated < wanted
        else:
            keep = saved.info.get(name) == wanted
        if not keep:
            return False
    return True
