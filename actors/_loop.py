"""Loops: what a run does, turn by turn.

1. Before each turn: a stop that is final ends it; then ``until``, in order; then the
   limit; then a stop that a nested loop left is cleared.
"""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from inspect import iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any, Never, TypeAlias, overload

import attrs
import trio

from protocol import StoppedByLimit, StoppedByUntil
from protocol._commands import SetStop
from protocol._snapshot import waits_for_user

from ._deadline import Deadline
from ._inside import run_of, send, value_of_state
from ._state import State

if TYPE_CHECKING:
    from ._agent import Agent

Until: TypeAlias = Callable[[State], Any]
Body: TypeAlias = "Callable[[Agent, State], Any]"

TURNS = 50
"""The default limit of turns: enough for real work, an end for a run that is lost."""


def waiting_for_user(state: State) -> bool:
    """Whether no call is pending and the last message is a reply without calls.

    A run that was begun because a background child has ended asks the model first,
    unless another run has read of it meanwhile.
    """
    run, value = run_of(state), value_of_state(state)
    if run is not None and run.has_news and value.late.size:
        return False
    return waits_for_user(value)


@attrs.frozen
class Loop:
    """A loop made by `loop`; call it with an agent and a State."""

    body: Body
    until: tuple[Until, ...]
    limit: int
    is_async: bool

    @property
    def __name__(self) -> str:
        return getattr(self.body, "__name__", "loop")

    def __call__(self, agent: "Agent", state: State) -> Any:
        """Run turns until something stops them; gives the answer.

        With an async body it gives an awaitable of the answer.
        """
        return self._arun(agent, state) if self.is_async else self._run(agent, state)

    def _run(self, agent: "Agent", state: State) -> Any:
        turns = 0
        while not _is_final(state):
            if any(_stop_by(state, until, until(state)) for until in self.until):
                break
            if self._at_limit(state, turns):
                break
            self.body(agent, state)
            turns += 1
        return state.answer

    async def _arun(self, agent: "Agent", state: State) -> Any:
        turns = 0
        while not _is_final(state):
            for until in self.until:
                said: Any = until(state)
                # Asked of a bool it costs as much as the rest of the round.
                if type(said) is not bool and hasattr(said, "__await__"):
                    said = await said
                if _stop_by(state, until, said):
                    return state.answer
            if self._at_limit(state, turns):
                break
            await self.body(agent, state)
            turns += 1
        return state.answer

    def _at_limit(self, state: State, turns: int) -> bool:
        if turns >= self.limit:
            send(state, SetStop(StoppedByLimit(turns=self.limit)))
            return True
        if value_of_state(state).facts.stopped is not None:
            send(state, SetStop(None))
        return False


def _is_final(state: State) -> bool:
    """Whether the run is over, whatever the loop wants."""
    facts = value_of_state(state).facts
    stopped = facts.stopped
    return facts.finished or (
        stopped is not None and stopped.kind not in ("until", "limit")
    )


def _stop_by(state: State, until: Until, said: object) -> bool:
    """Record the stop when ``until`` said yes."""
    if not said:
        return False
    name = getattr(until, "__name__", type(until).__name__)
    send(state, SetStop(StoppedByUntil(name=name)))
    return True


_LEFT_OUT: Any = object()


@overload
def loop(*, until: Until | Iterable[Until], limit: int) -> Callable[[Body], Loop]: ...


@overload
def loop(body: Body, /) -> Never: ...


def loop(
    *bodies: Any, until: Any = _LEFT_OUT, limit: Any = _LEFT_OUT
) -> Callable[[Body], Loop]:
    """Make a loop of a body ``(agent, state) -> None``, plain or async.

    Both arguments are required: a loop that nothing ends would be a bill without end.

    Args:
        bodies: none; `loop` without brackets would be given its body here.
        until: a function of the State, or several, asked in order before each turn;
            the first that says yes stops the loop (`StoppedByUntil`).
        limit: how many turns one call of the loop may run (`StoppedByLimit`).

    Raises:
        TypeError: an argument is left out, as in ``@loop`` without brackets; ``until``
            is no function, or holds something that is none; or the body, when it is
            given, is no function of an agent and a State.
        ValueError: ``limit`` is not an int >= 0.
    """
    if bodies or until is _LEFT_OUT or limit is _LEFT_OUT:
        raise TypeError(
            "a loop says what ends it: write '@loop(until=waiting_for_user, limit=50)' "
            "above its body, 'async def body(agent, state)'"
        )
    alone = callable(until) or not hasattr(until, "__iter__")
    asked: Any = (until,) if alone else until
    functions: tuple[Any, ...] = tuple(asked)
    for function in functions:
        if not callable(function):
            raise TypeError(
                f"until= takes functions of the State, not {function!r}: write "
                f"until=waiting_for_user"
            )
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise ValueError(f"limit= takes a number of turns >= 0, not {limit!r}")

    def make(body: Body) -> Loop:
        check_body(body)
        return Loop(body, functions, limit, iscoroutinefunction(body))

    return make


