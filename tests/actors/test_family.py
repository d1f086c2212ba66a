"""Children of a State: the very object while it lives here, else from the store."""

from typing import Any

import pytest

from actors import Message, State
from actors._inside import adopt_child, bind
from protocol._commands import EndChild
from protocol._work_entries import ChildEnd
from tests.turns import call, close, send, think


class Shelf:
    """A store with these States, read anew at each call."""

    def __init__(self, *states: State) -> None:
        self.histories = {state.id: state.history for state in states}

    def load(self, state_id: str) -> State:
        if state_id not in self.histories:
            raise LookupError(f"no State {state_id!r} here")
        return State(id=state_id, history=self.histories[state_id])

    async def aload(self, state_id: str) -> State:
        return self.load(state_id)


class AsyncShelf(Shelf):
    """One that works only asynchronously."""

    def load(self, state_id: str) -> State:
        raise TypeError("this store works only asynchronously: use achild")

    async def aload(self, state_id: str) -> State:
        return super().load(state_id)


CHILD = State(id="child", messages=[Message.user("look it up")])


def parent(*child_ids: str) -> State:
    state = State(messages=[Message.user("x")])
    think(state, call("a"))
    close(state, call("a"), child_ids=child_ids)
    return state


async def open_both(state: State, child_id: str) -> tuple[State, State]:
    return state.child(child_id), await state.achild(child_id)


async def test_a_child_that_lives_here_is_the_very_object() -> None:
    state = parent("child")
    adopt_child(state, CHILD)
    assert await open_both(state, "child") == (CHILD, CHILD)


async def test_a_child_that_does_not_live_here_is_loaded_anew_at_each_call() -> None:
    state = parent("child")
    bind(state, Shelf(CHILD))
    first, second = await open_both(state, "child")
    assert first is not second
    assert first.snapshot() == second.snapshot() == CHILD.snapshot()


async def refused(state: State, child_id: str, error: Any, text: str) -> None:
    before = state.snapshot()
    with pytest.raises(error, match=text):
        state.child(child_id)
    with pytest.raises(error, match=text):
        await state.achild(child_id)
    assert state.snapshot() == before


async def test_what_is_no_child_is_a_key_error() -> None:
    state = parent("child")
    bind(state, Shelf(CHILD))
    await refused(state, "stranger", KeyError, "not a child")
    await refused(State(), "child", KeyError, "not a child")


async def test_a_grandchild_is_no_child() -> None:
    child, state = parent("grandchild"), parent("child")
    adopt_child(state, child)
    await refused(state, "grandchild", KeyError, "grandchild is")


async def test_a_child_that_is_nowhere_to_be_found_is_a_value_error() -> None:
    await refused(parent("child"), "child", ValueError, "no store is bound")
    state = parent("child", "other")
    adopt_child(state, CHILD)
    await refused(state, "other", ValueError, "no store is bound")


async def test_a_child_that_the_store_lacks_is_a_lookup_error() -> None:
    state = parent("child")
    bind(state, Shelf())
    await refused(state, "child", LookupError, "no State 'child' here")


async def test_a_store_that_works_only_asynchronously_needs_achild() -> None:
    state = parent("child")
    bind(state, AsyncShelf(CHILD))
    with pytest.raises(TypeError, match="achild"):
        state.child("child")
    assert (await state.achild("child")).snapshot() == CHILD.snapshot()


async def test_a_fork_opens_the_children_that_its_original_had() -> None:
    state = parent("child", "stored")
    adopt_child(state, CHILD)
    bind(state, Shelf(State(id="stored")))
    copy = state.fork()
    assert copy.child("child") is CHILD
    assert (await copy.achild("stored")).id == "stored"
    later = State(id="later")
    adopt_child(state, later)
    await refused(copy, "later", KeyError, "not a child")


async def test_a_background_child_that_ended_is_a_child() -> None:
    state = State()
    end = ChildEnd(child_id="child", name="helper", outcome="done", text="ok")
    send(state, EndChild(end))
    bind(state, Shelf(CHILD))
    assert state.child("child").snapshot() == CHILD.snapshot()
    with pytest.raises(KeyError):
        state.child("other")
