"""Ids: unique, cheap, replaceable for messages."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from protocol import set_message_ids
from protocol._ids import check_state_id, new_id, new_message_id


@pytest.fixture(autouse=True)
def _own_ids_again() -> Iterator[None]:
    yield
    set_message_ids(None)


def test_ids_are_unique_across_threads() -> None:
    made: list[list[str]] = [[] for _ in range(4)]

    def make(into: list[str]) -> None:
        into.extend(new_id() for _ in range(2_000))

    threads = [threading.Thread(target=make, args=(into,)) for into in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each for ids in made for each in ids}) == 8_000


def test_an_id_is_a_legal_state_id() -> None:
    made = new_id()
    assert check_state_id(made) is made


def test_ids_of_one_process_share_their_64_random_bits() -> None:
    first, second = new_id(), new_id()
    assert first.partition("-")[0] == second.partition("-")[0]
    assert len(bytes.fromhex(first.partition("-")[0])) == 8


def test_a_forked_process_draws_its_own_bits() -> None:
    # In a fresh interpreter: a fork of pytest would take its threads' locks along.
    program = (
        "import os\n"
        "from protocol._ids import new_id\n"
        "reader, writer = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.write(writer, new_id().encode())\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "print(os.read(reader, 99).decode(), new_id())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    child, parent = done.stdout.split()
    assert child.partition("-")[0] != parent.partition("-")[0]


def test_making_an_id_makes_no_system_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_size: int) -> bytes:
        raise AssertionError("drew random bits again")

    monkeypatch.setattr(os, "urandom", refuse)
    assert new_id() != new_id()


def test_a_message_id_is_callboards_own_unless_a_generator_is_set() -> None:
    assert isinstance(new_message_id(), str)
    numbers = count(7)
    set_message_ids(lambda: next(numbers))
    assert [new_message_id(), new_message_id()] == [7, 8]
    set_message_ids(lambda: "m1")
    assert new_message_id() == "m1"


def test_a_generator_does_not_make_the_ids_of_states() -> None:
    set_message_ids(lambda: "m1")
    assert new_id() != "m1"


def test_none_goes_back_to_callboards_own_ids() -> None:
    set_message_ids(lambda: 1)
    set_message_ids(None)
    assert new_message_id() != 1


def test_a_generator_that_is_no_function_is_refused_and_the_former_stays() -> None:
    set_message_ids(lambda: 5)
    wrong: Any = "uuid4"
    with pytest.raises(TypeError, match="takes a function or None, not 'uuid4'"):
        set_message_ids(wrong)
    assert new_message_id() == 5


@pytest.mark.parametrize("wrong", [None, True, 1.5, b"x"])
def test_a_generated_id_that_is_no_str_or_int_is_refused(wrong: Any) -> None:
    set_message_ids(lambda: wrong)
    with pytest.raises(TypeError, match="has to return a str or an int"):
        new_message_id()


@pytest.mark.parametrize("good", ["a", "A-b_9", "-", "x" * 128])
def test_a_state_id_of_letters_digits_and_two_signs_is_returned(good: str) -> None:
    assert check_state_id(good) is good


@pytest.mark.parametrize("bad", ["", "a b", "ä", "a/b", "a.b", "a\n", "x" * 129, "٣"])
def test_a_state_id_with_anything_else_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="as a State id; use 1 to 128 letters") as told:
        check_state_id(bad)
    assert repr(bad) in str(told.value)


@pytest.mark.parametrize("bad", [None, 7, b"abc"])
def test_a_state_id_that_is_no_str_is_refused(bad: str) -> None:
    with pytest.raises(TypeError, match="a State id is a str, not"):
        check_state_id(bad)
