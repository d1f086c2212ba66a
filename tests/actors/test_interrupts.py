"""Ctrl+C in the middle of a step: the old value or the new one, and life goes on."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from actors import Message, State
from protocol._commands import Import
from tests.interrupting import Interrupt
from tests.turns import ask, call, close, fail, receive, send, think, turn_with_calls


def conversation() -> State:
    state = State(messages=[Message.user("x")], extra_data={"n": 1})
    turn_with_calls(state, ["a", "b"])
    return state


def asked() -> State:
    state = conversation()
    ask(state)
    state.add_message(Message.user("held"))
    return state


def calling() -> State:
    state = asked()
    receive(state, call("c"), call("d"))
    return state


def nearly_closed() -> State:
    state = calling()
    close(state, call("c"))
    return state


def forked() -> State:
    state = conversation().fork()
    think(state, text="in the fork")
    return state


def edit(state: State) -> None:
    with state.edit_extra_data() as data:
        data["n"] = 2


COMMANDS: dict[str, tuple[Callable[[], State], Callable[[State], Any]]] = {
    "add_message": (State, lambda state: state.add_message(Message.user("y"))),
    "add_message, held": (asked, lambda state: state.add_message(Message.user("y"))),
    "add_message in a fork": (
        lambda: conversation().fork(),
        lambda state: state.add_message(Message.user("y")),
    ),
    "import": (State, lambda state: send(state, Import((Message.user("y"),)))),
    "finish": (conversation, lambda state: state.finish({"a": 1})),
    "compact": (conversation, lambda state: state.compact("so far")),
    "clear": (conversation, lambda state: state.clear_tool_results(0)),
    "restore": (forked, lambda state: state.restore(conversation_of(state))),
    "edit": (conversation, edit),
    "request": (conversation, ask),
    "reply": (asked, lambda state: receive(state, text="answer")),
    "reply with calls": (asked, lambda state: receive(state, call("a"), call("d"))),
    "failure": (asked, fail),
    "result": (calling, lambda state: close(state, call("d"))),
    "last result": (nearly_closed, lambda state: close(state, call("d"))),
    "fork": (calling, lambda state: state.fork()),
}


def conversation_of(state: State) -> Any:
    return State(history=state.history[:2]).snapshot()


def is_free(state: State) -> bool:
    """Whether another thread gets the lock of the mailbox at once."""
    got: list[bool] = []

    def take() -> None:
        got.append(state._mailbox.lock.acquire(blocking=False))
        if got[0]:
            state._mailbox.lock.release()

    other = threading.Thread(target=take)
    other.start()
    other.join()
    return got[0]


def check_every_chance(command: str, step: int) -> None:
    make, act = COMMANDS[command]
    k = 1
    while True:
        state = make()
        before = state.snapshot()
        interrupt = Interrupt(k)
        if not interrupt.run(partial(act, state)):
            break
        check_interrupted(state, before, f"chance {k}, in {interrupt.where}")
        k += step
    assert k > 10, "the step was over before it could be interrupted"


def check_interrupted(state: State, before: Any, where: str) -> None:
    history = before.history
    assert state.history[: len(history)] == history, where
    assert len(state.history) - len(history) in {0, 1}, where
    assert before.messages == State(history=history).messages, where
    assert is_free(state), where
    for text in ("after it", "and again"):
        state.add_message(Message.user(text))
        assert state.history[-1].content == text, where
    edit(state)
    assert state.extra_data == {"n": 2}, where
    for each in state.pending_calls:
        close(state, each)
    assert state.snapshot() == State(history=state.history).snapshot(), where


@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupted_step_leaves_the_old_value_or_the_new_one(command: str) -> None:
    check_every_chance(command, step=7)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_step_interrupted_anywhere_leaves_the_old_value_or_the_new_one(
    command: str,
) -> None:
    check_every_chance(command, step=1)
