"""Seeded sequences of commands, legal and illegal, for a State and its oracle.

1. Everything is drawn from one `Random`: the seed alone repeats a sequence.
2. What is likely in a phase is drawn often, and what is refused there now and then.
"""

from collections.abc import Callable
from random import Random
from typing import Any, Literal

from protocol import (
    AgentInfo,
    Exchange,
    Message,
    ModelEvent,
    Question,
    StateSnapshot,
    ToolCall,
)
from protocol._commands import (
    AnswerQuestion,
    AnyCommand,
    Ask,
    CloseCall,
    Compact,
    EndChild,
    Fail,
    Import,
    NoteEvent,
    NoteExchange,
    NoteStart,
    Receive,
    ReportLate,
    Request,
    SetStop,
    StartChild,
    StartRun,
)
from protocol._work_entries import Answer, ChildEnd, ChildStart

from .draw import (
    JSON_VALUES,
    NOT_JSON,
    OUTCOMES,
    STOPS,
    WRONG_MESSAGES,
    Draw,
    Review,
    change_data,
    thawed,
)
from .expected import Outcome, refused
from .oracle import CALLING, IDLE, THINKING
from .pair import Pair, altered, compare_histories


class Sequence:
    """A sequence of commands on a State, its forks, and their oracles.

    Args:
        random: All that is drawn is drawn from it.
        log: Is given one line for each command, before it is done.
    """

    def __init__(
        self, random: Random, log: Callable[[str], None] | None = None
    ) -> None:
        self.random = random
        self.draw = Draw(random)
        self.log = log
        self.pair = self._start()
        self.pairs = [self.pair]

    def run(self) -> None:
        """Do it all, and check at the end what was kept on the way."""
        for _ in range(self.random.randint(5, 30)):
            self.step()
        self.check()
        for _ in range(2):
            compare_histories(altered(self.pair.expected.history, self.random))

    def check(self) -> None:
        """Check what was kept on the way."""
        for pair in self.pairs:
            pair.compare()
            pair.check_kept()
            pair.replay()
            pair.check_children()

    def draw_from(self, random: Random) -> None:
        """Draw from another `Random` from now on."""
        self.random = self.draw.random = random

    def step(self) -> None:
        """Do a command that is likely now."""
        steps, weights = _LIKELY[self.pair.expected.value.phase]
        self.do(self.random.choices(steps, weights)[0])

    def do(self, step: "Step") -> None:
        """Do this command, and at random moments more than compare."""
        phase = self.pair.expected.value.phase
        if self.log is not None:
            self.log(f"{phase:9}{step.__name__}")
        step(self)
        if self.draw.chance(0.15):
            self.pair.keep_snapshot()
        if self.draw.chance(0.1):
            self.pair.replay()
        if self.draw.chance(0.03):
            self.pair.reload()
        if len(self.pairs) > 1 and self.draw.chance(0.1):
            self.pair = self.random.choice(self.pairs)

    def _start(self) -> Pair:
        messages = self.draw.imported() if self.draw.chance(0.5) else []
        if self.draw.chance(0.3):
            messages.append(Message.user(self.draw.text()))
        extra = {"n": 1, "deep": {"list": [1]}} if self.draw.chance(0.3) else {}
        return Pair.start(messages, extra)

    # Commands of a user.

    def add_message(self) -> None:
        self._add(self.draw.message())

    def add_wrong_message(self) -> None:
        self._add(self.random.choice(WRONG_MESSAGES))

    def _add(self, message: Any) -> None:
        outcome = self.pair.expected.add_message(message)
        self.pair.do(outcome, lambda: self.pair.state.add_message(message))

    def finish(self) -> None:
        answers = (*JSON_VALUES, None, Review(3, ("a",)))
        answer = self.random.choice(NOT_JSON if self.draw.chance(0.15) else answers)
        outcome = self.pair.expected.finish(answer)
        self.pair.do(outcome, lambda: self.pair.state.finish(answer))

    def compact(self) -> None:
        summary: Any = self.draw.text()
        if self.draw.chance(0.15):
            summary = self.random.choice(("", " \n", None, 3, "lone \ud800"))
        outcome = self.pair.expected.compact(summary)
        self.pair.do(outcome, lambda: self.pair.state.compact(summary))

    def compact_by_agent(self) -> None:
        """A model wrote the summary: that cost something, and the last ones stay."""
        summary, usage = self.draw.text(), self.draw.usage()
        kept = min(self.random.randrange(4), len(self.pair.expected.value.messages))
        self._send(
            self.pair.expected.compact(summary, kept, usage),
            Compact(summary=summary, kept=kept, usage=usage),
        )

    def clear_tool_results(self) -> None:
        keep: Any = self.random.choice((0, 0, 1, 2, 5))
        if self.draw.chance(0.15):
            keep = self.random.choice((-1, True, False, 1.0, "1", None))
        outcome = self.pair.expected.clear_tool_results(keep)
        self.pair.do(outcome, lambda: self.pair.state.clear_tool_results(keep))

    def edit_extra_data(self) -> None:
        key = self.random.choice(("n", "deep", "m"))
        ways = ("set", "set", "set", "pop", "inside", "wrong")
        way = self.random.choice(ways)
        value = self.random.choice(NOT_JSON if way == "wrong" else JSON_VALUES)
        pair = self.pair
        edited = thawed(pair.expected.value.extra)
        change_data(edited, way, key, value)

        def act() -> None:
            with pair.state.edit_extra_data() as data:
                change_data(data, way, key, value)

        pair.do(pair.expected.edit_extra_data(edited), act)

    def edit_in_vain(self) -> None:
        """A block that raises, and one inside another, change nothing."""
        pair, nested = self.pair, self.draw.chance(0.5)

        def act() -> None:
            with pair.state.edit_extra_data() as data:
                data["n"] = "in vain"
                if not nested:
                    raise ZeroDivisionError
                with pair.state.edit_extra_data():
                    raise AssertionError("an edit inside an edit")

        pair.do(refused(ValueError if nested else ZeroDivisionError), act)

    def restore(self) -> None:
        pair = self.pair
        everywhere = [kept for each in self.pairs for kept in each.kept]
        if self.draw.chance(0.1) or not everywhere:
            wrong: Any = self.random.choice((None, "snapshot", pair.state))
            pair.do(pair.expected.restore(None), lambda: pair.state.restore(wrong))
            return
        foreign = self.draw.chance(0.1) or not pair.kept
        kept = self.random.choice(everywhere if foreign else pair.kept)
        snapshot: StateSnapshot = kept.snapshot
        if self.draw.chance(0.1):
            snapshot = kept.made_again()
        pair.do(
            pair.expected.restore(kept.history), lambda: pair.state.restore(snapshot)
        )

    def fork(self) -> None:
        copy = self.pair.fork()
        if copy is not None and len(self.pairs) < 4:
            self.pairs.append(copy)
            if self.draw.chance(0.6):
                self.pair = copy

    def close(self) -> None:
        self.pair.close()

    # Commands of the runtime.

    def request(self) -> None:
        self._send(self.pair.expected.request("fake/one"), Request(model="fake/one"))

    def receive(self) -> None:
        reply = self.draw.reply()
        self._send(self.pair.expected.receive(reply), Receive(reply=reply))

    def fail(self) -> None:
        call = self._some_call() if self.draw.chance(0.2) else None
        error = RuntimeError(self.draw.text())
        self._send(self.pair.expected.fail(error, call), Fail(error=error, call=call))

    def close_call(self) -> None:
        pending = self.pair.expected.value.pending
        if pending and self.draw.chance(0.9):
            call = self.random.choice(pending)
        else:
            call = self._some_call()
        command = CloseCall(**self.draw.result_of(call))
        self._send(self.pair.expected.close_call(command), command)

    def report_late(self) -> None:
        command = ReportLate(**self.draw.result_of(self._some_call()))
        self._send(self.pair.expected.report_late(command), command)

    def _some_call(self) -> ToolCall:
        """A call that is open, was open, or never was."""
        value = self.pair.expected.value
        history = self.pair.expected.history
        closed: list[ToolCall] = [e.call for e in history if e.kind == "tool_result"]
        if closed and self.draw.chance(0.6):
            return self.random.choice(closed)
        if value.calls and self.draw.chance(0.6):
            return self.random.choice(value.calls)
        return ToolCall(id="unknown", name="search", args={})

    def note_start(self) -> None:
        call, key = self._some_call(), self.draw.text()
        self._send(
            self.pair.expected.note_start(call, key), NoteStart(call=call, key=key)
        )

    def start_child(self) -> None:
        """The same child may be said to have begun more than once."""
        child = ChildStart(
            child_id=f"child-{self.random.randrange(4)}",
            name="helper",
            call_id="call-1",
            since=self.random.choice((0, 0, 5)),
        )
        self._send(self.pair.expected.start_child(child), StartChild(child))

    def end_child(self) -> None:
        """The same child may be said to have ended more than once."""
        end = ChildEnd(
            child_id=f"child-{self.random.randrange(4)}",
            name="helper",
            outcome=self.random.choice(OUTCOMES),
            text=self.draw.content(),
            since=self.random.choice((0, 0, 5)),
        )
        usage = self.draw.usage()
        self._send(
            self.pair.expected.end_child(end, usage), EndChild(end=end, usage=usage)
        )

    def ask(self) -> None:
        pending = self.pair.expected.value.pending
        asking = (
            self.random.choice(pending) if self.draw.chance(0.8) and pending else None
        )
        question = Question(
            id=f"question-{self.random.randrange(3)}",
            state_id=self.pair.state.id,
            call=asking,
            prompt=self.draw.text(),
        )
        self._send(self.pair.expected.ask(question), Ask(question=question))

    def answer_question(self) -> None:
        answer = Answer(
            question_id=f"question-{self.random.randrange(3)}",
            answered=self.draw.chance(0.8),
            value=self.random.choice(JSON_VALUES),
        )
        outcome = self.pair.expected.answer_question(answer)
        self._send(outcome, AnswerQuestion(answer=answer))

    def exchange(self) -> None:
        kinds: tuple[Literal["ask"], Literal["human"]] = ("ask", "human")
        kind = self.random.choice(kinds)
        answer = self.random.choice(JSON_VALUES)
        exchange = Exchange(question=self.draw.text(), answer=answer)
        usage = self.draw.usage()
        self._send(
            self.pair.expected.exchange(kind, exchange, usage),
            NoteExchange(kind=kind, exchange=exchange, usage=usage),
        )

    def event(self) -> None:
        event = ModelEvent(kind="retry", message=self.draw.text(), data={"after": 1})
        self._send(self.pair.expected.event(event), NoteEvent(event=event))

    def start_run(self) -> None:
        info = AgentInfo(name="one", model="fake/one")
        parent, call = None, None
        if self.draw.chance(0.4):
            parent, call = f"parent-{self.random.randrange(3)}", "call-1"
        self._send(
            self.pair.expected.start_run(info, parent, call),
            StartRun(info=info, parent_id=parent, parent_call_id=call),
        )

    def set_stop(self) -> None:
        stopped = self.random.choice(STOPS)
        self._send(self.pair.expected.set_stop(stopped), SetStop(stopped=stopped))

    def import_messages(self) -> None:
        messages = tuple(self.draw.imported()) or (self.draw.message(),)
        outcome = self.pair.expected.import_messages(messages)
        self._send(outcome, Import(messages=messages))

    def _send(self, outcome: Outcome, command: AnyCommand) -> None:
        # The runtime's own door: what users may not say goes through the mailbox.
        self.pair.do(outcome, lambda: self.pair.state._mailbox.send(command))


