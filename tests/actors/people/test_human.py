"""Somebody who is asked, at once or when there is time."""

import threading
from typing import Any

import pytest
import trio
import trio.testing

from actors import Human, Inbox, Question

QUESTION = Question(id="q1", state_id="s", prompt="Well?")


class Quick(Human):
    def ask(self, question: Question) -> Any:
        return f"{question.prompt} {threading.current_thread().name}"


async def test_a_human_who_blocks_is_asked_in_a_thread() -> None:
    answer = await Quick().aask(QUESTION)
    assert answer.startswith("Well? ")
    assert threading.current_thread().name not in answer


async def test_many_questions_wait_for_one_human_at_once() -> None:
    together = threading.Barrier(8)

    class Many(Human):
        def ask(self, question: Question) -> Any:
            together.wait(10)
            return question.id

    answers: list[str] = []

    async def ask(number: int) -> None:
        question = Question(id=str(number), state_id="s", prompt="?")
        answers.append(await Many().aask(question))

    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(ask, number)
    assert sorted(answers) == [str(number) for number in range(8)]


async def test_a_cancelled_question_does_not_wait_for_a_blocked_human() -> None:
    asked, answer = threading.Event(), threading.Event()

    class Away(Human):
        def ask(self, question: Question) -> Any:
            asked.set()
            answer.wait(10)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(Away().aask, QUESTION)
        await trio.to_thread.run_sync(asked.wait, 10)
        nursery.cancel_scope.cancel()
    assert not answer.is_set()
    answer.set()


async def test_a_human_without_a_way_to_ask_says_what_to_override() -> None:
    with pytest.raises(NotImplementedError, match="'Human' answers no questions"):
        await Human().aask(QUESTION)


async def test_an_inbox_waits_until_it_is_answered_elsewhere() -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Inbox().aask, QUESTION)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


def test_an_inbox_is_not_asked() -> None:
    with pytest.raises(TypeError, match=r"answer with state.answer_question\('q1', "):
        Inbox().ask(QUESTION)


def test_an_inbox_says_how_long_its_questions_stay_open() -> None:
    assert Human.wait_s is None
    assert Inbox().wait_s is None
    assert Inbox(0).wait_s == 0
    assert repr(Inbox(2.5)) == "Inbox(wait_s=2.5)"


@pytest.mark.parametrize("wait_s", [-1, float("nan"), float("inf")])
def test_a_wait_that_is_no_number_of_seconds_is_refused(wait_s: float) -> None:
    with pytest.raises(ValueError, match="wait_s is a number of seconds >= 0, or None"):
        Inbox(wait_s)
