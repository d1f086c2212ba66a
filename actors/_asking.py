"""Questions to people: open, answered by whoever comes first, or left for later."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any

import trio

from protocol import NoHumanError, PermissionWarning, Question
from protocol._commands import AnswerQuestion, Ask
from protocol._value import Value
from protocol._work_entries import Answer

from ._inside import mailbox, send, value_of_state
from ._mailbox import Waiter
from ._saving import save

if TYPE_CHECKING:
    from ._run_node import RunNode
    from .people import Human


class QuestionsLeftOpen(Exception):
    """Nobody answers now: the run stops and goes on from the questions later."""

    def __init__(self, questions: tuple[Question, ...]) -> None:
        super().__init__(questions)
        self.questions = questions


async def ask_people(
    run: "RunNode", questions: Sequence[Question]
) -> Mapping[str, Answer]:
    """The answers, by question id; a question without one could not be put to anybody.

    All are open at once. An answer comes from the run's human, or from
    ``state.answer_question``; the first one counts. Cancelled, whatever is still open
    is closed as cancelled.

    Raises:
        QuestionsLeftOpen: the human's ``wait_s`` is over; the questions stay open.
    """
    state = run.state
    human = run.human
    opened = {q.id for q in value_of_state(state).facts.questions}
    known = {q.id for q, _ in value_of_state(state).facts.answers}
    new = [q for q in questions if q.id not in opened | known]
    if new and human is None:
        warnings.warn(
            "a permission wants a human asked, and this run has nobody to ask: the "
            "call was denied; give the agent human=Terminal() or human=Inbox()",
            PermissionWarning,
            stacklevel=2,
        )
        return {}
    for question in new:
        send(state, Ask(question))
    await save(state)
    if human is not None:
        await _wait(run, human, questions)
    wanted = {q.id for q in questions}
    return {
        asked.id: Answer(question_id=asked.id, value=value)
        for asked, value in value_of_state(state).facts.answers
        if asked.id in wanted
    }


def _open(run: "RunNode", questions: Sequence[Question]) -> list[Question]:
    now = {q.id for q in value_of_state(run.state).facts.questions}
    return [q for q in questions if q.id in now]


async def _wait(run: "RunNode", human: "Human", questions: Sequence[Question]) -> None:
    asking = _Asking(run, human)
    box = mailbox(run.state)
    box.listen(asking.heard)
    run.wait_for_human()
    try:
        asking.put(_open(run, questions))
        with trio.move_on_after(inf if human.wait_s is None else human.wait_s):
            await asking.wait_answered(questions)
        left = _open(run, questions)
        if left:
            raise QuestionsLeftOpen(tuple(left))
    except trio.Cancelled:
        for question in _open(run, questions):
            closed = Answer(question_id=question.id, answered=False)
            send(run.state, AnswerQuestion(closed))
        raise
    finally:
        run.human_is_done()
        asking.stop()
        box.unlisten(asking.heard)


class _Asking:
    """Questions that are put to a human, each by a task of its own."""

    def __init__(self, run: "RunNode", human: "Human") -> None:
        self._run = run
        self._human = human
        self._waiter = Waiter()
        self._scopes: dict[str, trio.CancelScope] = {}
        self._error: BaseException | None = None

    def heard(self, before: Value, after: Value) -> None:
        """Told of each commit: look again when the open questions have changed."""
        if before.facts.questions is not after.facts.questions:
            self._waiter.wake()

    def put(self, questions: Sequence[Question]) -> None:
        """Put questions to the human."""
        for question in questions:
            scope = self._scopes[question.id] = trio.CancelScope()
            self._run.supervisor._background(self._put, question, scope)

    async def wait_answered(self, questions: Sequence[Question]) -> None:
        """Wait until none of them is open; what the human raises is raised here."""
        while True:
            still = {question.id for question in _open(self._run, questions)}
            for question_id, scope in self._scopes.items():
                if question_id not in still:
                    scope.cancel()
            if self._error is not None:
                raise self._error
            if not still:
                return
            await self._waiter.woken()
            self._waiter.sleep()

    def stop(self) -> None:
        """Ask nobody any more."""
        for scope in self._scopes.values():
            scope.cancel()

    async def _put(self, question: Question, scope: trio.CancelScope) -> None:
        with scope:
            try:
                value: Any = await self._human.aask(question)
                answer = Answer(question_id=question.id, value=value)
            except NoHumanError:
                answer = Answer(question_id=question.id, answered=False)
            except Exception as error:  # noqa: BLE001 - raised by wait_answered
                self._error = error
                self._waiter.wake()
                return
            with suppress(ValueError):  # somebody else was faster
                send(self._run.state, AnswerQuestion(answer))
