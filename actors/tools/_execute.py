"""One call, from its start to its result.

1. Whatever the tool does, the call gets exactly one result, recorded here in
   synchronous code, or by the supervisor when the tool does not stop.
2. What the tool delivers after that is recorded as late.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import trio
from outcome import Error, Outcome, Value

from actors._calls import CUT, CallNode
from actors._grace import with_grace
from actors._limits import IN_THE_WAY
from actors._node import Stop
from protocol import BudgetExceeded, RunCancelled, ToolCall, ToolError, ToolInputError
from protocol._rules import told

from ._results import to_content
from ._subagent import answered

if TYPE_CHECKING:
    from ._runner import Turn
    from ._tool import Tool


_NO_LOOP = "no running event loop"
"""What asyncio says to a function that is not on a loop of it."""


class CurrentCall(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool that takes ``call`` gets to know about its call."""

    call: ToolCall
    """The call, as the model asked for it."""
    idempotency_key: str
    """The same when this call is run again after a crash: give it to services that
    take one, so that nothing happens twice."""

    @property
    def id(self) -> str:
        """The call's id, unique in its State."""
        return self.call.id

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.call.name

    @property
    def args(self) -> Mapping[str, Any]:
        """The arguments, as the model wrote them; read-only."""
        return self.call.args


async def execute(
    turn: "Turn", node: CallNode, tool: "Tool", arguments: dict[str, Any]
) -> None:
    """Run a call and record what came of it; raises only a cancel."""
    node.has_begun = True
    try:
        if turn.announced:
            await turn.start(node)
        if tool.is_async and not (tool.hidden or tool.retries or tool.timeout_s):
            value = await _in_task(turn, node, tool.fn(**arguments))
        else:
            value = await _attempts(turn, node, tool, arguments)
        if node.children:  # started, and not waited for
            await node.wait_childless()
    except trio.Cancelled as error:
        await _stop_left(turn, node)
        _cancelled(turn, node, error)
        raise
    except BaseException as error:  # noqa: BLE001 - a result, or leaves the run
        await _stop_left(turn, node)
        _failed(turn, node, tool, error)
    else:
        if node.outcome is None:
            answered(turn, node, value)
        else:
            late(turn, node, tool, Value(value))


async def _stop_left(turn: "Turn", node: CallNode) -> None:
    """Stop and join the runs that the tool has started and left."""
    if node.children:
        stop = node.stop or turn.run.stop
        grace_s = turn.run.agent.grace_s if stop is None else stop.grace_s
        reason = "the call that started it has ended"
        node.stop_children(Stop(reason, "interrupted", grace_s))
        await node.join_children()


async def _attempts(
    turn: "Turn", node: CallNode, tool: "Tool", arguments: dict[str, Any]
) -> Any:
    """The tool's value, tried ``retries`` times more when it raises ToolError.

    A plain one that timed out is not tried again while its thread is still at work.
    """
    hidden: dict[str, Any] = {}
    if "state" in tool.hidden:
        hidden["state"] = turn.state_for(node)
    if "call" in tool.hidden:
        hidden["call"] = CurrentCall(call=node.call, idempotency_key=node.key)
    work = partial(tool.fn, **arguments, **hidden)
    for left in range(tool.retries, -1, -1):
        try:
            return await _in_time(turn, node, tool, work)
        except ToolInputError:
            raise
        except ToolError:
            # A thread that is left at work would be a second one at the same time.
            if not left or node.ended or node.has_thread:
                raise
    raise AssertionError("the last attempt returns or raises")


async def _in_time(
    turn: "Turn", node: CallNode, tool: "Tool", work: Callable[[], Any]
) -> Any:
    if tool.timeout_s is None:
        return await _once(turn, node, tool, work)
    # Watched from the start: who shields itself never hears that its time is over.
    node.end_within(tool.timeout_s + turn.run.agent.grace_s)
    with trio.move_on_after(tool.timeout_s) as timeout:
        node.timeout = timeout
        return await _once(turn, node, tool, work)
    assert timeout.cancelled_caught, "the block returns otherwise"
    node.take_time_again()
    text = f"timed out after {tool.timeout_s:g} s"
    raise ToolError(f"{text}, {CUT}" if node.is_cut else text)


