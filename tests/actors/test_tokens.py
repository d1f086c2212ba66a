"""How full a context is, as it grows, is cleared, compacted and goes back."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from actors import Agent, Message, Reply, State, ToolCall
from actors._inside import send
from actors.testing import FakeModel
from protocol import TextBlock
from protocol._commands import CloseCall, Receive, Request
from tests.effort import instructions

AGENT = Agent(FakeModel(), system="Answer.", reporter=None, human=None)


def turn(state: State, size: int, tokens: int | None = None) -> None:
    """A turn with a call; its texts are as long as told."""
    call = ToolCall(
        id=f"call-{len(state.history)}", name="look", args={"q": "x" * size}
    )
    content = (TextBlock(text="t" * size), call)
    message = Message(role="assistant", content=content, tokens=tokens)
    send(state, Request("fake/model"))
    send(state, Receive(Reply(message=message)))
    send(state, CloseCall(call, "r" * 3 * size, "done"))


def afresh(state: State) -> int:
    """The same as nobody has asked for yet: a fork is another State."""
    return AGENT.context_tokens(state.fork())


def clear(state: State, snapshots: list[Any]) -> None:
    state.clear_tool_results(keep_last=2)


def compact(state: State, snapshots: list[Any]) -> None:
    state.compact("what was said")


def go_back(state: State, snapshots: list[Any]) -> None:
    if snapshots:
        state.restore(snapshots.pop())


def count(state: State, snapshots: list[Any]) -> None:
    turn(state, 10, tokens=500)


def note(state: State, snapshots: list[Any]) -> None:
    snapshots.append(state.snapshot())
    state.add_message(Message.notice("by the way"))


STEPS: tuple[Callable[[State, list[Any]], None], ...] = (
    clear, compact, go_back, count, note,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_an_estimate_that_is_kept_up_is_what_counting_anew_gives(seed: int) -> None:
    draw = random.Random(seed)
    state, snapshots = State(messages=[Message.user("Where?")]), list[Any]()
    for _ in range(60):
        if draw.random() < 0.5:
            turn(state, draw.randrange(40))
        else:
            draw.choice(STEPS)(state, snapshots)
        if draw.random() < 0.7:
            assert AGENT.context_tokens(state) == afresh(state)


def test_cleared_results_make_an_estimate_smaller() -> None:
    state = State(messages=[Message.user("Where?")])
    for _ in range(5):
        turn(state, 100)
    full = AGENT.context_tokens(state)
    state.clear_tool_results(keep_last=0)
    assert AGENT.context_tokens(state) < full - 5 * 300 // 4 + 5 * 10


def test_asking_each_turn_costs_the_same_at_any_length_when_nobody_counts() -> None:
    state = State(messages=[Message.user("Where?")])

    def steps() -> int:
        turn(state, 10)
        return instructions(lambda: AGENT.context_tokens(state))

    early = [steps() for _ in range(10)][-1]
    for _ in range(300):
        turn(state, 10)
    steps()
    assert steps() == early
