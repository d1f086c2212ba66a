from actors import MemoryStore, Message, Record, State
from actors._inside import send
from actors.report._tree import TEXT_CHARACTERS_MAX, read_rows
from protocol import StoreDamaged, ToolCall, Usage
from protocol._commands import (
    CloseCall,
    EndChild,
    NoteExchange,
    NoteStart,
    Receive,
    Request,
    StartRun,
)
from protocol._entries import AgentInfo, Exchange, Reply
from protocol._work_entries import ChildEnd


def ran(state_id: str, parent: str | None = None, prompt: str = "Go") -> State:
    state = State(id=state_id, messages=[Message.user(prompt)])
    send(state, StartRun(AgentInfo(name="clerk"), parent, None))
    return state


def calling(state_id: str) -> tuple[State, ToolCall]:
    state, call = ran(state_id), ToolCall(id="c1", name="clerk", args={"prompt": "x"})
    send(state, Request("fake/m"))
    send(state, Receive(Reply(message=Message(role="assistant", content=(call,)))))
    send(state, NoteStart(call, "key"))
    return state, call


def kept(*states: State) -> MemoryStore:
    store = MemoryStore()
    for state in states:
        store.save(state)
    return store


def test_rows_come_parents_first_and_know_their_place() -> None:
    top, call = calling("top")
    send(top, CloseCall(call, "", "done", None, ("left", "right")))
    store = kept(top, ran("left", "top"), ran("right", "top"), ran("other"))
    rows = list(read_rows(store, ["top", "other"]))
    assert [(row.id, row.parent) for row in rows] == [
        ("top", None),
        ("left", 0),
        ("right", 0),
        ("other", None),
    ]


def test_a_child_whose_call_was_never_closed_is_found() -> None:
    top, _ = calling("top")
    rows = list(read_rows(kept(top, ran("below", "top")), ["top"]))
    assert [(row.id, row.status) for row in rows] == [
        ("top", "cut off"),
        ("below", "cut off"),
    ]
    assert [span.outcome for span in rows[0].spans] == ["done", "open"]


def test_a_chain_of_1000_levels_is_read() -> None:
    states: list[State] = []
    for level in range(1_000):
        state, call = calling(f"s{level}")
        send(state, CloseCall(call, "", "done", None, (f"s{level + 1}",)))
        states.append(state)
    rows = list(read_rows(kept(*states), ["s0"]))
    assert len(rows) == 1_001
    last = rows[-1]
    assert (last.id, last.parent, last.status) == ("s1000", 999, "missing")


class Damaged(MemoryStore):
    """A store in which one State is damaged."""

    def read(self, state_id: str) -> Record | None:
        if state_id == "a":
            raise StoreDamaged("State 'a' is damaged at record 3")
        return super().read(state_id)


def test_a_damaged_state_has_a_row_and_hides_no_other() -> None:
    store = Damaged()
    for name in ("a", "b"):
        store.save(ran(name))
    first, second = read_rows(store, ["a", "b"])
    assert (first.status, first.why) == ("damaged", "State 'a' is damaged at record 3")
    assert second.status == "cut off"


def test_children_that_ran_in_the_background_are_there() -> None:
    top = ran("top")
    end = ChildEnd(child_id="below", name="clerk", outcome="cancelled")
    send(top, EndChild(end))
    rows = list(read_rows(kept(top, ran("below", "top")), ["top"]))
    assert [(row.id, row.status) for row in rows][1] == ("below", "cancelled")


def test_what_side_questions_used_is_counted() -> None:
    state = ran("a")
    usage = Usage(input_tokens=3, requests=1).for_model("fake/m")
    send(state, NoteExchange("ask", Exchange(question="Who?", answer="I"), usage))
    (row,) = read_rows(kept(state), ["a"])
    assert row.own == {"fake/m": usage}


def test_long_texts_are_cut_and_say_how_much_is_left_out() -> None:
    state = ran("a")
    state.add_message(Message.user("x" * (TEXT_CHARACTERS_MAX + 5)))
    (row,) = read_rows(kept(state), ["a"])
    assert row.lines[-1].text.endswith("x… (5 more characters)")


def test_the_arguments_of_calls_are_shown() -> None:
    state, _ = calling("a")
    (row,) = read_rows(kept(state), ["a"])
    assert "→ clerk {'prompt': 'x'}" in [line.text for line in row.lines]
