from typing import Any

import msgspec
import pytest

from protocol import END, START, ExecMeta, ExecutionState, FrozenDict

PAUSED = ExecMeta(status="running", current_node="A").set_interrupt(
    "A", "needs a yes", "interrupted_after", {"amount": 5}
)


def test_a_fresh_one_is_ready_at_the_start() -> None:
    meta = ExecMeta()
    assert (meta.status, meta.current_node, meta.step) == ("ready", START, 0)
    assert meta.stop_current_execution == "none"
    assert not meta.is_running()
    assert not meta.is_interrupted()
    assert START != END


def test_execution_state_is_the_same_class() -> None:
    assert ExecutionState is ExecMeta


@pytest.mark.parametrize(
    ("status", "running", "interrupted"),
    [
        ("ready", False, False),
        ("running", True, False),
        ("interrupted_before", False, True),
        ("interrupted_after", False, True),
        ("completed", False, False),
        ("error", False, False),
    ],
)
def test_each_status_says_whether_it_runs_or_waits(
    status: Any, running: bool, interrupted: bool
) -> None:
    meta = ExecMeta(status=status)
    assert (meta.is_running(), meta.is_interrupted()) == (running, interrupted)


@pytest.mark.parametrize(
    ("stop", "requested"),
    [("none", False), ("stop_requested", True), ("stopped", False)],
)
def test_a_stop_is_requested_until_it_has_taken_place(
    stop: Any, requested: bool
) -> None:
    assert ExecMeta(stop_current_execution=stop).is_stopped_requested() is requested


def test_steps_and_nodes_give_a_new_one_and_leave_the_old() -> None:
    old = ExecMeta(thread_id="t")
    new = old.advance_step().advance_step().set_current_node("B")
    assert (new.step, new.current_node, new.thread_id) == (2, "B", "t")
    assert old == ExecMeta(thread_id="t")


def test_an_interrupt_says_where_and_why_until_it_is_cleared() -> None:
    assert PAUSED.interrupted_node == "A"
    assert PAUSED.interrupt_reason == "needs a yes"
    assert PAUSED.interrupt_data == {"amount": 5}
    assert type(PAUSED.interrupt_data) is FrozenDict
    cleared = PAUSED.clear_interrupt()
    assert cleared == ExecMeta(status="running", current_node="A")


def test_an_interrupt_is_before_its_node_unless_said_otherwise() -> None:
    assert ExecMeta().set_interrupt("A").status == "interrupted_before"


def test_completing_again_changes_nothing() -> None:
    done = ExecMeta(status="running").complete()
    assert done.status == "completed"
    assert done.complete() == done


def test_an_error_keeps_its_text_beside_other_notes() -> None:
    meta = ExecMeta(internal_data={"x": 1}).error("no bread")
    assert (meta.status, meta.error_text) == ("error", "no bread")
    assert meta.internal_data == {"x": 1, "error": "no bread"}
    assert ExecMeta(internal_data={"error": "old"}).error_text is None


@pytest.mark.parametrize(
    ("before", "change", "text"),
    [
        (PAUSED, lambda m: m.complete(), "while interrupted at 'A'"),
        (ExecMeta().error("x"), lambda m: m.complete(), r"after error\('x'\)"),
        (ExecMeta(), lambda m: m.clear_interrupt(), "the status is 'ready'"),
        (ExecMeta(), lambda m: m.set_interrupt("A", "r", "running"), "'running'"),
        (ExecMeta(), lambda m: m.set_interrupt("A", "r", 5), "cannot be 5"),
    ],
)
def test_what_cannot_follow_is_refused(
    before: ExecMeta, change: Any, text: str
) -> None:
    was = msgspec.json.encode(before)
    with pytest.raises(ValueError, match=text):
        change(before)
    assert msgspec.json.encode(before) == was


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.set_current_node(5),
        lambda m: m.error(ValueError("x")),
        lambda m: m.set_interrupt(None),
        lambda m: m.set_interrupt("A", 5),
        lambda m: m.set_interrupt("A", data=[1]),
        lambda m: m.set_interrupt("A", data={"x": {1}}),
        lambda _: ExecMeta(internal_data={"x": object()}),
    ],
)
def test_a_wrong_type_is_refused(change: Any) -> None:
    with pytest.raises(TypeError):
        change(ExecMeta())


@pytest.mark.parametrize("name", ["status", "stop_current_execution"])
def test_a_word_that_there_is_not_is_refused_with_those_there_are(name: str) -> None:
    wrong: dict[str, Any] = {name: "sleeping"}
    with pytest.raises(ValueError, match=r"'sleeping': use one of \["):
        ExecMeta(**wrong)


def test_it_survives_json() -> None:
    read = msgspec.json.decode(msgspec.json.encode(PAUSED), type=ExecMeta)
    assert read == PAUSED
    assert type(read.interrupt_data) is FrozenDict
