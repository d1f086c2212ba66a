"""What a loop is made of."""

from typing import Any

import pytest

from actors import Agent, CompactIfFull, State, loop, waiting_for_user


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


@pytest.mark.parametrize("at", [-0.1, 1.5, 60, True, "0.6", float("nan")])
def test_a_part_of_the_window_is_between_0_and_1(at: Any) -> None:
    with pytest.raises(ValueError, match="between 0 and 1, not"):
        CompactIfFull(at)
    assert CompactIfFull(1).at == 1
