"""Values as a person reads them."""

import pytest

from actors import TextBlock, ToolCall, Usage
from actors.people._shown import (
    call_text,
    clean,
    content_text,
    count_text,
    one_line,
    time_text,
    usage_text,
)


def test_a_terminal_obeys_nothing_that_is_shown() -> None:
    assert clean("a\x1b[2Jb\x07\x9b1m") == "a�[2Jb��1m"
    assert clean("\u202ereversed\u2066") == "�reversed�"
    assert clean("two\r\nlines\tand a tab") == "two\nlines\tand a tab"


def test_a_line_is_one_line_and_short() -> None:
    assert one_line(" a\n\tb  c ") == "a b c"
    assert one_line("x" * 300) == "x" * 199 + "…"
    assert one_line("x" * 200) == "x" * 200


def test_a_call_reads_as_one_would_write_it() -> None:
    call = ToolCall(id="1", name="read", args={"path": "a", "lines": [1, 2]})
    assert call_text(call) == "read(path='a', lines=[1, 2])"
    assert call_text(call, 8) == "read(path='a'… (22 characters))"
    assert call_text(ToolCall(id="1", name="now")) == "now()"


def test_content_is_its_text_and_the_types_of_the_rest() -> None:
    assert content_text("text") == "text"
    call = ToolCall(id="1", name="now")
    assert content_text((TextBlock(text="a"), call)) == "a [tool_call]"


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (12_345, "12k"), (1_200_000, "1.2M")],
)
def test_a_count_takes_few_characters(count: int, text: str) -> None:
    assert count_text(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (67.9, "1:07"), (3723, "1:02:03")]
)
def test_a_time_reads_as_a_clock(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def test_usage_leaves_out_a_cost_that_is_unknown() -> None:
    known = Usage(input_tokens=1500, requests=1, cost=0.0021)
    assert usage_text(known) == "1 request · 1.5k tokens · $0.0021"
    dear = Usage(requests=2000, cost=1234.5)
    assert usage_text(dear) == "2,000 requests · 0 tokens · $1,234.50"
    assert usage_text(Usage(requests=2, cost=None)) == "2 requests · 0 tokens"
