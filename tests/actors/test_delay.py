"""How much longer replies take than they need to."""

import random

import pytest

from actors import Message, Reply, Usage
from actors._delay import Delay, middle_of, size_of


def reply(text: str = "", **counts: int) -> Reply:
    usage = Usage(requests=1, **counts)
    return Reply(message=Message.assistant(text), usage=usage)


def learnt(size: int = 7, took_s: float = 1.0) -> Delay:
    delay = Delay()
    for _ in range(16):
        delay.add(size, took_s, counts=False)
    return delay


def test_replies_of_like_counts_are_of_one_size() -> None:
    size = size_of(reply(input_tokens=1100, output_tokens=70))
    assert size == size_of(reply(input_tokens=1900, output_tokens=120))
    assert size != size_of(reply(input_tokens=1100, output_tokens=140))
    assert size != size_of(reply(input_tokens=2200, output_tokens=70))


def test_what_the_provider_had_in_its_cache_makes_a_request_no_larger() -> None:
    plain = size_of(reply(input_tokens=100, output_tokens=9))
    cached = reply(input_tokens=100, output_tokens=9, cache_read_tokens=100_000)
    written = reply(input_tokens=100, output_tokens=9, cache_write_tokens=100_000)
    assert size_of(cached) == plain != size_of(written)


def test_a_reply_without_counts_is_sized_by_its_text_or_not_at_all() -> None:
    assert size_of(reply("so many letters")) > 0
    assert size_of(reply()) == 0


def test_nothing_is_said_before_there_is_something_to_compare() -> None:
    delay = Delay()
    for _ in range(16):
        delay.add(7, 1.0, counts=True)
    for _ in range(63):
        delay.add(7, 3.0, counts=True)
    assert delay.stretch() is None
    delay.add(7, 3.0, counts=True)
    assert delay.stretch() == 3.0
    delay.begin()
    assert delay.stretch() is None


def test_only_what_counts_is_compared() -> None:
    delay = learnt()
    for number in range(200):
        delay.add(7, 4.0, counts=number >= 100)
    assert delay.stretch() == 4.0
    old = learnt()
    for _ in range(200):
        old.add(7, 4.0, counts=False)
    assert old.stretch() is None


def test_longer_replies_take_no_longer_than_they_need() -> None:
    draw = random.Random(3)
    delay = Delay()
    for _ in range(4000):
        written = int(draw.lognormvariate(5, 1)) + 1
        took_s = (0.3 + written * 0.02) * draw.lognormvariate(0, 0.3)
        delay.add(written.bit_length(), took_s, counts=True)
    assert 1.0 <= (delay.stretch() or 0.0) < 1.5


def test_one_quick_reply_proves_nothing() -> None:
    delay = learnt()
    delay.add(7, 0.001, counts=False)
    for _ in range(100):
        delay.add(7, 1.0, counts=True)
    assert delay.stretch() == 1.0


def test_the_least_is_the_least_middle_of_a_batch() -> None:
    delay = learnt(took_s=2.0)
    for _ in range(32):
        delay.add(7, 1.0, counts=False)
    for _ in range(64):
        delay.add(7, 3.0, counts=True)
    assert delay.stretch() == 3.0


def test_what_was_learned_can_be_forgotten() -> None:
    delay = learnt()
    delay.forget()
    for _ in range(16 + 64):
        delay.add(7, 5.0, counts=True)
    assert delay.stretch() == pytest.approx(1.0)


def test_the_middle_minds_no_stray_values() -> None:
    assert middle_of([1.0] * 6 + [1000.0]) == 1.0
    assert middle_of([0.0, 2.0, 3.0, 1000.0]) == 2.5
    assert middle_of([7.0]) == 7.0
