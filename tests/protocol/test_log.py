"""Logs that many views share: a naive list of lists must read the same."""

from random import Random
from typing import Any

import pytest

from protocol._log import EMPTY, NOTHING, TAKEN_OVER_MAX, Log, View
from tests.effort import instructions


def grown(items: str) -> View[str]:
    view: View[str] = NOTHING
    for item in items:
        view = view.append(item)
    return view


def test_a_view_reads_what_was_appended_to_it() -> None:
    view = grown("abc")
    assert view.read() == ("a", "b", "c")
    assert view.size == 3
    assert [view.log.at(index) for index in range(3)] == ["a", "b", "c"]


def test_an_earlier_view_never_changes() -> None:
    views = [grown("")]
    for item in "abc":
        views.append(views[-1].append(item))
    assert [view.read() for view in views] == [(), ("a",), ("a", "b"), ("a", "b", "c")]
    assert len({id(view.log) for view in views[1:]}) == 1


def test_nothing_is_ever_written_to_what_is_empty() -> None:
    assert grown("a").log is not EMPTY
    assert EMPTY.items == []
    assert NOTHING.branch() is NOTHING
    assert NOTHING.read() == ()


def test_an_append_behind_what_was_taken_back_starts_a_segment() -> None:
    view = grown("ab")
    taken_back = view.append("x")
    other = view.append("y")
    assert taken_back.read() == ("a", "b", "x")
    assert other.read() == ("a", "b", "y")
    assert other.log.parent is view.log


def test_a_branch_has_a_writer_of_its_own() -> None:
    view = grown("ab")
    branch = view.branch()
    assert branch.read() == view.read()
    assert branch.append("x").read() == ("a", "b", "x")
    assert view.append("y").read() == ("a", "b", "y")
    assert view.log.items == ["a", "b", "y"]


def test_a_branch_hangs_on_the_segment_that_holds_its_last_item() -> None:
    first = grown("abc")
    second = first.branch().append("d")
    assert second.log.branch(2).parent is first.log
    assert second.log.branch(4).parent is second.log
    assert second.log.branch(0).parent is None


def test_an_append_that_another_one_came_before_starts_a_segment() -> None:
    log: Log[Any] = Log()

    class Sly(list[Any]):
        """A list into which a signal handler appends first."""

        def append(self, item: Any) -> None:
            super().append("of the handler")
            super().append(item)

    log.items = Sly()
    found = log.append(0, "of the step")
    assert found is not log
    assert found.read(1) == ("of the step",)


def test_any_part_of_a_log_can_be_read() -> None:
    view = grown("abc").branch().append("d").branch().append("e").append("f")
    whole = "abcdef"
    for size in range(7):
        for start in range(size + 1):
            assert "".join(view.log.read(size, start)) == whole[start:size]
            assert "".join(view.log.iterate(size, start)) == whole[start:size]
            parts = view.log.parts(size, start)
            assert "".join("".join(part) for part in parts) == whole[start:size]


def test_a_beginning_is_known_where_segments_are_shared() -> None:
    first = grown("abc")
    branch = first.log.branch(2)
    other = branch.append(2, "x")
    assert other.begins_with(3, first.log, 2)
    assert not other.begins_with(3, first.log, 3)
    assert first.log.begins_with(3, other, 2)
    assert not first.log.begins_with(3, other, 3)
    assert not first.log.begins_with(2, first.log, 3)
    assert not first.log.begins_with(3, grown("abc").log, 3)
    assert first.log.begins_with(3, grown("abc").log, 0)


class Naive:
    """A list of its own for each view, with the keys its items brought."""

    def __init__(self, items: list[int], keys: dict[int, int]) -> None:
        self.items = items
        self.keys = keys


@pytest.mark.parametrize("seed", range(20))
def test_logs_read_as_lists_do(seed: int) -> None:
    random = Random(seed)
    views: list[tuple[View[int], Naive]] = [(NOTHING, Naive([], {}))]
    for number in range(150):
        view, naive = random.choice(views[-6:])
        if random.random() < 0.3:
            views.append((view.branch(), naive))
            continue
        keys = [random.randrange(40) for _ in range(random.randrange(4))]
        new = view.append(number)
        if keys:
            new.log.note(view.size, keys)
        known = dict(naive.keys)
        for key in keys:
            known.setdefault(key, view.size)
        views.append((new, Naive([*naive.items, number], known)))
    for view, naive in views:
        assert list(view.read()) == naive.items
        for index in range(view.size):
            assert view.log.at(index) == naive.items[index]
        for key in range(40):
            assert view.log.has(view.size, key) == (key in naive.keys)
            assert view.log.find(view.size, key) == naive.keys.get(key)
    for view, naive in views[::7]:
        for other, shorter in views[::5]:
            if view.log.begins_with(view.size, other.log, other.size):
                assert naive.items[: other.size] == shorter.items


def test_a_key_counts_from_the_item_that_brought_it_first() -> None:
    view = grown("abc")
    view.log.note(1, ["k"])
    view.log.note(2, ["k"])
    assert [view.log.has(size, "k") for size in range(4)] == [False, False, True, True]


def test_a_key_noted_behind_a_view_is_not_seen_by_its_branches() -> None:
    view = grown("ab")
    view.append("taken back").log.note(2, ["k"])
    branch = view.branch().append("c")
    branch.log.note(2, ["j"])
    assert not branch.log.has(3, "k")
    assert branch.log.has(3, "j")
    assert not view.log.has(2, "k")


def test_a_key_that_was_taken_back_counts_when_it_comes_again() -> None:
    view = grown("ab")
    view.append("taken back").log.note(2, ["k"])
    view.log.note(1, ["k"])
    assert view.log.has(2, "k")


@pytest.mark.parametrize("keys", [1, TAKEN_OVER_MAX, TAKEN_OVER_MAX + 1])
def test_keys_are_found_through_branches_of_branches(keys: int) -> None:
    view = NOTHING
    for number in range(50):
        view = view.append(number)
        view.log.note(number, [(number, each) for each in range(keys)])
        view = view.branch()
    for number in range(50):
        assert view.log.has(50, (number, keys - 1))
        assert view.log.find(50, (number, keys - 1)) == number
        assert not view.log.has(number, (number, keys - 1))
    assert not view.log.has(50, (50, 0))


def chain(length: int) -> View[int]:
    view: View[int] = NOTHING
    for number in range(length):
        view = view.append(number).branch()
    return view


def test_the_segment_of_an_item_is_found_in_few_steps() -> None:
    short, long = chain(64), chain(4096)
    for view in (short, long):
        assert all(view.log.at(index) == index for index in range(view.size))
    worst = max(instructions(lambda i=i: long.log.at(i)) for i in range(0, 4096, 64))
    assert worst < 2.5 * max(
        instructions(lambda i=i: short.log.at(i)) for i in range(64)
    )
