"""What must be true after a run that was cancelled anywhere, and after the next one."""

from collections import Counter
from collections.abc import Iterator

from actors import State, ToolResultEntry, Usage
from actors._inside import run_of
from actors.testing import Trial
from protocol import Message, ModelReplyEntry, RunStartEntry, ToolResultBlock
from protocol._entry import NO_USAGE
from protocol._work_entries import ChildEndEntry

from .world import AGAIN, ANSWER_AGAIN, world_of


def family(state: State) -> Iterator[State]:
    """The State and every child, grandchild and so on, as its entries name them."""
    todo = [state]
    while todo:
        now = todo.pop()
        yield now
        todo += [now.child(child_id) for child_id in children_of(now)]


def children_of(state: State) -> list[str]:
    return [child for entry in results_of(state) for child in entry.child_ids]


def results_of(state: State, *, late: bool = False) -> list[ToolResultEntry]:
    return [
        entry
        for entry in state.history
        if isinstance(entry, ToolResultEntry) and entry.late == late
    ]


def calls_of(state: State) -> list[str]:
    return [
        call.id
        for entry in state.history
        if isinstance(entry, ModelReplyEntry)
        for call in entry.content.tool_calls
    ]


def states_of(trial: Trial) -> list[State]:
    return [each for state in tops_of(trial) for each in family(state)]


def tops_of(trial: Trial) -> list[State]:
    """The States of runs that no other run waits for."""
    world = world_of(trial)
    tops = {state.id: state for state, _ in world.roots} | world.tops
    return list(tops.values())


def every_call_has_exactly_one_result(trial: Trial) -> None:
    for state in states_of(trial):
        answered = Counter(entry.call.id for entry in results_of(state))
        waiting = {question.call.id for question in state.questions if question.call}
        asked = Counter(calls_of(state))
        asked.subtract(waiting)
        assert answered == +asked, f"{answered} of {asked}"
        assert {call.id for call in state.pending_calls} == waiting


def every_tool_ran_at_most_once_and_reported(trial: Trial) -> None:
    """A tool that returned is a result, or came late; a thread is never forgotten."""
    world = world_of(trial)
    assert not +world.threads, f"at work: {world.threads}"
    assert all(times == 1 for times in world.started.values()), world.started
    for state in states_of(trial):
        late = Counter(entry.call.id for entry in results_of(state, late=True))
        for entry in results_of(state):
            call_id = entry.call.id
            delivered = (entry.outcome == "done") + late[call_id]
            assert delivered <= 1, f"{entry.call.name} was delivered {delivered} times"
            if world.returned[f"{state.id}.{call_id}"]:
                assert delivered == 1, f"{entry.call.name} returned to nobody"


def every_child_has_exactly_one_end(trial: Trial) -> None:
    for state in states_of(trial):
        children = children_of(state)
        assert len(set(children)) == len(children), f"ended twice: {children}"
        for entry in results_of(state):
            for child_id in entry.child_ids:
                started = [
                    (start.parent_id, start.parent_call_id)
                    for start in state.child(child_id).history
                    if isinstance(start, RunStartEntry)
                ]
                # A child that was cancelled before its first step has no start.
                assert set(started) <= {(state.id, entry.call.id)}, started
    ended = Counter(entry.content.child_id for entry in ends_of(states_of(trial)))
    assert ended == Counter(world_of(trial).background), f"background: {ended}"


def ends_of(states: list[State]) -> list[ChildEndEntry]:
    return [
        entry
        for state in states
        for entry in state.history
        if isinstance(entry, ChildEndEntry)
    ]


def usage_is_what_was_delivered(trial: Trial) -> None:
    """For each model and each State: its own replies, and what is below, each once."""
    world = world_of(trial)
    states = states_of(trial)
    known = {state.id for state in states}
    assert set(world.delivered) <= known, "a State that nobody can find used something"
    for state in states:
        if state.closed:
            continue  # it takes no more entries, not even of what comes late
        entries = [*results_of(state), *results_of(state, late=True), *ends_of([state])]
        own = world.delivered.get(state.id, NO_USAGE) + in_loops_of(state)
        same(state.usage, sum((entry.usage for entry in entries), own))
    for state in tops_of(trial):
        if not state.closed:
            below = [
                world.delivered.get(each.id, NO_USAGE) + in_loops_of(each)
                for each in family(state)
            ]
            same(state.usage, sum(below, NO_USAGE))


def in_loops_of(state: State) -> Usage:
    """What runs used that the State's own loop started: each is told as a question."""
    spent = NO_USAGE
    for entry in state.history:
        if entry.kind == "ask" and entry.content.question.startswith("run of "):
            spent = spent + entry.usage
    return spent


def same(usage: Usage, spent: Usage) -> None:
    assert usage == spent, f"{usage} is not {spent}"
    assert usage.by_model == spent.by_model


def every_provider_takes_the_messages(trial: Trial) -> None:
    for state in states_of(trial):
        waiting = unanswered(state.messages)
        assert not waiting or state.questions, f"without a result: {waiting}"


def unanswered(messages: tuple[Message, ...]) -> list[str]:
    """Calls at the end without a result; any other has its own, once, in order."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool" or waiting:
            assert message.role == "tool", f"{message.role} between call and result"
            blocks = [b for b in message.content if isinstance(b, ToolResultBlock)]
            assert [block.call_id for block in blocks] == waiting
            waiting = []
        elif message.role == "assistant":
            waiting = [call.id for call in message.tool_calls]
    return waiting


def a_replay_gives_the_same(trial: Trial) -> None:
    for state in states_of(trial):
        replayed = State(history=state.history)
        assert replayed.snapshot() == state.snapshot()
        assert replayed.messages == state.messages
        assert replayed.usage == state.usage


def nothing_is_under_way(trial: Trial) -> None:
    for state in states_of(trial):
        assert run_of(state) is None
        assert state.phase == ("calling" if state.questions else "idle")
        assert state.statistics().waiting == 0


STANDING = (
    every_call_has_exactly_one_result,
    every_tool_ran_at_most_once_and_reported,
    every_child_has_exactly_one_end,
    usage_is_what_was_delivered,
    every_provider_takes_the_messages,
    a_replay_gives_the_same,
    nothing_is_under_way,
)


async def the_next_run_works(trial: Trial) -> None:
    for state, agent in world_of(trial).roots:
        for question in state.questions:
            state.answer_question(question.id, True)
        state.add_message(Message.user(AGAIN))
        assert await agent.arun(state) == ANSWER_AGAIN
        assert state.stopped is not None
        assert state.stopped.kind == "until"
    for check in STANDING:
        check(trial)


INVARIANTS = (*STANDING, the_next_run_works)
