"""The rare cases that the sequences must reach, told from what the oracle kept."""

from collections.abc import Callable
from typing import Any

from .expected import Expected
from .oracle import CALLING, IDLE, THINKING, Value, results_in

Case = Callable[[Value, Any, Value], bool]


def _change(kind: str, entry: Any) -> bool:
    return bool(entry.kind == "context_change" and entry.content.kind == kind)


def _took_back(before: Value, entry: Any) -> bool:
    return entry.kind == "error" and before.phase == THINKING and entry.call is None


CASES: dict[str, Case] = {
    "a request taken back while its late notices wait again": lambda before, entry, _: (
        _took_back(before, entry) and bool(before.taken_in)
    ),
    "a request taken back whose late notices were compacted": lambda before, entry, _: (
        _took_back(before, entry)
        and bool(before.taken_in)
        and not any(m is before.taken_in[0] for m in before.messages)
    ),
    "an error about a call while thinking": lambda before, entry, _: (
        entry.kind == "error" and before.phase == THINKING and entry.call is not None
    ),
    "two messages held while calls were pending": lambda before, entry, after: (
        entry.kind == "tool_result" and len(before.held) > 1 and not after.held
    ),
    "the first user message held": lambda before, entry, after: (
        before.first_user is None and after.first_user is not None and bool(after.held)
    ),
    "the first user message held while compacting": lambda before, entry, _: (
        _change("compact", entry) and any(m is before.first_user for m in before.held)
    ),
    "a compaction that keeps the first user message": lambda before, entry, _: (
        _change("compact", entry)
        and entry.content.kept > 0
        and any(
            message is before.first_user
            for message in before.messages[-entry.content.kept :]
        )
    ),
    "a second compaction": lambda before, entry, _: (
        _change("compact", entry)
        and len(before.messages) > 1
        and before.messages[1].is_notice
    ),
    "results closed in another order than asked": lambda before, entry, after: (
        entry.kind == "tool_result"
        and not entry.late
        and after.phase == IDLE
        and list({**before.results, entry.call.id: entry})
        != [call.id for call in before.calls]
    ),
    "a reply cut off before any text after an answer": lambda before, entry, _: (
        entry.kind == "model_reply"
        and entry.content.cut_off
        and not entry.content.text
        and not entry.content.tool_calls
        and before.answer is not None
    ),
    "an id that the model repeated or left empty": lambda before, entry, _: (
        entry.kind == "model_reply"
        and any(call.model_id is not None for call in entry.content.tool_calls)
    ),
    "a cleared id that is used twice": lambda before, entry, _: (
        _change("clear_tool_results", entry)
        and _used_twice(before, entry.content.cleared)
    ),
    "token anchors dropped by clearing": lambda before, entry, after: (
        _change("clear_tool_results", entry)
        and any(message.tokens is not None for message in before.messages)
    ),
    "clearing while thinking": lambda before, entry, _: (
        _change("clear_tool_results", entry) and before.phase == THINKING
    ),
    "a restore that takes a waiting notice away": lambda before, entry, after: (
        _change("restore", entry) and len(before.waiting) > len(after.waiting)
    ),
    "a restore that brings a waiting notice back": lambda before, entry, after: (
        _change("restore", entry) and len(before.waiting) < len(after.waiting)
    ),
    "a restore of a finished State": lambda before, entry, after: (
        _change("restore", entry) and before.finished and not after.finished
    ),
    "a restore to before the first user message": lambda before, entry, after: (
        _change("restore", entry)
        and before.first_user is not None
        and after.first_user is None
    ),
    "a restore to before the link to a parent": lambda before, entry, after: (
        _change("restore", entry) and before.parent is not None
    ),
    "a second link to a parent": lambda before, entry, after: (
        entry.kind == "run_start"
        and before.parent is not None
        and entry.parent_id not in {None, before.parent[0]}
    ),
    "a late result while other calls are pending": lambda before, entry, _: (
        entry.kind == "tool_result" and entry.late and before.phase == CALLING
    ),
    "finished again without an answer": lambda before, entry, _: (
        entry.kind == "stop"
        and before.finish_answer is not None
        and entry.content is not None
        and entry.content.kind == "finish"
        and entry.content.answer is None
    ),
    "a stop cleared on a finished State": lambda before, entry, _: (
        entry.kind == "stop" and entry.content is None and before.finished
    ),
}


def _used_twice(value: Value, cleared: tuple[str, ...]) -> bool:
    ids = [block.call_id for _, _, block in results_in(value.messages)]
    return any(ids.count(call_id) > cleared.count(call_id) for call_id in cleared)


def reached(expected: Expected) -> set[str]:
    """The names of the rare cases that this history went through."""
    values = expected.values
    return {
        name
        for index, entry in enumerate(expected.history)
        for name, case in CASES.items()
        if case(values[index], entry, values[index + 1])
    }
