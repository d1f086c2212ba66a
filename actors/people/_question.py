"""Questions in words, and what an answer means."""

from collections.abc import Mapping
from typing import Any, cast

import attrs
import msgspec

from protocol import Question, ToolCall
from protocol._json import FrozenDict, freeze
from protocol._turn_rules import check_approval

from ._shown import call_text

APPROVAL: FrozenDict[str, Any] = freeze(
    {"type": ["string", "boolean"], "examples": ["yes", "always", "no"]}
)
"""The schema of an answer that decides about a call."""


@attrs.frozen
class Approval:
    """What a human's answer means for the call that asked."""

    allowed: bool
    always: bool = False
    """Whether later calls of the tool in this tree are allowed with it."""
    reason: str = "a human said no"
    """What the model reads when the call is denied."""


def approval_of(answer: object) -> Approval:
    """Read the answer to an approval.

    Raises:
        ValueError: it is neither text nor a bool.
    """
    check_approval(answer)
    if isinstance(answer, bool):
        return Approval(answer)
    reason = str(answer).strip()
    match reason.lower():
        case "yes" | "y":
            return Approval(True)
        case "always":
            return Approval(True, always=True)
        case "no" | "n" | "":
            return Approval(False)
        case _:
            return Approval(False, reason=reason)


def approval_prompt(call: ToolCall) -> str:
    """Ask in words whether a call may run; long arguments are shown in part."""
    return f"Allow {call_text(call)}?"


def read_line(question: Question, line: str) -> Any:
    """Turn a line that a person typed into an answer of the type asked for.

    Raises:
        ValueError: it is none; the text says what is wanted.
    """
    schema = _schema_of(question)
    text = line.strip()
    if not schema:
        return text
    if "enum" in schema:
        return _one_of(list(schema["enum"]), text)
    kinds = schema.get("type", "object")
    if "string" in kinds:  # the one kind, or one of a list of them
        return text
    if kinds == "boolean":
        return _yes_or_no(text)
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise ValueError(f"type a JSON {kinds}") from None


def _schema_of(question: Question) -> Mapping[str, Any]:
    """The schema, empty when any text will do: a schema may also be a bool."""
    schema: Any = question.returns
    return cast("Mapping[str, Any]", schema) if isinstance(schema, Mapping) else {}


def _one_of(choices: list[Any], text: str) -> Any:
    for choice in choices:
        if text == str(choice):
            return choice
    raise ValueError(f"type one of {', '.join(map(str, choices))}")


def _yes_or_no(text: str) -> bool:
    match text.lower():
        case "yes" | "y" | "true":
            return True
        case "no" | "n" | "false":
            return False
        case _:
            raise ValueError("type yes or no")


def choices_of(question: Question) -> tuple[str, ...]:
    """Answers to show beside the question, for a person to pick from."""
    schema = _schema_of(question)
    if schema.get("type") == "boolean":
        return ("yes", "no")
    return tuple(map(str, schema.get("enum") or schema.get("examples") or ()))
