"""What each command must do, written only from the pages.

1. A command is refused with one of the named errors, or records the named entries.
2. An expected entry names the attributes that the pages settle; what they leave open
   (ids, times, wording) is taken from the real entry after it passed the check.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

import msgspec

from protocol import ImageBlock, Message, TextBlock, ToolCall, Usage

from . import oracle
from .oracle import (
    CLEARED,
    IDLE,
    THINKING,
    Value,
    fold,
    results_in,
)

Errors = tuple[type[Exception], ...]
Check = Callable[[Any], bool]


@dataclass
class Outcome:
    """What must come of a command: one of `errors`, or these `entries`."""

    errors: Errors = ()
    entries: tuple[dict[str, Any], ...] = ()


def refused(*errors: type[Exception]) -> Outcome:
    return Outcome(errors=errors)


def records(**attributes: Any) -> Outcome:
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    return Outcome(entries=(named,))


NOTHING = Outcome()


class Expected:
    """One State as the pages have it: entries, and the value after each."""

    def __init__(self, entries: Iterable[Any] = ()) -> None:
        self.history: list[Any] = list(entries)
        self.values: list[Value] = fold(self.history)
        self.closed = False

    @property
    def value(self) -> Value:
        return self.values[-1]

    def accept(self, outcome: Outcome, entries: list[Any]) -> None:
        """Check what was recorded against what had to be, and fold it."""
        assert len(entries) == len(outcome.entries), (
            f"expected {outcome.entries}, recorded {entries}"
        )
        for wanted, entry in zip(outcome.entries, entries, strict=True):
            for path, value in wanted.items():
                found = read(entry, path)
                assert value(found) if callable(value) else same(found, value), (
                    f"{path}: expected {value!r}, recorded {found!r}"
                )
            before = self.value.turn
            self.values.append(oracle.after(self.values, entry))
            self.history.append(entry)
            assert entry.turn in {before, self.value.turn}, "the turn of an entry"

    # The commands of a user.

    def add_message(self, message: object) -> Outcome:
        if not isinstance(message, Message):
            return refused(TypeError)
        said = [b for b in message.content if isinstance(b, TextBlock) and b.text]
        shown = [b for b in message.content if isinstance(b, ImageBlock)]
        known = [b for b in message.content if isinstance(b, TextBlock | ImageBlock)]
        if message.role != "user" or len(known) != len(message.content):
            return refused(ValueError)
        if not said and not shown:
            return refused(ValueError)
        if not is_clean(message.text()):
            return refused(TypeError)
        kind = "notice" if message.text().startswith("[notice] ") else "user"
        return records(
            kind=kind, message=message, message__message_id=message.message_id
        )

    def finish(self, answer: object) -> Outcome:
        try:
            form = json_form(answer)
        except TypeError:
            return refused(TypeError)
        return records(kind="stop", content__kind="finish", content__answer=form)

    def compact(
        self, summary: object, kept: int = 0, usage: Usage | None = None
    ) -> Outcome:
        errors: list[type[Exception]] = []
        if self.value.pending:
            errors.append(ValueError)
        if not isinstance(summary, str):
            errors.append(TypeError)
        elif not summary.strip():
            errors.append(ValueError)
        elif not is_clean(summary):
            errors.append(TypeError)
        if errors:
            return refused(*errors)
        return records(
            kind="context_change",
            content__kind="compact",
            content__summary=summary,
            content__kept=kept,
            content__usage=usage or Usage(),
        )

    def clear_tool_results(self, keep_last: Any) -> Outcome:
        if type(keep_last) is not int or keep_last < 0 or self.value.pending:
            return refused(ValueError)
        results = [block for _, _, block in results_in(self.value.messages)]
        old = results[: max(0, len(results) - keep_last)]
        ids = [block.call_id for block in old if block.output != CLEARED]
        if not ids:
            return NOTHING
        return records(
            kind="context_change",
            content__kind="clear_tool_results",
            content__cleared=tuple(ids),
        )

    def edit_extra_data(self, edited: object) -> Outcome:
        try:
            new = json_form(edited)
        except TypeError:
            return refused(TypeError)
        old = self.value.extra
        changed = {k: v for k, v in new.items() if k not in old or not same(v, old[k])}
        removed = set(old) - set(new)
        if not changed and not removed:
            return NOTHING
        return records(
            kind="extra_data",
            content=changed,
            removed=equal_to_set(removed),
        )

    def restore(self, history: list[Any] | None) -> Outcome:
        """Go back to the snapshot with this history; None is no snapshot at all."""
        errors: list[type[Exception]] = []
        if self.value.phase != IDLE:
            errors.append(ValueError)
        if history is None:
            errors.append(TypeError)
        elif self.history[: len(history)] != history:
            errors.append(ValueError)
        elif self.values[len(history)].phase != IDLE:
            errors.append(ValueError)
        if errors or history is None:
            return refused(*errors)
        return records(
            kind="context_change",
            content__kind="restore",
            content__restored_to=len(history),
        )

    def close(self) -> None:
        self.closed = True

    def fork(self) -> Outcome:
        """What the copy must have recorded beyond this State's own entries."""
        if self.value.phase == THINKING:
            return refused(ValueError)
        return Outcome(
            entries=tuple(
                {
                    "kind": "tool_result",
                    "call": call,
                    "outcome": "cancelled",
                    "late": False,
                    "child_ids": (),
                }
                for call in self.value.pending
            )
        )

    # The commands of the runtime.

    def request(self, model: str) -> Outcome:
        if self.value.phase != IDLE or self.value.finished:
            return refused(ValueError)
        return records(kind="model_request", content=model)

    def receive(self, reply: Any) -> Outcome:
        if self.value.phase != THINKING:
            return refused(ValueError)
        said = reply.message
        return records(
            kind="model_reply",
            content__message__tokens=said.tokens or reply.context_tokens,
            content__message__stop_reason=said.stop_reason or reply.stop_reason,
            content__usage=reply.usage,
            content__context_tokens=reply.context_tokens,
            content__stop_reason=reply.stop_reason,
            content__model=reply.model,
            content__text=reply.text,
            content__message__role="assistant",
            content__message__message_id=reply.message.message_id,
            content__tool_calls=self._fit(reply.tool_calls),
        )

    def _fit(self, asked: tuple[ToolCall, ...]) -> Check:
        """Each call keeps its id, unless that is empty or was seen before."""

        def check(found: Any) -> bool:
            seen = self.call_ids()
            for call, recorded in zip(asked, found, strict=True):
                if call.id and call.id not in seen:
                    good = recorded == call
                else:
                    good = _renamed(call, recorded, seen)
                if not good:
                    return False
                seen.add(recorded.id)
            return True

        return check

    def call_ids(self) -> set[str]:
        """The ids of all calls that the history ever had."""
        said = [e.content.message for e in self.history if e.kind == "model_reply"]
        for entry in self.history:
            if entry.kind == "context_change":
                said.extend(entry.content.messages)
        return {call.id for message in said for call in message.tool_calls}

    def fail(self, error: BaseException, call: Any) -> Outcome:
        return records(
            kind="error", content=f"{type(error).__name__}: {error}", call=call
        )

    def close_call(self, command: Any) -> Outcome:
        if command.call.id not in [call.id for call in self.value.pending]:
            return refused(ValueError)
        return self._result(command, late=False)

    def report_late(self, command: Any) -> Outcome:
        if command.call.id in [call.id for call in self.value.pending]:
            return refused(ValueError)
        return self._result(command, late=True)

    def _result(self, command: Any, *, late: bool) -> Outcome:
        return records(
            kind="tool_result",
            call=command.call,
            content=command.content,
            outcome=command.outcome,
            is_error=command.outcome != "done",
            late=late,
            child_ids=command.child_ids,
            usage=command.usage,
        )

    def exchange(self, kind: str, exchange: Any, usage: Any) -> Outcome:
        return records(kind=kind, content=exchange, usage=usage)

    def event(self, event: Any) -> Outcome:
        return records(kind="model_event", content=event)

    def start_run(self, info: Any, parent: str | None, call: str | None) -> Outcome:
        if self.value.finished:
            return refused(ValueError)
        return records(
            kind="run_start", content=info, parent_id=parent, parent_call_id=call
        )

    def set_stop(self, stopped: Any) -> Outcome:
        if stopped is None and self.value.stopped is None:
            return NOTHING
        return records(kind="stop", content=stopped)

    def note_start(self, call: ToolCall, key: str) -> Outcome:
        if call.id not in [each.id for each in self.value.pending]:
            return refused(ValueError)
        return records(kind="call_start", call=call, content=key)

    def start_child(self, child: Any) -> Outcome:
        if (child.child_id, child.since) in self.value.begun:
            return NOTHING
        return records(kind="child_start", content=child)

    def end_child(self, end: Any, usage: Usage) -> Outcome:
        if (end.child_id, end.since) in self.value.ended:
            return NOTHING
        return records(kind="child_end", content=end, usage=usage)

    def ask(self, question: Any) -> Outcome:
        if question.id in self.value.questions:
            return refused(ValueError)
        return records(kind="question", content=question)

    def answer_question(self, answer: Any) -> Outcome:
        if answer.question_id not in self.value.questions:
            return refused(ValueError)
        is_approval = self.value.questions[answer.question_id] is not None
        if is_approval and answer.answered and type(answer.value) not in {str, bool}:
            return refused(ValueError)
        return records(kind="answer", content=answer)

    def import_messages(self, messages: tuple[Message, ...]) -> Outcome:
        if self.value.phase != IDLE:
            return refused(ValueError)
        return records(
            kind="context_change", content__kind="import", content__messages=messages
        )


