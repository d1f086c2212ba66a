"""What became of each task, and the file that says so.

1. A result is read off the State and nothing else: this process and a later one say
   the same of it.
2. What a history does not show by itself, the failure of a run and what a loop of the
   user's own returned, is noted in it when the run ends.
3. The file has one line for every task in task order, and is replaced whole.
"""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

import attrs
import msgspec

from actors import State, Store
from actors._inside import send
from protocol import HistoryEntry, ModelEvent, Usage
from protocol._commands import NoteEvent
from protocol._entry import NO_USAGE
from protocol._json import freeze
from protocol._rules import told

Status: TypeAlias = Literal["done", "failed", "stopped", "cancelled"]
"""``done``: the run came to its end; ``failed``: an error left it; ``stopped``: a
limit, a permission or a question ended it; ``cancelled``: it has not ended, or never
began."""

RUN_END = "run_end"
"""The kind of the event that notes an end."""

_SHORT_OF_THE_END = ("limit", "permission", "budget", "question")

_encode = msgspec.json.Encoder().encode


@attrs.frozen(kw_only=True)
class Result:
    """One line of the results."""

    id: str
    status: Status
    answer: Any = None
    stopped: str | None = None
    """The kind of the State's stop."""
    turns: int = 0
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    """Time that its runs took, breaks between them left out."""
    error: str | None = None
    is_final: bool = True
    """Whether the same fleet, run again, leaves the task as it is; not written."""

    def line(self) -> bytes:
        """The result as a line of JSON."""
        fields = attrs.asdict(self, recurse=False)
        del fields["is_final"]
        fields["usage"] = _numbers(self.usage) | {
            "by_model": {name: _numbers(u) for name, u in self.usage.by_model.items()}
        }
        return _encode(fields) + b"\n"


def _numbers(usage: Usage) -> dict[str, Any]:
    return {
        "requests": usage.requests,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "cost": usage.cost,
    }


def unfinished(
    state: State,
    status: Status = "cancelled",
    error: str | None = None,
    stopped: str | None = None,
) -> Result:
    """The result of a State whose run is to be continued."""
    return Result(
        id=state.id,
        status=status,
        answer=state.answer,
        stopped=stopped,
        turns=state.turn,
        usage=state.usage,
        seconds=_seconds(state.history),
        error=error,
        is_final=False,
    )


def read_result(state: State) -> Result | None:
    """What became of the State's run; None when it was cut off before its end."""
    history = state.history
    end = _end(history)
    if end is None and not state.finished:
        return None
    status, error, answer = _noted(end)
    stopped = None if state.stopped is None else state.stopped.kind
    if status == "done" and stopped in _SHORT_OF_THE_END:
        status = "stopped"
    return Result(
        id=state.id,
        status=status,
        answer=state.answer if answer is None else answer,
        stopped=stopped,
        turns=state.turn,
        usage=state.usage,
        seconds=_seconds(history),
        error=error,
    )


def _end(history: Iterable[HistoryEntry]) -> HistoryEntry | None:
    """The entry that ends the latest run; None when something follows it, or none."""
    for entry in reversed(tuple(history)):
        match entry.kind:
            case "stop":
                return None if entry.content is None else entry
            case "model_event" if entry.content.kind == RUN_END:
                return entry
            case "tool_result" if entry.late:
                continue
            case "child_end" | "model_event" | "notice":
                continue  # what comes late says nothing about the run
            case _:
                return None
    return None


def _noted(end: HistoryEntry | None) -> tuple[Status, str | None, Any]:
    if end is None or end.kind != "model_event":
        return "done", None, None
    data = end.content.data
    return data["status"], data["error"], data["answer"]


def _seconds(history: Iterable[HistoryEntry]) -> float:
    total = 0.0
    began = last = None
    for entry in history:
        if entry.kind == "run_start":
            if began is not None and last is not None:
                total += (last - began).total_seconds()
            began = entry.at
        last = entry.at
    if began is not None and last is not None:
        total += (last - began).total_seconds()
    return round(total, 6)


async def note_end(
    store: Store, state: State, answer: Any, error: BaseException | None
) -> Result:
    """The result of a run that has just ended, noted in its State where need be.

    Raises:
        ActorClosed: the State takes no more entries.
        OSError, StoreConflict: the note could not be saved.
    """
    if error is None:
        try:
            answer = freeze(answer, "answer")
        except TypeError as fault:
            error = fault
    if error is not None:
        await _note(store, state, "failed", told(error), None)
    elif _end(state.history) is None or answer != state.answer:
        await _note(store, state, "done", None, answer)
    result = read_result(state)
    assert result is not None, "its end is noted"
    return result


async def _note(
    store: Store, state: State, status: Status, error: str | None, answer: Any
) -> None:
    data = {"status": status, "error": error, "answer": answer}
    message = f"the run ended: {error or status}"
    event = ModelEvent(kind=RUN_END, message=message, data=data)
    send(state, NoteEvent(event))
    await store.asave(state)


class Spool:
    """Lines in a nameless file, by task: 10,000 answers need not stand in memory."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - __exit__ closes it
        self._places: dict[str, tuple[int, int]] = {}
        self._size = 0

    def put(self, result: Result) -> None:
        """Keep the line of a task; a later one replaces it."""
        line = result.line()
        self._file.seek(self._size)
        self._file.write(line)
        self._places[result.id] = self._size, len(line)
        self._size += len(line)

    def line(self, task_id: str) -> bytes:
        """The line of a task; that of one that never began when there is none."""
        place = self._places.get(task_id)
        if place is None:
            return Result(id=task_id, status="cancelled").line()
        self._file.seek(place[0])
        return self._file.read(place[1])

    def write_to(self, path: Path, task_ids: Iterable[str]) -> None:
        """Replace the file by the lines of these tasks, whole or not at all.

        Raises:
            OSError: it cannot be written; what was there before still is.
        """
        beside = path.with_name(f".{path.name}.new")
        with beside.open("wb") as file:
            file.writelines(self.line(task_id) for task_id in task_ids)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
