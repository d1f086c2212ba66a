"""Closing a State that a run drives, and what a run leaves open in it."""

from contextlib import suppress
from typing import TYPE_CHECKING

import trio
from trio.lowlevel import current_trio_token, in_trio_run

from protocol import RunCancelled, ToolOutcomeKind
from protocol._commands import AnswerQuestion, CloseCall, Fail
from protocol._value import Thinking
from protocol._work_entries import Answer

from ._calls import CallNode
from ._inside import mailbox, send, value_of_state
from ._node import Stop

if TYPE_CHECKING:
    from ._run_node import RunNode


def close_driven(run: "RunNode", reason: str | None) -> None:
    """Close the State that a run drives, from any thread, and stop the run.

    What is open is closed first, so that nothing is pending in a closed State. Steps
    outside of any run are stopped like a run.
    """
    why = "its State was closed" + ("" if reason is None else f": {reason}")
    box = mailbox(run.state)
    with box.lock:
        if box.closed is not None:
            return
        close_open(run, f"(cancelled: {why})", "cancelled", RunCancelled(why))
        box.close(reason)
    for each in tuple(run.beside or (run,)):
        _stop(each, Stop(why, "cancelled", each.agent.grace_s))


def _stop(run: "RunNode", stop: Stop) -> None:
    if in_trio_run() and current_trio_token() is run.supervisor._token:
        run.stop_tree(stop)
    else:
        with suppress(trio.RunFinishedError):
            run.supervisor._token.run_sync_soon(run.stop_tree, stop)


def close_open(
    run: "RunNode", content: str, outcome: ToolOutcomeKind, error: BaseException
) -> None:
    """Take back a request that waits, close questions, give calls their result."""
    value = value_of_state(run.state)
    if type(value.open) is Thinking:
        send(run.state, Fail(error))
    for question in value.facts.questions:
        closed = Answer(question_id=question.id, answered=False)
        send(run.state, AnswerQuestion(closed))
    running = {node.id: node for node in tuple(run.children)}
    for call in value.pending:
        node = running.get(call.id)
        if isinstance(node, CallNode):
            node.close(content, outcome)
        else:
            send(run.state, CloseCall(call, content, outcome))


def take_back(step: "RunNode", error: BaseException) -> None:
    """Take back the request of a step; what others beside it have open stays theirs."""
    turn = value_of_state(step.state).open
    if type(turn) is Thinking and turn.request == step.asked:
        send(step.state, Fail(error))
