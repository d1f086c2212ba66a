"""What a loop is made of."""

from functools import partial
from typing import Any

import pytest

from actors import Agent, CompactIfFull, State, loop, waiting_for_user
from actors.testing import FakeModel


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"until": 3, "limit": 1}, "until= takes functions of the State, not 3"),
        ({"until": [3], "limit": 1}, "until= takes functions of the State, not 3"),
        ({"until": waiting_for_user, "limit": -1}, "a number of turns >= 0, not -1"),
        ({"until": waiting_for_user, "limit": True}, "of turns >= 0, not True"),
    ],
)
def test_a_loop_without_a_real_end_is_refused(
    settings: dict[str, Any], words: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        loop(**settings)


def test_several_ends_may_be_given() -> None:
    @loop(until=(waiting_for_user, lambda _: True), limit=1)
    def body(agent: Agent, state: State) -> None:
        raise AssertionError("it ends before its first turn")

    assert len(body.until) == 2


def body(agent: Agent, state: State) -> None:
    """What a loop may be made of."""


def test_a_loop_without_brackets_says_what_to_write() -> None:
    bare: Any = loop
    for misused in (
        lambda: bare(body),
        lambda: bare(),
        lambda: bare(limit=1),
        lambda: bare(until=waiting_for_user),
        lambda: bare(body, until=waiting_for_user, limit=1),
    ):
        with pytest.raises(TypeError, match="write '@loop\\(until=waiting_for_user, "):
            misused()


async def takes_one(state: State) -> None: ...
def takes_a_third(agent: Agent, state: State, more: int) -> None: ...
def takes_names_only(*, agent: Agent, state: State) -> None: ...


@pytest.mark.parametrize("wrong", [takes_one, takes_a_third, takes_names_only])
def test_a_body_that_takes_no_agent_and_state_is_refused_where_it_is_defined(
    wrong: Any,
) -> None:
    says = f"and '{wrong.__name__}' takes .* write 'def {wrong.__name__}\\(agent, state"
    with pytest.raises(TypeError, match=says):
        loop(until=waiting_for_user, limit=1)(wrong)
    with pytest.raises(TypeError, match=says):
        Agent(FakeModel(), loop=wrong)


def test_what_is_no_function_is_no_body() -> None:
    wrong: Any = 3
    with pytest.raises(TypeError, match=r"a function \(agent, state\), not 3"):
        loop(until=waiting_for_user, limit=1)(wrong)


class Twice:
    """A callable object with more than it needs."""

    def __call__(self, agent: Agent, state: State, times: int = 2) -> None: ...


@pytest.mark.parametrize(
    "right", [body, lambda *args: None, partial(body), Twice(), Twice().__call__, zip]
)
def test_whatever_can_be_called_with_an_agent_and_a_state_is_a_body(right: Any) -> None:
    made = loop(until=waiting_for_user, limit=1)(right)
    assert made.body is right
    assert Agent(FakeModel(), loop=made).loop is made
    assert Agent(FakeModel(), loop=right).loop is right


@pytest.mark.parametrize("at", [-0.1, 1.5, 60, True, "0.6", float("nan")])
def test_a_part_of_the_window_is_between_0_and_1(at: Any) -> None:
    with pytest.raises(ValueError, match="between 0 and 1, not"):
        CompactIfFull(at)
    assert CompactIfFull(1).at == 1
