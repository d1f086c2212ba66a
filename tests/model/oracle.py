"""A naive model of a State: what each entry does, written only from the pages.

1. A value is lists and dicts, and the value after every entry is kept whole.
2. An entry either gives the next value or raises `CannotFollow`; never both.
3. Nothing here is shared with the fold it is compared with.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from protocol import Message, TextBlock, ToolCall, ToolResultBlock, Usage

IDLE, THINKING, CALLING = "idle", "thinking", "calling"
CLEARED = "(cleared: kept in history)"
NO_USAGE = Usage()


class CannotFollow(Exception):
    """The entry at `index` cannot follow the ones before it."""

    def __init__(self, index: int, kind: str, reason: str) -> None:
        super().__init__(f"entry {index} ({kind}): {reason}")
        self.index = index
        self.kind = kind


class Refused(Exception):
    """Inside one entry's rule: it cannot follow this value."""


@dataclass
class Value:
    """Everything a State is after some entries, in plain lists and dicts."""

    messages: list[Message] = field(default_factory=list[Message])
    held: list[Message] = field(default_factory=list[Message])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    results: dict[str, Any] = field(default_factory=dict[str, Any])
    waiting: list[Message] = field(default_factory=list[Message])
    taken_in: list[Message] = field(default_factory=list[Message])
    phase: str = IDLE
    turn: int = 0
    usage: Usage = NO_USAGE
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    finished: bool = False
    finish_answer: Any = None
    reply_text: str | None = None
    stopped: Any = None
    first_user: Message | None = None
    parent: tuple[str, str | None] | None = None
    begun: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    ended: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    questions: dict[str, str | None] = field(default_factory=dict[str, str | None])

    def copy(self) -> "Value":
        """The same value with lists and dicts of its own."""
        return replace(
            self,
            messages=list(self.messages),
            held=list(self.held),
            calls=list(self.calls),
            results=dict(self.results),
            waiting=list(self.waiting),
            taken_in=list(self.taken_in),
            extra=dict(self.extra),
            begun=list(self.begun),
            ended=list(self.ended),
            questions=dict(self.questions),
        )

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        return tuple(call for call in self.calls if call.id not in self.results)

    @property
    def answer(self) -> Any:
        if self.finish_answer is not None:
            return self.finish_answer
        return self.reply_text

    @property
    def waiting_for_user(self) -> bool:
        if self.pending or self.held or not self.messages:
            return False
        last = self.messages[-1]
        return last.role == "assistant" and not last.tool_calls


def fold(entries: Iterable[Any]) -> list[Value]:
    """The value before any entry and after each of them."""
    values = [Value()]
    for entry in entries:
        values.append(after(values, entry))
    return values


def after(values: list[Value], entry: Any) -> Value:
    """The value once `entry` follows the entries that gave `values`."""
    value = values[-1].copy()
    try:
        if entry.kind == "context_change":
            change = entry.content
            if change.kind == "restore":
                return restored(values, change)
            CHANGES[change.kind](value, change, entry)
        else:
            _effect_of(entry.kind)(value, entry)
    except Refused as refused:
        raise CannotFollow(len(values) - 1, entry.kind, str(refused)) from None
    return value


def _effect_of(kind: str) -> "Effect":
    if kind not in EFFECTS:
        raise Refused("a kind of a newer version")
    return EFFECTS[kind]


def _message(value: Value, entry: Any) -> None:
    if entry.kind == "user" and value.first_user is None:
        value.first_user = entry.message
    if value.phase == IDLE:
        value.messages.append(entry.message)
    else:
        value.held.append(entry.message)


def _model_request(value: Value, entry: Any) -> None:
    if value.phase != IDLE:
        raise Refused("a turn is open")
    value.messages.extend(value.waiting)
    value.taken_in = value.waiting
    value.waiting = []
    value.turn += 1
    value.phase = THINKING


