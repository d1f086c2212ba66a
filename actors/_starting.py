"""What a run starts from, and when it may start."""

from typing import TYPE_CHECKING, Any

from protocol import Message
from protocol._not_json import a_kind

from ._inside import run_of
from ._node import check_can_wait
from ._state import State

if TYPE_CHECKING:
    from ._run_node import Runner


def as_state(prompt: "str | State") -> State:
    """A fresh State for a text, or the State itself.

    Raises:
        TypeError: it is neither.
        ValueError: it is a text that says nothing.
    """
    if isinstance(prompt, State):
        return prompt
    text: Any = prompt  # not every caller has a type checker
    if isinstance(text, str):
        if not text.strip():
            raise ValueError("a run starts from a text that says something")
        return State(messages=[Message.user(text)])
    raise TypeError(
        f"a run starts from a text or a State, not from {a_kind(text)}: messages go "
        f"into one, State(messages=[...])"
    )


def check_can_run(agent: "Runner", state: State) -> None:
    """Refuse a run that could not begin, before anything is recorded.

    Raises:
        ValueError: the State is finished; or it runs, and the agent rejects that, or
            its run waits for the call in which this is asked.
    """
    if state.finished:
        raise ValueError(
            f"cannot run State {state.id!r}: it is finished; start a new one from its "
            f"messages (State(messages=state.messages)) or restore a snapshot"
        )
    running = run_of(state)
    if running is None:
        return
    check_can_wait(running)
    if agent.busy == "reject":
        raise ValueError(
            f"cannot run State {state.id!r}: a run of it is under way; wait for it, "
            f"or give the agent busy='queue' or busy='interrupt'"
        )