async def _once(
    turn: "Turn", node: CallNode, tool: "Tool", work: Callable[[], Any]
) -> Any:
    if tool.is_async:
        return await _in_task(turn, node, work())
    return await _in_thread(turn, node, tool, work)


def _in_task(
    turn: "Turn", node: CallNode, work: Coroutine[Any, Any, Any]
) -> Awaitable[Any]:
    """Await the tool's work, with its grace when it is cancelled."""
    return with_grace(work, partial(_until, turn, node), node.cut, turn.run.calm)


def _until(turn: "Turn", node: CallNode) -> float:
    stop = node.stop or turn.run.stop
    return node.end_within(turn.run.agent.grace_s if stop is None else stop.grace_s)


async def _in_thread(
    turn: "Turn", node: CallNode, tool: "Tool", work: Callable[[], Any]
) -> Any:
    """Run a plain function in a worker thread.

    Cancelled while it waits for a thread, it never runs. Cancelled later, this returns
    at once; the thread keeps its slot until it ends, is named among what did not stop,
    and what it gives is recorded as late.
    """
    threads = node.supervisor._threads
    await threads.take(node)
    done = trio.Event()
    result: list[Outcome[Any]] = []

    async def in_thread() -> None:
        try:
            result.append(await threads.run(work))
        finally:
            threads.give_back(node)
        done.set()
        node.has_thread = False
        if node.outcome is not None:
            late(turn, node, tool, result[0])

    node.has_thread = True
    node.supervisor._background(in_thread)
    try:
        await done.wait()
    except trio.Cancelled:
        # It may have come after the cancel and before this task woke up: then nothing
        # is late, and this is its one way out. The next wait of the run is cancelled.
        if not result:
            node.leave_thread()
            raise
    return result[0].unwrap()


def _failed(turn: "Turn", node: CallNode, tool: "Tool", error: BaseException) -> None:
    if node.outcome is not None:
        late(turn, node, tool, Error(error))
        return
    if isinstance(error, ToolInputError):
        turn.close(node, _words(error), "input_error", error)
    elif isinstance(error, ToolError):
        turn.close(node, _words(error), "error", error)
    elif isinstance(error, RunCancelled):
        turn.close(node, f"({error})", "cancelled", error)
    elif isinstance(error, BudgetExceeded) and error.limit in IN_THE_WAY:
        turn.close(node, f"not started: {error}", "error", error)
    elif isinstance(error, Exception) and turn.on_error(tool) == "result":
        turn.close(node, _words(error), "error", error)
    else:
        kind = "interrupted" if isinstance(error, KeyboardInterrupt) else "aborted"
        turn.close(node, f"({kind}: {type(error).__name__})", kind, error)
        if str(error) == _NO_LOOP and tool.is_async and not tool.asyncio:
            error.add_note("a tool for asyncio is made with @tool(asyncio=True)")
        turn.failed(node, error)


def _words(error: BaseException) -> str:
    text = told(error)
    return text.partition(": ")[2] if isinstance(error, ToolError) else text


def _cancelled(turn: "Turn", node: CallNode, error: trio.Cancelled) -> None:
    how, why = node.how_stopped()
    turn.close(node, f"({why}, {CUT})" if node.is_cut else f"({why})", how, error)


def late(turn: "Turn", node: CallNode, tool: "Tool", came: Outcome[Any]) -> None:
    """Record what came after the call had its result."""
    if isinstance(came, Error):
        if not isinstance(came.error, trio.Cancelled):
            node.report_late(_words(came.error), "error")
        elif node.usage != node.reported:
            node.report_late("(stopped)", "cancelled")
        return
    try:
        given = to_content(came.unwrap())
    except ToolError as error:
        node.report_late(str(error), "error")
        return
    node.report_late(given.content, "error" if given.is_error else "done")
