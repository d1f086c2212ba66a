"""THE table: what each command meets in each phase.

1. The table is total: every command has a verdict in every phase.
2. The picture in the docs and the tests are made from it.
3. The thread of a graph shows as ``idle`` and has a column of its own: what changes its
   context goes through its graph.
"""

from typing import Literal, TypeAlias

from ._commands import (
    AddMessage,
    AnswerQuestion,
    Ask,
    ClearToolResults,
    CloseCall,
    Command,
    Compact,
    EditExtraData,
    EndChild,
    EndGraph,
    EndNode,
    EndStep,
    Fail,
    Finish,
    Fork,
    Import,
    NoteEvent,
    NoteExchange,
    NoteStart,
    Pause,
    Receive,
    ReportLate,
    Request,
    Restore,
    SetStop,
    StartChild,
    StartGraph,
    StartNode,
    StartRun,
    TrimContext,
)
from ._value import PhaseName

Verdict: TypeAlias = Literal["apply", "hold", "wait", "refuse"]
"""What becomes of a command.

``apply`` it happens now; ``hold`` it is recorded now and its message goes in when the
phase ends; ``wait`` it stands in the mailbox until the phase ends; ``refuse`` it
raises and nothing is recorded.
"""

PHASES: tuple[PhaseName, ...] = ("idle", "thinking", "calling")

Column: TypeAlias = Literal["idle", "thinking", "calling", "graph"]
"""A phase of a conversation, or ``graph`` for the thread of a graph."""

COLUMNS: tuple[Column, ...] = ("idle", "thinking", "calling", "graph")

TABLE: dict[type[Command], tuple[Verdict, Verdict, Verdict, Verdict]] = {
    #                  idle      thinking  calling   graph
    AddMessage: ("apply", "hold", "hold", "refuse"),
    Import: ("apply", "refuse", "refuse", "refuse"),
    Finish: ("apply", "apply", "apply", "apply"),
    SetStop: ("apply", "apply", "apply", "apply"),
    Compact: ("apply", "apply", "refuse", "refuse"),
    ClearToolResults: ("apply", "apply", "refuse", "refuse"),
    EditExtraData: ("apply", "apply", "apply", "apply"),
    Restore: ("apply", "refuse", "refuse", "apply"),
    Fork: ("apply", "refuse", "apply", "apply"),
    StartRun: ("apply", "apply", "apply", "apply"),
    Request: ("apply", "wait", "refuse", "refuse"),
    Receive: ("refuse", "apply", "refuse", "refuse"),
    NoteEvent: ("apply", "apply", "apply", "apply"),
    Fail: ("apply", "apply", "apply", "apply"),
    CloseCall: ("refuse", "refuse", "apply", "refuse"),
    ReportLate: ("apply", "apply", "apply", "refuse"),
    NoteExchange: ("apply", "apply", "apply", "apply"),
    NoteStart: ("refuse", "refuse", "apply", "refuse"),
    StartChild: ("apply", "apply", "apply", "apply"),
    EndChild: ("apply", "apply", "apply", "apply"),
    Ask: ("apply", "apply", "apply", "apply"),
    AnswerQuestion: ("apply", "apply", "apply", "apply"),
    StartGraph: ("apply", "refuse", "refuse", "apply"),
    StartNode: ("refuse", "refuse", "refuse", "apply"),
    EndNode: ("refuse", "refuse", "refuse", "apply"),
    EndStep: ("refuse", "refuse", "refuse", "apply"),
    Pause: ("refuse", "refuse", "refuse", "apply"),
    EndGraph: ("refuse", "refuse", "refuse", "apply"),
    TrimContext: ("refuse", "refuse", "refuse", "apply"),
}

REFUSED_IN: dict[Column, frozenset[type[Command]]] = {
    name: frozenset(kind for kind, row in TABLE.items() if row[column] == "refuse")
    for column, name in enumerate(COLUMNS)
}
"""The same, by column: the commands that are refused there."""


def verdict(command: type[Command], column: Column) -> Verdict:
    """What becomes of a command of this class in this phase, or on a thread."""
    return TABLE[command][COLUMNS.index(column)]