def _model_reply(value: Value, entry: Any) -> None:
    if value.phase != THINKING:
        raise Refused("no request waits")
    reply = entry.content
    value.usage = value.usage + reply.usage
    value.messages.append(reply.message)
    value.taken_in = []
    if reply.message.tool_calls:
        value.calls = list(reply.message.tool_calls)
        value.results = {}
        value.phase = CALLING
        return
    text = reply.message.text()
    if text or not reply.cut_off:
        value.reply_text = text
    let_in(value)


def _error(value: Value, entry: Any) -> None:
    if value.phase != THINKING or entry.call is not None:
        return
    value.turn -= 1
    value.messages = [
        message
        for message in value.messages
        if not any(message is notice for notice in value.taken_in)
    ]
    value.waiting = value.taken_in + value.waiting
    value.taken_in = []
    let_in(value)


def let_in(value: Value) -> None:
    """The turn is over: the held messages go in, once, in order."""
    value.messages.extend(value.held)
    value.held = []
    value.phase = IDLE


def _tool_result(value: Value, entry: Any) -> None:
    if entry.late:
        value.usage = value.usage + entry.usage
        value.waiting.append(late_notice(entry))
        return
    if entry.call.id not in [call.id for call in value.pending]:
        raise Refused("it names no open call")
    value.usage = value.usage + entry.usage
    value.results[entry.call.id] = entry
    # Nobody needs to be asked about a call that has its result.
    asked = value.questions
    value.questions = {q: call for q, call in asked.items() if call != entry.call.id}
    if value.pending:
        return
    blocks = [result_block(value.results[call.id]) for call in value.calls]
    value.messages.append(Message(role="tool", content=blocks))
    value.calls, value.results = [], {}
    # What its calls asked is settled with the turn.
    value.questions = {}
    let_in(value)


def result_block(entry: Any) -> ToolResultBlock:
    """The block of the tool message that shows this result to the model."""
    return ToolResultBlock(
        call_id=entry.call.id,
        output=entry.content,
        name=entry.call.name,
        is_error=entry.is_error,
        status="failed" if entry.is_error else "completed",
    )


def late_notice(entry: Any) -> Message:
    """What the model is told about a call that went on after its end."""
    text = words(entry.content)
    return Message.notice(f"interrupted {entry.call.name} finished later: {text}")


def words(content: Any) -> str:
    """Text or blocks as words; what is not text is named in brackets."""
    blocks = [TextBlock(text=content)] if isinstance(content, str) else content
    return "".join(b.text if b.type == "text" else f"[{b.type}]" for b in blocks)


def _call_start(value: Value, entry: Any) -> None:
    if entry.call.id not in [call.id for call in value.pending]:
        raise Refused("it names no open call")


def _child_start(value: Value, entry: Any) -> None:
    value.begun.append((entry.content.child_id, entry.content.since))


def _child_end(value: Value, entry: Any) -> None:
    end = entry.content
    if (end.child_id, end.since) in value.ended:
        return
    value.ended.append((end.child_id, end.since))
    value.usage = value.usage + entry.usage
    said = f"{end.name} ({end.child_id}) ended, {end.outcome}: {words(end.text)}"
    value.waiting.append(Message.notice(said))


def _question(value: Value, entry: Any) -> None:
    if entry.content.id in value.questions:
        raise Refused("it is open already")
    call = entry.content.call
    value.questions[entry.content.id] = None if call is None else call.id


def _answer(value: Value, entry: Any) -> None:
    if entry.content.question_id not in value.questions:
        raise Refused("it is not open")
    del value.questions[entry.content.question_id]


def _usage_only(value: Value, entry: Any) -> None:
    value.usage = value.usage + entry.usage


def _nothing(value: Value, entry: Any) -> None:
    """For readers of the history; no value changes."""


def _run_start(value: Value, entry: Any) -> None:
    value.stopped = None
    if value.parent is None and entry.parent_id is not None:
        value.parent = (entry.parent_id, entry.parent_call_id)


