"""Server-sent events on bytes."""

import random
from itertools import pairwise

import pytest

from actors.models._wire import Events

PLAIN = (
    b": a comment\n"
    b"event: first\n"
    b'data: {"a": 1}\n'
    b"\n"
    b"\n"
    b"id: 7\n"
    b"data:two\n"
    b"data:  lines\n"
    b"\n"
    b"retry: 10\n"
    b"\n" + 'data: {"text": "déjà vu 🎭"}\n\n'.encode() + b"data\n\ndata: unended\n"
)

WHOLE = [b'{"a": 1}', b"two\n lines", '{"text": "déjà vu 🎭"}'.encode()]


def read(*chunks: bytes) -> list[bytes]:
    events = Events()
    return [data for chunk in chunks for data in events.feed(chunk)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_events_are_the_same_wherever_the_bytes_are_parted(end: bytes) -> None:
    sent = PLAIN.replace(b"\n", end)
    assert read(sent) == WHOLE
    assert read(*(bytes([byte]) for byte in sent)) == WHOLE
    for at in range(len(sent)):
        assert read(sent[:at], sent[at:]) == WHOLE


def test_events_survive_any_cut_into_pieces() -> None:
    draw = random.Random(7)
    sent = PLAIN.replace(b"\n", b"\r\n")
    for _ in range(200):
        cuts = sorted(draw.sample(range(len(sent)), draw.randint(0, 12)))
        edges = [0, *cuts, len(sent)]
        pieces = [sent[a:b] for a, b in pairwise(edges)]
        assert read(*pieces) == WHOLE


def test_an_event_that_the_stream_breaks_off_is_never_told() -> None:
    assert read(b"data: whole\n\ndata: half\n") == [b"whole"]


def test_one_long_line_in_many_pieces_is_put_together_once() -> None:
    piece = b"x" * 1000
    events = Events()
    assert events.feed(b"data: ") == []
    for _ in range(2000):
        assert events.feed(piece) == []
    assert [len(data) for data in events.feed(b"\n\n")] == [2_000_000]
