"""Content that a provider cannot take, told in words."""

import pytest

from actors import ImageBlock, MediaRef, ToolCall
from actors.models._words import data_url, in_words, split_data_url, wire_id
from protocol import (
    AudioBlock,
    ContentBlock,
    DataBlock,
    DocumentBlock,
    ErrorBlock,
    ReasoningBlock,
)

HERE = MediaRef(kind="data", data_base64="AA==")


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (ErrorBlock(message="no disk"), "error: no disk"),
        (DocumentBlock(excerpt="only this"), "only this"),
        (AudioBlock(media=HERE, transcript="he says"), "he says"),
        (AudioBlock(media=HERE), "[audio that cannot be shown here]"),
        (ImageBlock(media=HERE, alt_text="a cat"), "[image: a cat]"),
        (DataBlock(mime_type="a/b"), "[data of type a/b that cannot be shown here]"),
        (ReasoningBlock(summary="hm"), ""),
        (ToolCall(id="a", name="read"), ""),
        (
            DocumentBlock(media=MediaRef(url="data:text/plain;base64,AA==")),
            "[document that cannot be shown here]",
        ),
        (DocumentBlock(), "[document that cannot be shown here]"),
    ],
)
def test_a_block_says_what_it_is(block: ContentBlock, words: str) -> None:
    assert in_words(block) == words


def test_addresses_are_made_of_what_is_there() -> None:
    assert data_url(HERE, "image/png") == "data:image/png;base64,AA=="
    assert data_url(MediaRef(url="https://x"), "image/png") == "https://x"
    assert data_url(MediaRef(kind="file_id", file_id="f"), "image/png") is None


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("data:image/gif;base64,AA==", ("image/gif", "AA==")),
        ("data:text/plain,hello", None),
        ("https://x/a,b", None),
        ("data:image/gif;base64", None),
    ],
)
def test_an_address_that_holds_its_bytes_is_taken_apart(
    url: str, parts: tuple[str, str] | None
) -> None:
    assert split_data_url(url) == parts


def test_an_id_is_replaced_only_where_it_must_be() -> None:
    assert wire_id("call_9-Z") == "call_9-Z"
    made = {wire_id(each) for each in ("", "a b", "a:b", "ü", "x" * 41)}
    assert len(made) == 5
    assert all(wire_id(each) == each for each in made)
