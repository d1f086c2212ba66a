"""What a command comes to: an entry to record, nothing, or a refusal.

1. The phase table speaks first, then the command's own rules.
2. A refusal raises and nothing has happened; an entry that comes out of here can
   always be folded.
3. Nothing here reads a clock: it is handed in, and asked once for each entry.
"""

from ._commands import (
    AddMessage,
    AnyCommand,
    ClearToolResults,
    CloseCall,
    Command,
    Compact,
    Fork,
    Import,
    NoteStart,
    Receive,
    ReportLate,
    Request,
    Restore,
    StartGraph,
)
from ._entries import HistoryEntry
from ._fold import fold
from ._graph_rules import GRAPH_RULES
from ._graph_value import GraphThread
from ._phases import REFUSED_IN, TABLE, Column
from ._rules import RULES
from ._turn_rules import TURN_RULES, Clock, Rule
from ._value import Calling, Thinking, Value


def step(value: Value, command: AnyCommand, now: Clock) -> Value:
    """The value after a command; the same object when it changes nothing.

    Order: decide (may raise: nothing happened), build the entry, fold it (may raise:
    nothing happened). Publishing the result is up to the caller.

    Raises:
        ValueError: the phase or a rule of the command refuses it.
        TypeError: a value in it cannot be recorded.
    """
    entry = _RULES[type(value.open)][type(command)](value, command, now)
    if entry is None:
        return value
    if type(command) is Restore:
        then = command.then
        # Equal entries of another log have other ids, and 1 where this one has 1.0:
        # only what shares the log is this State's own past and spares the replay.
        if value.history.begins_with(value.size, then.history, then.size):
            return fold(value, entry, lambda _: then)
    return fold(value, entry)


def decide(value: Value, command: AnyCommand, now: Clock) -> HistoryEntry | None:
    """The entry that a command comes to, or None when there is nothing to record."""
    rule = _RULES[type(value.open)][type(command)]
    return rule(value, command, now)


def _refusal(value: Value, kind: type[Command]) -> ValueError:
    if kind in _NOTHING_OPEN:
        return ValueError(_NOTHING_OPEN[kind])
    if type(value.open) is GraphThread:
        return ValueError(
            f"cannot {_WORDS[kind]}: this State is the thread of a graph, and what "
            f"changes its context goes through the graph (app.invoke(input, config))"
        )
    if kind in GRAPH_RULES and kind is not StartGraph:
        return ValueError("no run of a graph is under way on this State")
    what = _WORDS[kind]
    if type(value.open) is Calling:
        names = ", ".join(f"{c.name} ({c.id})" for c in value.pending[:3])
        return ValueError(
            f"cannot {what} while tool calls have no result yet: {names}; "
            f"run or close them first (agent.use_tools(state))"
        )
    return ValueError(
        f"cannot {what} while the model is being waited on; do it before the think "
        f"or after it returned"
    )


_NOTHING_OPEN: dict[type[Command], str] = {
    Receive: "no request waits on the model: a reply has nowhere to go",
    CloseCall: "no call is open: a result has nowhere to go",
    NoteStart: "no call is open: there is none to start",
}
"""What answers an open request or call is refused in every other phase."""

_WORDS: dict[type[Command], str] = {
    AddMessage: "add a message",
    Import: "import messages",
    Compact: "compact",
    ClearToolResults: "clear tool results",
    Restore: "restore",
    Fork: "fork",
    Request: "think",
    ReportLate: "report a late result",
    StartGraph: "run a graph",
}


def _refuse(value: Value, command: Command, now: Clock) -> None:
    raise _refusal(value, type(command))


def _rules(column: Column) -> dict[type[Command], Rule]:
    """THE table for one column, with the rule or the refusal of each command."""
    refused = REFUSED_IN[column]
    rules = RULES | TURN_RULES | GRAPH_RULES
    return {kind: _refuse if kind in refused else rules[kind] for kind in TABLE}


_RULES: dict[type, dict[type[Command], Rule]] = {
    type(None): _rules("idle"),
    Thinking: _rules(Thinking.phase),
    Calling: _rules(Calling.phase),
    GraphThread: _rules("graph"),
}
