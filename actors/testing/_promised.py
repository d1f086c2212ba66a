"""What the runtime promises of every State that a scenario has run, however it ended.

1. Only looked at: a check that runs something runs a copy, bound to no store.
2. A State that was closed took no more entries, so nothing is asked of it that came
   later.
"""

import warnings
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

import attrs

from actors import Agent, FunctionModel, State
from actors._background import Background
from actors._calls import CallNode
from actors._inside import run_of
from actors._run_node import RunNode
from protocol import HistoryEntry, Message, ToolResultBlock, ToolResultEntry
from protocol._entry import NO_USAGE
from protocol._graph_entries import NodeEndEntry
from protocol._reading import own_usage

_AGAIN = "again"


@attrs.frozen
class Ran:
    """The States that a scenario has run."""

    runs: Sequence[RunNode]
    """Every run of them, in order of beginning."""
    states: dict[str, State]
    """By id, each once."""

    @classmethod
    def of(cls, runs: Sequence[RunNode]) -> "Ran":
        """Those of all these runs."""
        return cls(runs, {run.id: run.state for run in runs})

    def children(self) -> list[RunNode]:
        """Runs below a call, or a node of a graph."""
        return [run for run in self.runs if run.origin is not None]

    def tops(self) -> list[State]:
        """States that were never run below a call."""
        below = {run.id for run in self.children()}
        return [state for name, state in self.states.items() if name not in below]

    def stepped(self) -> set[str]:
        """Ids of States in which somebody took steps outside of any run."""
        return {run.id for run in self.runs if run.beside is not None}


Check: TypeAlias = Callable[[Ran], Awaitable[None]]


async def broken_promises(runs: Sequence[RunNode]) -> list[tuple[str, BaseException]]:
    """Those that do not hold, each with what says so."""
    broken: list[tuple[str, BaseException]] = []
    ran = Ran.of(runs)
    for promise, check in PROMISES.items():
        try:
            await check(ran)
        except Exception as error:  # noqa: BLE001 - it is reported
            broken.append((promise, error))
    return broken


async def _one_result(ran: Ran) -> None:
    stepped = ran.stepped()
    for state in ran.states.values():
        if state.id in stepped or state.closed:
            continue  # who takes steps by hand decides when a call is answered
        asked = Counter(_calls(state.history))
        answered = Counter(_results(state.history))
        waiting = {each.call.id for each in state.questions if each.call is not None}
        for call_id in asked.keys() - waiting:
            times = answered[call_id]
            assert times == 1, f"call {call_id} of State {state.id} has {times} results"
        twice = [call_id for call_id, times in answered.items() if times > 1]
        assert not twice, f"calls of State {state.id} with two results: {twice}"
        left = {call.id for call in state.pending_calls} - waiting
        assert not left, f"calls of State {state.id} that nobody answers: {left}"
        _check_order(state)


def _calls(history: Iterable[HistoryEntry]) -> list[str]:
    return [
        call.id
        for entry in history
        if entry.kind == "model_reply"
        for call in entry.content.tool_calls
    ]


def _results(history: Iterable[HistoryEntry]) -> list[str]:
    return [
        entry.call.id
        for entry in history
        if entry.kind == "tool_result" and not entry.late
    ]


def _check_order(state: State) -> None:
    """Providers take a call only with its results right behind it.

    What a graph was given, or its nodes have made up, is not for the runtime to answer.
    """
    if _is_graph(state):
        return
    waiting: list[str] = []
    for message in state.messages:
        if waiting:
            found = [b for b in message.content if isinstance(b, ToolResultBlock)]
            ids = [block.call_id for block in found]
            assert ids == waiting, f"results {ids} behind the calls {waiting}"
            waiting = []
        else:
            waiting = [call.id for call in message.tool_calls]
    assert not waiting or state.questions, f"the last message has open calls {waiting}"


def _is_graph(state: State) -> bool:
    return any(entry.kind == "graph_start" for entry in state.history)


