"""Permissions of a turn: judged, and asked, before its first tool starts.

1. Every call that is left is judged in the order asked; what a human must decide is
   asked all at once, and answered in any order.
2. A question is an entry: it outlives the process, and its answer reaches the call
   that asked, once.
"""

import warnings
from typing import TYPE_CHECKING, Any

import attrs

from actors._asking import QuestionsLeftOpen, ask_people
from actors._inside import send, value_of_state
from actors.people import AskHuman, Denied
from actors.people._permission import Verdict, judge
from actors.people._question import APPROVAL, approval_of
from protocol import PermissionWarning, Question, StoppedByPermission
from protocol._commands import SetStop
from protocol._ids import new_id

if TYPE_CHECKING:
    from actors._calls import CallNode

    from ._runner import Turn
    from ._tool import Tool

    Row = tuple[CallNode, Tool, dict[str, Any]]

__all__ = ["QuestionsLeftOpen"]


@attrs.frozen
class _Asked:
    row: "Row"
    question: Question


async def judge_calls(turn: "Turn", rows: "list[Row]") -> "list[Row]":
    """The calls that may run; the others have their result when this returns.

    Cancelled while it waits for a human, its questions are closed as cancelled.

    Raises:
        QuestionsLeftOpen: the human does not answer now: nothing has run, and what
            was asked stays open.
    """
    allowed: list[Row] = []
    asked: list[_Asked] = []
    for row in rows:
        verdict = _judge(turn, row)
        word = verdict.word
        if isinstance(word, Denied):
            _warn_if_nobody_spoke(verdict, row)
            if word.stop:
                return _stop_turn(turn, rows, row, word, verdict)
            _deny(turn, row, word.reason)
        elif isinstance(word, AskHuman):
            asked.append(_Asked(row, _question(turn, row, word.prompt)))
        else:
            allowed.append(row)
    if asked:
        allowed += await _ask(turn, asked)
        order = {id(row): index for index, row in enumerate(rows)}
        allowed.sort(key=lambda row: order[id(row)])
    return allowed


def _judge(turn: "Turn", row: "Row") -> Verdict:
    node, tool, _ = row
    run = turn.run
    return judge(run.levels, node.call, tool, run.state, run.granted)


def _warn_if_nobody_spoke(verdict: Verdict, row: "Row") -> None:
    if verdict.unsaid:
        warnings.warn(
            f"no permission says anything about the tool {row[0].call.name!r}: the "
            f"call was denied; add one that does, AllowByDefault() last for example",
            PermissionWarning,
            stacklevel=2,
        )


def _deny(turn: "Turn", row: "Row", reason: str) -> None:
    turn.close(row[0], f"(denied: {reason})", "denied")


def _stop_turn(
    turn: "Turn", rows: "list[Row]", row: "Row", word: Denied, verdict: Verdict
) -> "list[Row]":
    """A denial that stops closes the whole turn, before any tool has run."""
    _deny(turn, row, word.reason)
    for other in rows:
        if other[0].outcome is None:
            text = "(cancelled: another call was denied and stopped the run)"
            turn.close(other[0], text, "cancelled")
    name = verdict.permission or "permissions"
    send(
        turn.run.state,
        SetStop(StoppedByPermission(call=row[0].call, permission=name)),
    )
    return []


def _question(turn: "Turn", row: "Row", prompt: str) -> Question:
    """The question of a call: the one that is open already, or a new one."""
    node, run = row[0], turn.run
    facts = value_of_state(run.state).facts
    for question in (*facts.questions, *(asked for asked, _ in facts.answers)):
        if question.call is not None and question.call.id == node.id:
            return question
    return Question(
        id=new_id(),
        state_id=run.id,
        path=run.path,
        call=node.call,
        prompt=prompt,
        returns=APPROVAL,
    )


async def _ask(turn: "Turn", asked: list[_Asked]) -> "list[Row]":
    answers = await ask_people(turn.run, [each.question for each in asked])
    allowed: list[Row] = []
    for each in asked:
        answer = answers.get(each.question.id)
        if answer is None:
            _deny(turn, each.row, "nobody is there to allow it")
            continue
        approval = approval_of(answer.value)
        if approval.allowed:
            allowed.append(each.row)
            if approval.always:
                turn.run.granted.add(each.row[0].call.name)
        else:
            _deny(turn, each.row, approval.reason)
    return allowed