def run_seed(seed: int) -> Sequence:
    """Run one sequence; a difference says how to see it again."""
    sequence = Sequence(Random(seed))
    try:
        sequence.run()
    except Exception as error:
        raise AssertionError(
            f"State and oracle differ; repeat it with: python -m tests.model {seed}"
        ) from error
    return sequence


Step = Callable[[Sequence], None]

_ALWAYS: dict[Step, float] = {
    Sequence.add_message: 3,
    Sequence.add_wrong_message: 0.4,
    Sequence.finish: 0.4,
    Sequence.compact: 0.7,
    Sequence.compact_by_agent: 0.4,
    Sequence.clear_tool_results: 0.9,
    Sequence.edit_extra_data: 1,
    Sequence.edit_in_vain: 0.15,
    Sequence.restore: 1,
    Sequence.fork: 0.5,
    Sequence.close: 0.05,
    Sequence.fail: 0.4,
    Sequence.report_late: 0.7,
    Sequence.exchange: 0.5,
    Sequence.event: 0.3,
    Sequence.start_run: 0.5,
    Sequence.set_stop: 0.5,
    Sequence.import_messages: 0.4,
    Sequence.receive: 0.3,
    Sequence.close_call: 0.3,
    Sequence.request: 0.3,
    Sequence.note_start: 0.2,
    Sequence.start_child: 0.3,
    Sequence.end_child: 0.4,
    Sequence.ask: 0.2,
    Sequence.answer_question: 0.3,
}


STEPS: tuple[Step, ...] = tuple(_ALWAYS)
"""Every command, in the order of the table above."""


def _likely(more: dict[Step, float]) -> tuple[list[Step], list[float]]:
    weights = {**_ALWAYS, **more}
    return list(weights), list(weights.values())


_LIKELY: dict[str, tuple[list[Step], list[float]]] = {
    IDLE: _likely({Sequence.request: 6}),
    THINKING: _likely({Sequence.receive: 7, Sequence.fail: 1.2}),
    CALLING: _likely({Sequence.close_call: 9, Sequence.note_start: 1}),
}
