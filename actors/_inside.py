"""The runtime's own door into a State: what only a run may do to it."""

from typing import TYPE_CHECKING, Any

from protocol._commands import AnyCommand, Request
from protocol._not_json import a_kind
from protocol._value import Value

from ._family import Family, Library, Origin
from ._state import State

if TYPE_CHECKING:
    from ._mailbox import Mailbox


def mailbox(state: State) -> "Mailbox":
    """The State's mailbox."""
    return state._mailbox


def value_of_state(state: State) -> Value:
    """What the State has published last.

    Raises:
        TypeError: it is no State.
    """
    try:
        return state._mailbox.value
    except AttributeError:
        raise _no_state(state) from None


def send(state: State, command: AnyCommand) -> Value:
    """Send one of the runtime's commands; see `Mailbox.send`."""
    return state._mailbox.send(command)


async def send_in_turn(state: State, command: Request) -> Value:
    """Ask for the model as soon as no turn is open; see `Mailbox.send_in_turn`."""
    return await state._mailbox.send_in_turn(command)


def run_of(state: State) -> Any:
    """The run (`actors._run_node.RunNode`) that drives the State here, or None.

    Raises:
        TypeError: it is no State.
    """
    try:
        return state._mailbox.run
    except AttributeError:
        raise _no_state(state) from None


def _no_state(given: object) -> TypeError:
    return TypeError(
        f"a step takes a State, not {a_kind(given)}: write "
        f"State(messages=[Message.user('...')])"
    )


def set_run(state: State, run: Any) -> None:
    """Say which run drives the State."""
    state._mailbox.run = run


def family(state: State) -> Family:
    """What the State knows of others; made at the first need."""
    if state._family is None:
        object.__setattr__(state, "_family", Family({}))
    assert state._family is not None, "made above"
    return state._family


def adopt_child(parent: State, child: State) -> None:
    """Let ``parent.child(child.id)`` give this very object."""
    family(parent).children[child.id] = child


def keep_waiting(parent: State, call_id: str, child: State) -> None:
    """Remember the child that a call, which stays open, goes on with later."""
    family(parent).waiting[call_id] = child


def waiting_child(parent: State, call_id: str) -> State | None:
    """The child that an open call goes on with, or None; given once."""
    known = parent._family
    return None if known is None else known.waiting.pop(call_id, None)


def library_of(state: State) -> Library | None:
    """The store that the State is bound to, or None."""
    return None if state._family is None else state._family.library


def origin_of(state: State) -> Origin | None:
    """Where the State was forked from, or None."""
    return None if state._family is None else state._family.origin


def bind(state: State, library: Library) -> None:
    """Bind the State to a store."""
    family(state).library = library
