"""A history as a person reads it: one line for each entry."""

from collections.abc import Iterable, Iterator
from typing import assert_never

from ._entries import ContextChange, HistoryEntry
from ._entry import Content
from ._graph_entries import GraphEntry, NodeTask
from ._work_entries import Answer

WIDTH = 100
"""Characters of text shown of one entry: more would wrap on a usual terminal."""


def lines(entries: Iterable[HistoryEntry]) -> Iterator[str]:
    """A line for each entry: turn, kind, and the beginning of what it says."""
    for entry in entries:
        text = " ".join(said(entry).split())
        if len(text) > WIDTH:
            text = text[: WIDTH - 1] + "…"
        yield f"{entry.turn:>4}  {entry.kind:<14}  {text}"


def said(entry: HistoryEntry) -> str:
    """What an entry says, whole; the arguments of calls are left out."""
    match entry.kind:
        case "user" | "notice" | "model_request" | "error":
            return _text(entry.content)
        case "model_reply":
            calls = [f"{call.name}({call.id})" for call in entry.content.tool_calls]
            return " ".join([entry.content.text, *calls])
        case "model_event":
            return f"{entry.content.kind}: {entry.content.message}"
        case "tool_result":
            late = " late" if entry.late else ""
            name = f"{entry.call.name}({entry.call.id})"
            return f"{name} {entry.outcome}{late}: {_text(entry.content)}"
        case "ask" | "human":
            return f"{entry.content.question} -> {entry.content.answer!r}"
        case "context_change":
            return _changed(entry.content)
        case "run_start":
            return f"{entry.content.name or '-'} on {entry.content.model or '-'}"
        case "stop":
            return "cleared" if entry.content is None else repr(entry.content)
        case "extra_data":
            removed = "".join(f" -{key}" for key in entry.removed)
            return f"{dict(entry.content)!r}{removed}"
        case "call_start":
            return f"{entry.call.name}({entry.call.id}) starts"
        case "child_start":
            return f"{entry.content.name} {entry.content.child_id} starts"
        case "child_end":
            end = entry.content
            return f"{end.name} {end.child_id} {end.outcome}: {_text(end.text)}"
        case "question":
            return f"{entry.content.id}: {entry.content.prompt}"
        case "answer":
            return _answered(entry.content)
        case _:
            return _of_graph(entry)


def _of_graph(entry: GraphEntry) -> str:
    match entry.kind:
        case "graph_start":
            start = entry.content
            names = "goes on" if start.goes_on else _named(start.tasks)
            return f"{len(start.messages)} messages, {names}"
        case "node_start":
            return entry.content.node
        case "node_end":
            end = entry.content
            return f"{end.node} {end.outcome} {end.text}"
        case "step_end":
            fields = ", ".join(entry.content.fields)
            return f"updated: {fields or '-'}; next: {_named(entry.content.tasks)}"
        case "interrupt":
            asked = [f"{each.id}: {each.value!r}" for each in entry.content]
            return f"{entry.status} {'; '.join(asked)}"
        case "graph_end":
            return f"{entry.content.status} {entry.content.text}"
        case "context_trim":
            trim = entry.content
            return f"{len(trim.kept)} of {trim.upto} kept: {trim.summary or '-'}"
        case _ as never:
            assert_never(never)


def _named(tasks: Iterable[NodeTask]) -> str:
    return ", ".join(task.node for task in tasks) or "the end"


def _text(content: Content) -> str:
    if isinstance(content, str):
        return content
    return " ".join(b.text if b.type == "text" else f"[{b.type}]" for b in content)


def _answered(answer: Answer) -> str:
    if not answer.answered:
        return f"{answer.question_id}: closed without an answer"
    return f"{answer.question_id}: {answer.value!r}"


def _changed(change: ContextChange) -> str:
    match change.kind:
        case "import":
            return f"import of {len(change.messages)} messages"
        case "compact":
            return f"compact, {change.kept} kept: {change.summary}"
        case "clear_tool_results":
            return f"cleared {len(change.cleared)} results"
        case "restore":
            return f"restored to {change.restored_to} entries"
        case _ as never:
            assert_never(never)
