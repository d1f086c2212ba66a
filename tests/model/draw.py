"""Random messages, calls, replies and results, drawn from one `Random`."""

from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

from protocol import (
    AudioBlock,
    ImageBlock,
    MediaRef,
    Message,
    ReasoningBlock,
    Reply,
    StoppedByLimit,
    StoppedByPermission,
    StoppedByUntil,
    TextBlock,
    ToolCall,
    ToolOutcomeKind,
    ToolResultBlock,
    Usage,
)

from .expected import is_dict, is_list

TEXTS = ("go", "and now?", "look again", "stop it", "ä ☃")
NAMES = ("search", "read", "write")
IMAGE = ImageBlock(media=MediaRef(kind="url", url="https://example.org/a.png"))
SOUND = AudioBlock(media=MediaRef(kind="url", url="https://example.org/a.ogg"))
OUTCOMES: tuple[ToolOutcomeKind, ...] = (
    "done",
    "done",
    "done",
    "error",
    "input_error",
    "denied",
    "cancelled",
    "interrupted",
    "aborted",
)
STOPS: tuple[Any, ...] = (
    None,
    StoppedByUntil("waiting_for_user"),
    StoppedByLimit(3),
    StoppedByPermission(ToolCall(id="a", name="search", args={}), "DenyByName"),
)
JSON_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    1.0,
    1.5,
    2**70,
    "",
    "text",
    [],
    [1, "two", None],
    {},
    {"b": [1, {"c": 2}], "a": 1.0},
    ("a", (1, 2)),
)
NOT_JSON: tuple[Any, ...] = (
    {1, 2},
    b"bytes",
    float("nan"),
    float("inf"),
    object(),
    datetime(2024, 1, 1, tzinfo=UTC),
    {1: "one"},
    [{"deep": {3}}],
    "lone \ud800",
)
WRONG_MESSAGES: tuple[Any, ...] = (
    "text",
    None,
    Message.assistant("no"),
    Message.text_message("no", role="system"),
    Message.user(""),
    Message(role="user", content=()),
    Message(role="user", content=(TextBlock(text="hear"), SOUND)),
    Message.user("lone \ud800"),
)


@dataclass
class Review:
    """An answer of a user's own class."""

    score: int
    notes: tuple[str, ...] = ()


class Draw:
    """Values for commands; each text and most ids are used once."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.serial = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def text(self) -> str:
        self.serial += 1
        return f"{self.random.choice(TEXTS)} {self.serial}"

    def usage(self) -> Usage:
        if self.chance(0.3):
            return Usage()
        draw = self.random.randrange
        # Quarters add up exactly, in whatever order they are added.
        cost = None if self.chance(0.1) else draw(8) / 4
        part = Usage(draw(50), draw(50), draw(9), draw(9), draw(1, 3), cost)
        if self.chance(0.3):
            return part
        model = self.random.choice(("fake/one", "fake/two"))
        return Usage(
            part.input_tokens,
            part.output_tokens,
            part.cache_read_tokens,
            part.cache_write_tokens,
            part.requests,
            part.cost,
            {model: part},
        )

    def message(self) -> Message:
        if self.chance(0.25):
            return Message.notice(self.text())
        if self.chance(0.03):
            return Message.user(" ")
        if self.chance(0.15):
            return Message.user("" if self.chance(0.5) else self.text(), IMAGE)
        return Message.user(self.text())

    def call(self) -> ToolCall:
        self.serial += 1
        ids = ("", "same", f"call-{self.serial}", f"call-{self.serial}")
        args = {"n": self.serial, "x": self.random.choice(JSON_VALUES)}
        name = self.random.choice(NAMES)
        return ToolCall(id=self.random.choice(ids), name=name, args=args)

    def reply(self) -> Reply:
        blocks: list[Any] = []
        if self.chance(0.2):
            blocks.append(ReasoningBlock(summary=self.text()))
        if self.chance(0.7):
            blocks.append(TextBlock(text=self.text()))
        if self.chance(0.6):
            blocks.extend(self.call() for _ in range(self.random.randint(1, 3)))
        tokens = None if self.chance(0.3) else self.random.randrange(1, 1000)
        reason = self.random.choice((None, "stop", "length", "max_tokens"))
        # A model may say it of the reply, of its message, or of both.
        message = Message(
            role="assistant",
            content=blocks,
            tokens=tokens if self.chance(0.5) else None,
            stop_reason=reason if self.chance(0.5) else None,
        )
        return Reply(
            message=message,
            usage=self.usage(),
            context_tokens=tokens,
            stop_reason=reason,
            model="fake/one",
        )

    def content(self) -> Any:
        """What a tool gave: text, or blocks where there is an image."""
        if self.chance(0.2):
            return (TextBlock(text=self.text()), IMAGE)
        return self.text()

    def result_of(self, call: ToolCall) -> dict[str, Any]:
        """The fields of a command that ends this call."""
        self.serial += 1
        return {
            "call": call,
            "content": self.content(),
            "outcome": self.random.choice(OUTCOMES),
            "child_ids": (f"child-{self.serial}",) if self.chance(0.2) else (),
            "usage": self.usage(),
        }

    def imported(self) -> list[Message]:
        """Messages of another conversation; call ids may come twice."""
        messages = [Message.text_message("be brief", role="system")]
        for _ in range(self.random.randrange(3)):
            messages.append(self.message())
            if self.chance(0.6):
                messages.extend(self._answered_call())
            messages.append(Message.assistant(self.text()))
        return messages if self.chance(0.5) else messages[1:]

    def _answered_call(self) -> tuple[Message, Message]:
        call = self.call()
        call = ToolCall(id=call.id or "same", name=call.name, args=call.args)
        block = ToolResultBlock(call_id=call.id, output=self.content(), name=call.name)
        said = Message(role="assistant", content=(call,), tokens=7)
        return said, Message.tool_message([block])


def thawed(value: object) -> Any:
    """The same JSON in plain dicts and lists."""
    if is_dict(value):
        return {key: thawed(item) for key, item in value.items()}
    if is_list(value):
        return list(map(thawed, value))
    return value


def change_data(data: dict[str, Any], way: str, key: str, value: Any) -> None:
    """One change of extra data; two copies changed this way are equal."""
    if way == "pop":
        data.pop(key, None)
    elif way == "inside" and isinstance(data.get("deep"), dict):
        data["deep"]["more"] = value
    else:
        data[key] = value
