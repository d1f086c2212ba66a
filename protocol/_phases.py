"""THE table: what each command meets in each phase.

1. The table is total: every command has a verdict in every phase.
2. The picture in the docs and the tests are made from it.
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
    Fail,
    Finish,
    Fork,
    Import,
    NoteEvent,
    NoteExchange,
    NoteStart,
    Receive,
    ReportLate,
    Request,
    Restore,
    SetStop,
    StartRun,
)
from ._value import PhaseName

Verdict: TypeAlias = Literal["apply", "hold", "wait", "refuse"]
"""What becomes of a command.

``apply`` it happens now; ``hold`` it is recorded now and its message goes in when the
phase ends; ``wait`` it stands in the mailbox until the phase ends; ``refuse`` it
raises and nothing is recorded.
"""

PHASES: tuple[PhaseName, ...] = ("idle", "thinking", "calling")

TABLE: dict[type[Command], tuple[Verdict, Verdict, Verdict]] = {
    #                  idle      thinking  calling
    AddMessage: ("apply", "hold", "hold"),
    Import: ("apply", "refuse", "refuse"),
    Finish: ("apply", "apply", "apply"),
    SetStop: ("apply", "apply", "apply"),
    Compact: ("apply", "apply", "refuse"),
    ClearToolResults: ("apply", "apply", "refuse"),
    EditExtraData: ("apply", "apply", "apply"),
    Restore: ("apply", "refuse", "refuse"),
    Fork: ("apply", "refuse", "apply"),
    StartRun: ("apply", "apply", "apply"),
    Request: ("apply", "wait", "refuse"),
    Receive: ("refuse", "apply", "refuse"),
    NoteEvent: ("apply", "apply", "apply"),
    Fail: ("apply", "apply", "apply"),
    CloseCall: ("refuse", "refuse", "apply"),
    ReportLate: ("apply", "apply", "apply"),
    NoteExchange: ("apply", "apply", "apply"),
    NoteStart: ("refuse", "refuse", "apply"),
    EndChild: ("apply", "apply", "apply"),
    Ask: ("apply", "apply", "apply"),
    AnswerQuestion: ("apply", "apply", "apply"),
}

REFUSED_IN: dict[PhaseName, frozenset[type[Command]]] = {
    phase: frozenset(kind for kind, row in TABLE.items() if row[column] == "refuse")
    for column, phase in enumerate(PHASES)
}
"""The same, by phase: the commands that a phase refuses."""


def verdict(command: type[Command], phase: PhaseName) -> Verdict:
    """What becomes of a command of this class in this phase."""
    return TABLE[command][PHASES.index(phase)]
