"""What a run is given: its input and its config, checked before anything happens."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import attrs

from protocol import AgentState, GraphError, Message
from protocol._entry import NO_DATA
from protocol._graph_entries import GraphUpdate, Interrupt
from protocol._graph_state import record_update
from protocol._ids import check_state_id, new_id
from protocol._json import freeze
from protocol._shape import recorded_messages

STEPS = 25
"""The default recursion limit: enough for real work, an end for a loop that is lost."""

INPUT_KEYS = ("messages", "state", "resume")


@attrs.frozen(kw_only=True)
class Config:
    """The config of a run."""

    thread_id: str
    is_fresh: bool
    """Whether the thread's id was made for this run."""
    recursion_limit: int
    node_timeout_s: float | None
    tool_timeout_s: float | None
    shown: Mapping[str, Any]
    """What nodes see: all keys, read-only."""

    def for_child(self, thread_id: str) -> "Config":
        """The same for a graph that runs as a node of this one."""
        shown = MappingProxyType({**self.shown, "thread_id": thread_id})
        return attrs.evolve(self, thread_id=thread_id, shown=shown)


def read_config(config: Any) -> Config:
    """The config, with its defaults.

    Raises:
        TypeError: it is no dict, or a value of ours is of the wrong type.
        ValueError: a value of ours is not allowed.
    """
    if config is None:
        config = {}
    if not issubclass(type(config), Mapping):
        raise TypeError(f"the config is a dict, as in {{'thread_id': 'a'}}: {config!r}")
    given = dict(config)
    is_fresh = given.get("thread_id") is None
    if is_fresh and "configurable" in given:
        raise ValueError(
            "the thread_id stands in the config itself, {'thread_id': ...}, and not "
            "under 'configurable'"
        )
    thread_id = new_id() if is_fresh else given["thread_id"]
    if not isinstance(thread_id, str):
        raise TypeError(f"thread_id in the config is a str, not {thread_id!r}")
    limit = given.get("recursion_limit", STEPS)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(f"recursion_limit in the config is an int >= 1, not {limit!r}")
    given |= {"thread_id": check_state_id(thread_id), "recursion_limit": limit}
    return Config(
        thread_id=thread_id,
        is_fresh=is_fresh,
        recursion_limit=limit,
        node_timeout_s=_seconds(given, "node_timeout_s"),
        tool_timeout_s=_seconds(given, "tool_timeout_s"),
        shown=MappingProxyType(given),
    )


def _seconds(config: Mapping[str, Any], name: str) -> float | None:
    value = config.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ValueError(f"{name} in the config is a number of seconds, not {value!r}")
    return float(value)


NO_UPDATE = GraphUpdate()


@attrs.frozen(kw_only=True)
class Given:
    """The input of a run."""

    messages: tuple[Message, ...] = ()
    update: GraphUpdate = NO_UPDATE
    """Fields to update from outside."""
    resume: Any = None
    """One answer, or a dict of interrupts to answers."""
    answers: bool = False
    """Whether there is a ``resume``, None included."""
    goes_on: bool = False
    """Whether it goes on from where the last run stopped."""
    preset: Mapping[str, Any] = NO_DATA
    """Values that a graph around this one sets; they go through no reducer."""


def read_input(kind: type[AgentState], given: Any) -> Given:
    """The input, ready to be recorded.

    Raises:
        TypeError: it, or a part of it, is of the wrong type.
        ValueError: a key is unknown, or a field may not be set.
    """
    if given is None:
        return Given(goes_on=True)
    if not issubclass(type(given), Mapping):
        raise TypeError(
            f"the input is a dict with {', '.join(INPUT_KEYS)}, or None to go on, not "
            f"{given!r}: write {{'messages': [Message.user('...')]}}"
        )
    if unknown := [key for key in given if key not in INPUT_KEYS]:
        names = ", ".join(repr(key) for key in unknown)
        raise ValueError(
            f"the input has no key {names}: there are {', '.join(INPUT_KEYS)}"
        )
    state = given.get("state") or NO_DATA
    update = record_update(kind, state, "outside") if state else NO_UPDATE
    answers = "resume" in given
    return Given(
        messages=tuple(recorded_messages(given.get("messages", ()), "messages")),
        update=update,
        resume=freeze(given["resume"], "resume") if answers else None,
        answers=answers,
        goes_on=answers,
    )


def answers_for(given: Given, waiting: Sequence[Interrupt]) -> Mapping[str, Any]:
    """Interrupts to their answers.

    Raises:
        GraphError: nothing waits; or several wait, and it is not said which is meant.
    """
    if not given.answers:
        return NO_DATA
    resume = given.resume
    open_ids = [each.id for each in waiting]
    by_id = (
        issubclass(type(resume), Mapping) and resume and set(resume) <= set(open_ids)
    )
    if by_id:
        return dict(resume)
    if len(open_ids) == 1:
        return {open_ids[0]: resume}
    if not open_ids:
        raise GraphError("resume answers nothing: no interrupt of this thread is open")
    raise GraphError(
        f"{len(open_ids)} interrupts are open: write resume={{id: answer}} with ids of "
        f"{', '.join(open_ids)}"
    )