async def _one_end(ran: Ran) -> None:
    wanted: Counter[str] = Counter()
    for run in ran.children():
        assert run.ended, f"child {run.id} has not ended"
        call = run.origin
        assert call is not None, "asked above"
        if isinstance(run.parent, Background):
            wanted[run.id] += 1
        elif call.state.closed or call.outcome is None:
            continue  # the call waits for an answer, and goes on with its child
        ends = sum(run.id in ids for ids in _child_ids(call))
        assert ends == 1, f"child {run.id} stands in {ends} results of its call"
    if not any(state.closed for state in ran.states.values()):
        found = Counter(
            entry.content.child_id
            for state in ran.states.values()
            for entry in state.history
            if entry.kind == "child_end"
        )
        ends_of = {child_id: found[child_id] for child_id in wanted}
        assert ends_of == wanted, f"ends {ends_of} of background children {wanted}"


def _child_ids(call: CallNode) -> list[tuple[str, ...]]:
    """Of each end that the history has of this call, or node."""
    found: list[tuple[str, ...]] = []
    for entry in call.state.history:
        if entry.kind == "tool_result" and not entry.late:
            if entry.call.id == call.id:
                found.append(entry.child_ids)
        elif entry.kind == "node_end" and entry.content.task_id == call.id:
            found.append(entry.child_ids)
    return found


async def _usage(ran: Ran) -> None:
    """At each top: what its own requests used and those of everything below it."""
    below: dict[str, dict[str, State]] = {}
    for run in ran.children():
        assert run.origin is not None, "it is a child"
        below.setdefault(run.origin.state.id, {})[run.id] = run.state
    for top in ran.tops():
        total, todo, seen = NO_USAGE, [top], {top.id}
        while todo:
            state = todo.pop()
            total += own_usage(state.history)
            children = below.get(state.id, {})
            todo += [child for name, child in children.items() if name not in seen]
            seen |= children.keys()
        if not any(ran.states[name].closed for name in seen) and _is_known(top, seen):
            assert top.usage == total, f"State {top.id}: {top.usage} is not {total}"


def _is_known(top: State, seen: set[str]) -> bool:
    """Whether every child that the history names was run here, and not earlier."""
    return seen.issuperset(
        child_id
        for entry in top.history
        if isinstance(entry, ToolResultEntry | NodeEndEntry)
        for child_id in entry.child_ids
    )


async def _at_rest(ran: Ran) -> None:
    stepped = ran.stepped()
    for state in ran.states.values():
        assert run_of(state) is None, f"State {state.id} still has a run"
        waiting = state.statistics().waiting
        assert not waiting, f"{waiting} requests wait in State {state.id}"
        open_is_right = state.questions or state.id in stepped
        assert state.phase == "idle" or open_is_right, (
            f"State {state.id} is left {state.phase}"
        )


async def _replayed(ran: Ran) -> None:
    for state in ran.states.values():
        again = State(history=state.history)
        assert again.snapshot() == state.snapshot(), (
            f"the history of State {state.id} gives another State when it is replayed"
        )


async def _goes_on(ran: Ran) -> None:
    agent = Agent(FunctionModel(lambda _: _AGAIN), reporter=None, human=None)
    for state in ran.tops():
        if state.finished or state.closed or state.questions or _is_graph(state):
            continue
        again = State(history=state.history)
        if again.phase == "idle":
            again.add_message(Message.user("Go on."))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of calls that this agent has no tool for
            answer = await agent.arun(again)
        assert answer == _AGAIN, f"the next run of State {state.id} said {answer!r}"


PROMISES: dict[str, Check] = {
    "every call has exactly one result": _one_result,
    "every child has exactly one end": _one_end,
    "usage is conserved": _usage,
    "nothing is under way": _at_rest,
    "a replay gives the same": _replayed,
    "the next run works": _goes_on,
}
"""What is checked of every scenario, by name, in this order."""
