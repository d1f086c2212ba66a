"""The ledger: what a call that was open when its process ended has to expect.

1. Recorded: it has its result, and is not open.
2. Never started: it runs.
3. Started, outcome unknown: it runs again, with the same key, if its tool is idempotent
   or only reads; every other tool may have had its effect, and the call says so.
4. A call of an agent goes on with the child that it started.
5. What runs that any other tool started have used is counted with the call, once.
"""

from typing import TYPE_CHECKING, Any

from actors._calls import CallNode
from actors._inside import library_of, value_of_state
from protocol import ChildStartEntry
from protocol._value import Calling

from ._subagent import RunAgent

if TYPE_CHECKING:
    from actors._state import State

    from ._runner import Row, Turn
    from ._tool import Tool

UNKNOWN = (
    "(aborted: the process ended while this call ran; it may or may not have had its "
    "effect: find out before you ask for it again)"
)


def any_started(state: "State") -> bool:
    """Whether the history may say that a call of the open turn has begun before."""
    now = value_of_state(state).open
    return type(now) is Calling and now.calls.any_started


async def settle_unknown(turn: "Turn", rows: "list[Row]") -> "list[Row]":
    """The calls that may run; those whose outcome nobody knows get their result."""
    left: list[Row] = []
    for row in rows:
        node, tool, _ = row
        if node.was_started() and not isinstance(tool.fn, RunAgent):
            await _count_children(node)
            if not turn.may_run_again(node, tool):
                turn.close(node, UNKNOWN, "aborted")
                continue
        left.append(row)
    return left


async def _count_children(node: CallNode) -> None:
    """Count what children of the call used in a process that ended."""
    store: Any = library_of(node.state)
    if store is None:
        return
    sent_off = _in_background(node.state)  # these have an end of their own
    last = None
    while page := await store.alist(after=last, parent=node.state.id):
        last = page[-1]
        for saved in page:
            if saved.damage is not None or saved.id in sent_off:
                continue
            child: State = await store.aload(saved.id)
            if child.parent_call_id == node.id:
                node.add_child(child.id, child)
                node.spent(child.usage)


def _in_background(state: "State") -> frozenset[str]:
    value = value_of_state(state)
    return frozenset(
        entry.content.child_id
        for entry in value.history.read(value.size)
        if type(entry) is ChildStartEntry
    )


def may_run_again(tool: "Tool") -> bool:
    """Whether a second run of a call does no more than one."""
    return bool(tool.idempotent or tool.read_only or isinstance(tool.fn, RunAgent))
