"""Questions in words, and what is typed as an answer."""

from typing import Any

import pytest

from actors import Question, ToolCall
from actors.people._question import (
    APPROVAL,
    Approval,
    approval_of,
    approval_prompt,
    choices_of,
    read_line,
)


def question(returns: Any = None) -> Question:
    return Question(id="1", state_id="s", prompt="Well?", returns=returns)


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        (True, Approval(True)),
        ("yes", Approval(True)),
        (" Y ", Approval(True)),
        ("always", Approval(True, always=True)),
        (False, Approval(False)),
        ("no", Approval(False)),
        ("", Approval(False)),
        ("use the copy ", Approval(False, reason="use the copy")),
    ],
)
def test_an_approval_is_read_from_a_bool_or_from_words(
    answer: object, meaning: Approval
) -> None:
    assert approval_of(answer) == meaning


@pytest.mark.parametrize("answer", [None, 1, ["yes"], {"allowed": True}])
def test_anything_else_is_no_approval(answer: object) -> None:
    with pytest.raises(ValueError, match="answered with 'yes', 'always', 'no'"):
        approval_of(answer)


def test_a_prompt_shows_the_call_and_says_what_it_leaves_out() -> None:
    call = ToolCall(id="1", name="write", args={"path": "a", "lines": [1, {"b": None}]})
    assert approval_prompt(call) == "Allow write(path='a', lines=[1, {'b': None}])?"
    long = ToolCall(id="1", name="write", args={"text": "x" * 5000})
    assert approval_prompt(long).endswith("xxx… (5,007 characters))?")
    assert len(approval_prompt(long)) < 450


def test_a_prompt_has_nothing_that_a_terminal_would_obey() -> None:
    call = ToolCall(id="1", name="a\x1b[2Kb", args={"\u202egnp": "\x1b[31m"})
    assert approval_prompt(call) == "Allow a�[2Kb(�gnp='\\x1b[31m')?"


@pytest.mark.parametrize(
    ("schema", "line", "answer"),
    [
        (None, " any text \n", "any text"),
        (True, "any text\n", "any text"),
        ({"type": "string"}, "7\n", "7"),
        (APPROVAL, "always\n", "always"),
        ({"type": "boolean"}, "Yes\n", True),
        ({"type": "boolean"}, "n\n", False),
        ({"type": "integer"}, "7\n", 7),
        ({"type": "array"}, '["a", 1]\n', ["a", 1]),
        ({"anyOf": [{"type": "integer"}]}, "7\n", 7),
        ({"enum": ["red", 3]}, "3\n", 3),
    ],
)
def test_a_typed_line_becomes_an_answer_of_its_type(
    schema: Any, line: str, answer: object
) -> None:
    read = read_line(question(schema), line)
    assert read == answer
    assert type(read) is type(answer)


@pytest.mark.parametrize(
    ("schema", "line", "wanted"),
    [
        ({"type": "boolean"}, "perhaps", "type yes or no"),
        ({"type": "integer"}, "seven", "type a JSON integer"),
        ({"enum": ["red", 3]}, "blue", "type one of red, 3"),
    ],
)
def test_a_line_that_does_not_fit_is_refused_with_what_is_wanted(
    schema: Any, line: str, wanted: str
) -> None:
    with pytest.raises(ValueError, match=wanted):
        read_line(question(schema), line)


def test_choices_are_shown_where_the_schema_names_some() -> None:
    assert choices_of(question()) == ()
    assert choices_of(question(APPROVAL)) == ("yes", "always", "no")
    assert choices_of(question({"type": "boolean"})) == ("yes", "no")
    assert choices_of(question({"enum": ["red", 3]})) == ("red", "3")