def _stop(value: Value, entry: Any) -> None:
    value.stopped = entry.content
    if type(entry.content).__name__ == "StoppedByFinish":
        value.finished = True
        if entry.content.answer is not None:
            value.finish_answer = entry.content.answer


def _extra_data(value: Value, entry: Any) -> None:
    for key in entry.removed:
        value.extra.pop(key, None)
    value.extra.update(entry.content)


def _import(value: Value, change: Any, entry: Any) -> None:
    if value.phase != IDLE:
        raise Refused("a turn is open")
    value.messages.extend(change.messages)
    for message in change.messages:
        if value.first_user is None and message.role == "user":
            if not message.is_notice:
                value.first_user = message


def _compact(value: Value, change: Any, entry: Any) -> None:
    if value.pending:
        raise Refused("calls are pending")
    if not change.summary or not change.summary.strip():
        raise Refused("no summary")
    # Held messages go in once, when the phase ends: the first user message too.
    held = any(message is value.first_user for message in value.held)
    first = [] if value.first_user is None or held else [value.first_user]
    kept = value.messages[-change.kept :] if change.kept else []
    # The first user message stands in front already.
    kept = [message for message in kept if message is not value.first_user]
    value.messages = [*first, Message.notice(change.summary), *kept]
    value.usage = value.usage + change.usage


def _clear_tool_results(value: Value, change: Any, entry: Any) -> None:
    value.messages = cleared(value.messages, change.cleared)


def cleared(messages: list[Message], call_ids: Iterable[str]) -> list[Message]:
    """The messages with results blanked, and without token anchors.

    Each id blanks the oldest result of that call that does not read cleared yet.
    """
    blank: set[tuple[int, int]] = set()
    for call_id in call_ids:
        places = [
            (m, b)
            for m, b, block in results_in(messages)
            if block.call_id == call_id
            and block.output != CLEARED
            and (m, b) not in blank
        ]
        if not places:
            raise Refused(f"no result of {call_id!r} is left to clear")
        blank.add(places[0])
    return [
        _without_anchor(
            message,
            [
                msgspec.structs.replace(block, output=CLEARED, has_blocks=False)
                if (m, b) in blank
                else block
                for b, block in enumerate(message.content)
            ],
        )
        for m, message in enumerate(messages)
    ]


def _without_anchor(message: Message, content: list[Any]) -> Message:
    if message.tokens is None and content == list(message.content):
        return message
    return msgspec.structs.replace(message, content=tuple(content), tokens=None)


def results_in(messages: list[Message]) -> list[tuple[int, int, ToolResultBlock]]:
    """All result blocks with their places, oldest first."""
    return [
        (m, b, block)
        for m, message in enumerate(messages)
        for b, block in enumerate(message.content)
        if isinstance(block, ToolResultBlock)
    ]


def restored(values: list[Value], change: Any) -> Value:
    size: int = change.restored_to
    if not 0 <= size < len(values):
        raise Refused("it goes back to what never was")
    if values[-1].phase != IDLE or values[size].phase != IDLE:
        raise Refused("a turn is open, now or then")
    value = values[size].copy()
    value.usage = values[-1].usage
    value.parent = values[-1].parent
    # What a child did is not undone: its end comes once, and its usage is counted.
    value.begun = values[-1].begun
    value.ended = values[-1].ended
    return value


Effect = Callable[[Value, Any], None]

EFFECTS: dict[str, Effect] = {
    "user": _message,
    "notice": _message,
    "model_request": _model_request,
    "model_reply": _model_reply,
    "model_event": _nothing,
    "tool_result": _tool_result,
    "ask": _usage_only,
    "human": _usage_only,
    "run_start": _run_start,
    "stop": _stop,
    "extra_data": _extra_data,
    "error": _error,
    "call_start": _call_start,
    "child_start": _child_start,
    "child_end": _child_end,
    "question": _question,
    "answer": _answer,
}

CHANGES: dict[str, Callable[[Value, Any, Any], None]] = {
    "import": _import,
    "compact": _compact,
    "clear_tool_results": _clear_tool_results,
}