def _renamed(call: ToolCall, recorded: ToolCall, seen: set[str]) -> bool:
    """Whether this is the call with an id of its own, and the model's id kept."""
    free = bool(recorded.id) and recorded.id not in seen
    return free and recorded == msgspec.structs.replace(
        call, id=recorded.id, model_id=call.id
    )


def equal_to_set(wanted: set[str]) -> Check:
    """The names in any order, each once."""

    def check(found: Any) -> bool:
        return sorted(found) == sorted(wanted)

    return check


def read(entry: Any, path: str) -> Any:
    for name in path.split("."):
        entry = getattr(entry, name)
    return entry


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def is_dict(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_clean(text: str) -> bool:
    """Whether the text has no half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def json_form(value: object) -> Any:
    """The plain JSON of a value: tuples are lists, dataclasses are dicts."""
    if value is None or type(value) in {bool, int}:
        return value
    if type(value) is str:
        if not is_clean(value):
            raise TypeError("half a surrogate pair")
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, tuple) or is_list(value):
        return list(map(json_form, cast("list[object]", value)))
    if is_dict(value):
        if not all(type(key) is str for key in value):
            raise TypeError("a key is not text")
        return {json_form(key): json_form(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in dataclasses.fields(value)]
        return {name: json_form(getattr(value, name)) for name in names}
    raise TypeError(f"{value!r} is not JSON")


def same(a: object, b: object) -> bool:
    """Equal, and 1, 1.0 and True differ; the order of keys does not matter."""
    if is_dict(a) and is_dict(b):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if is_list(a) and is_list(b):
        return len(a) == len(b) and all(map(same, a, b))
    numbers = {bool, int, float}
    if type(a) in numbers or type(b) in numbers:
        return type(a) is type(b) and a == b
    return a == b