def check_body(body: Any) -> None:
    """Refuse what cannot be called with an agent and a State.

    Raises:
        TypeError: it cannot; the text says how to write it.
    """
    if isinstance(body, Loop):
        return
    if not callable(body):
        raise TypeError(
            f"a loop is a function (agent, state), not {body!r}: write one with "
            f"@loop(until=waiting_for_user, limit=50)"
        )
    try:
        parameters = signature(body)
    except ValueError:  # some that are written in C do not tell
        return
    try:
        parameters.bind("agent", "state")
    except TypeError as error:
        name = getattr(body, "__name__", type(body).__name__)
        raise TypeError(
            f"a loop is called with an agent and a State, and {name!r} takes "
            f"{parameters} ({error}): write 'def {name}(agent, state)'"
        ) from None


@contextmanager
def deadline(
    state: State, seconds: float, *, count_waiting: bool = True
) -> Generator[trio.CancelScope]:
    """Cancel what the block does for a State once its time is over, and go on after it.

    For the body of an async loop: around one think and the use of its tools it is the
    deadline of a turn. What was under way is closed as after any cancel: a request is
    taken back, calls are interrupted. The scope that it gives tells whether that
    happened (``cancelled_caught``).

    Args:
        state: The State that the body works on.
        seconds: How long the block may take.
        count_waiting: Whether time spent waiting for a human counts.
    """
    run = run_of(state)
    with trio.move_on_after(seconds) as scope:
        if run is None or count_waiting:
            yield scope
            return
        before = run.deadlines
        run.deadlines = (*before, Deadline(scope))
        try:
            yield scope
        finally:
            run.deadlines = before


def _part(_: object, field: "attrs.Attribute[Any]", value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise ValueError(
            f"CompactIfFull({field.name}=...) is a part of the window, between 0 and "
            f"1, not {value!r}"
        )


@attrs.frozen
class CompactIfFull:
    """Compact the context once it fills more than ``at`` of the model's window.

    A step to call in a loop's body: ``await CompactIfFull(0.6).acheck(agent, state)``.
    """

    at: float = attrs.field(default=0.6, validator=_part)
    """The part of the window, between 0 and 1."""

    def check(self, agent: "Agent", state: State) -> None:
        """Compact if it is needed; from plain code."""
        if agent.context_used(state) > self.at:
            agent.compact(state)

    async def acheck(self, agent: "Agent", state: State) -> None:
        """Compact if it is needed."""
        if agent.context_used(state) > self.at:
            await agent.acompact(state)


_IF_FULL = CompactIfFull()


@loop(until=waiting_for_user, limit=TURNS)
async def _adefault(agent: "Agent", state: State) -> None:
    await _IF_FULL.acheck(agent, state)
    await agent.athink(state)
    if value_of_state(state).open is not None:
        await agent.ause_tools(state)


@loop(until=waiting_for_user, limit=TURNS)
def _default(agent: "Agent", state: State) -> None:
    _IF_FULL.check(agent, state)
    agent.think(state)
    if value_of_state(state).open is not None:
        agent.use_tools(state)


adefault_loop = _adefault
"""Compact if full, think, use tools; until `waiting_for_user`, at most 50 turns."""
default_loop = _default
"""The same from plain code."""


def is_async_loop(chosen: object) -> bool:
    """Whether a loop is to be awaited."""
    if isinstance(chosen, Loop):
        return chosen.is_async
    call: Any = getattr(type(chosen), "__call__", None)  # noqa: B004 - kind is asked
    return iscoroutinefunction(chosen) or iscoroutinefunction(call)
