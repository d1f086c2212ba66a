"""`State`: one conversation, as an actor that feels like a plain object.

1. Every method is a message to the mailbox and gets one reply: a value or an error.
2. Every property reads what was published last; none waits.
3. Nothing is changed any other way: no public attribute can be assigned.
"""

from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Never

from protocol import HistoryEntry, Message
from protocol._commands import (
    AddMessage,
    AnswerQuestion,
    ClearToolResults,
    CloseCall,
    Compact,
    EditExtraData,
    Finish,
    Fork,
    Restore,
)
from protocol._ids import check_state_id, new_id
from protocol._json import freeze, thaw
from protocol._lines import lines
from protocol._reading import Reading
from protocol._recorded import check_user_message
from protocol._snapshot import StateSnapshot, snapshot_of, value_of
from protocol._value import NOTHING_RECORDED, Value
from protocol._work_entries import Answer

from ._beginning import first_value
from ._checks import check_reason
from ._edits import Block, Edits, difference
from ._family import Family, Origin, find_child, of_a_fork
from ._mailbox import Mailbox
from ._misuse import cannot_set, misuse
from ._statistics import StateStatistics


class State(Reading):
    """One conversation's record: what the model sees, and everything that happened.

    ``messages`` is what the model sees at the next think; ``history`` is everything,
    and is only ever added to. Both are read-only tuples, built at the first read after
    a change (about 8 ns an entry). Methods may be called from any thread; each either
    happens whole or raises and changes nothing. Appending, snapshots, forks and
    restores cost the same at any length.

    A method that would record something on a closed State raises `ActorClosed`.

    Args:
        id: The name a store saves this State under: letters, digits, ``_`` and ``-``,
            at most 128 characters. A new one when left out.
        messages: The conversation to start from; recorded as one ``import`` entry.
        extra_data: Your own JSON values, which the model never sees; recorded as one
            ``extra_data`` entry.
        history: Entries to rebuild a State from, instead of the two above.
        repair: Close calls in ``messages`` that have no result as cancelled, and say
            so in the history, where they would be refused otherwise.

    Raises:
        TypeError: a positional argument; an unknown keyword; ``messages`` that is no
            list of messages; extra data that is not JSON; an item of ``history`` that
            is no entry; ``history`` together with ``messages`` or ``extra_data``.
        ValueError: ``id`` has other characters; a call in ``messages`` has no result;
            an entry of ``history`` cannot follow the ones before it.
    """

    __slots__ = ("__weakref__", "_edits", "_family", "_id", "_live", "_mailbox")

    _id: str
    _mailbox: Mailbox
    _live: StateSnapshot
    _edits: Edits | None
    _family: Family | None

    def __init__(
        self,
        *args: Never,
        id: str | None = None,
        messages: Iterable[Message] = (),
        extra_data: Mapping[str, Any] | None = None,
        history: Iterable[HistoryEntry] | None = None,
        repair: bool = False,
        **kwargs: Never,
    ) -> None:
        if args or kwargs:
            raise misuse(args, kwargs)
        state_id = new_id() if id is None else check_state_id(id)
        _fill(self, state_id, first_value(messages, extra_data, history, repair), None)

    @property
    def id(self) -> str:
        """The name a store saves this State under."""
        return self._id

    @property
    def history(self) -> tuple[HistoryEntry, ...]:
        """Everything that happened, oldest first; only ever added to."""
        return self._read().history

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the model sees at the next think.

        Results of a turn go in together once its last call has one; messages added in
        the meantime, or while the model is being waited on, go in after them.
        """
        return self._read().messages

    @property
    def forked_from(self) -> Origin | None:
        """The State this is a fork of, and how long its history was; or None."""
        return None if self._family is None else self._family.origin

    def _now(self) -> Value:
        return self._mailbox.value

    def _read(self) -> StateSnapshot:
        """The published value with the tuples that were read of it so far."""
        live = self._live
        value = self._mailbox.value
        if value_of(live) is not value:
            live = snapshot_of(value)
            _set_live(self, live)
        return live

    def snapshot(self) -> StateSnapshot:
        """The value of this State now; it never changes, and `restore` takes it."""
        return snapshot_of(self._mailbox.value)

    def add_message(self, message: Message) -> None:
        """Add a user message or a notice.

        In the middle of a turn it is recorded at once and held; it goes into
        ``messages`` when the phase ends, once, in order. Works on a finished State.

        Raises:
            TypeError: ``message`` is not a `Message`.
            ValueError: it is not a user message, has blocks other than text and
                images, or neither a text nor an image.
        """
        check_user_message(message)
        self._mailbox.send(AddMessage(message))

    def answer_question(self, question_id: str, value: Any) -> None:
        """Answer an open question; the answer goes to the call that asked.

        Works without a run too: the next run goes on from the answer.

        Raises:
            ValueError: no such question is open: it was answered, closed, or never
                asked; or it asks whether a call may run, and ``value`` is neither
                text nor a bool.
            TypeError: ``value`` is not JSON.
        """
        self._mailbox.send(AnswerQuestion(Answer(question_id=question_id, value=value)))

    def finish(self, answer: Any = None) -> None:
        """End the State for good; ``stopped`` becomes `StoppedByFinish` at once.

        Allowed while calls are pending, and again; the last answer given wins.

        Raises:
            TypeError: ``answer`` cannot be turned into JSON; the text names where.
        """
        self._mailbox.send(Finish(freeze(answer, "answer")))

    def compact(self, summary: str) -> None:
        """Put the first user message and ``summary`` in the place of the messages.

        Raises:
            TypeError: ``summary`` is not a string.
            ValueError: calls are pending, or ``summary`` says nothing.
        """
        self._mailbox.send(Compact(summary))

    def clear_tool_results(self, keep_last: int = 5) -> None:
        """Blank all tool results but the last ``keep_last``; the history keeps them.

        Results that are blank already count. Records nothing when nothing changes.

        Raises:
            ValueError: calls are pending, or ``keep_last`` is not an int >= 0.
        """
        if type(keep_last) is not int or keep_last < 0:
            raise ValueError(f"keep_last is an int >= 0, not {keep_last!r}")
        self._mailbox.send(ClearToolResults(keep_last))

    @contextmanager
    def edit_extra_data(self) -> Generator[dict[str, Any]]:
        """Give an editable copy; what changed is recorded when the block ends.

        One block at a time: a plain thread waits its turn. On a trio thread it never
        waits; use `aedit_extra_data` there. If the block raises, nothing changes. If
        nothing changed, nothing is recorded.

        Raises:
            TypeError: at the end, a value is not JSON; the text names its key.
            ValueError: at entry, the block is inside another one of this State; or on
                a trio thread any other block of it is open.
        """
        edits, block = self._own_edits(), Block()
        try:
            edits.take(block)
            before = self.extra_data
            data = thaw(before)
            yield data
            self._mailbox.send(EditExtraData(*difference(before, data)))
        finally:
            try:
                edits.give_back(block)
            finally:
                edits.give_back(block)  # again: Ctrl+C may have stopped the first

    @asynccontextmanager
    async def aedit_extra_data(self) -> AsyncGenerator[dict[str, Any]]:
        """The same as `edit_extra_data`, waiting for its turn as a task does.

        Cancelled while it waits, it changes nothing and holds nothing.

        Raises:
            TypeError: at the end, a value is not JSON; the text names its key.
            ValueError: at entry, the block is inside another one of this State.
        """
        edits, block = self._own_edits(), Block()
        try:
            await edits.atake(block)
            before = self.extra_data
            data = thaw(before)
            yield data
            self._mailbox.send(EditExtraData(*difference(before, data)))
        finally:
            try:
                edits.give_back(block)
            finally:
                edits.give_back(block)  # again: Ctrl+C may have stopped the first

    def _own_edits(self) -> Edits:
        with self._mailbox.lock:
            if self._edits is None:
                _set_edits(self, Edits())
            assert self._edits is not None, "made under the lock"
            return self._edits

    def fork(self) -> "State":
        """A copy with a new id, the same history and so the same content.

        Nothing is shared but the children it can open. Calls that are pending here are
        closed as cancelled in the copy: two States never own one call.

        Raises:
            ValueError: the model is being waited on.
        """
        value = self._mailbox.send(Fork())
        family = of_a_fork(self._family, Origin(self._id, value.size))
        copy = State.__new__(State)
        _fill(copy, new_id(), value.branch(), family)
        for call in value.pending:
            copy._mailbox.send(CloseCall(call, FORKED, "cancelled"))
        return copy

    def restore(self, snapshot: StateSnapshot) -> None:
        """Go back to a snapshot taken earlier from this State, between turns.

        Every value is as it was then, but ``usage``, ``history`` and the times.

        Raises:
            TypeError: ``snapshot`` is not a `StateSnapshot`.
            ValueError: its history is not the beginning of this one's; it was taken in
                the middle of a turn; calls are pending; the model is being waited on;
                or a compaction is under way.
        """
        given: Any = snapshot  # not every caller has a type checker
        if not isinstance(given, StateSnapshot):
            raise TypeError(
                f"restore takes what state.snapshot() returned, not a "
                f"{type(given).__name__}"
            )
        box = self._mailbox
        with box.lock:
            if box.being_compacted:
                raise ValueError("cannot restore while a compaction is under way")
            box.send(Restore(value_of(snapshot)))

    def child(self, child_id: str) -> "State":
        """The subagent State that a call of this State started.

        The very object while it lives in this process, else loaded from the store this
        State is bound to, anew at each call.

        Raises:
            KeyError: it is not a direct child.
            ValueError: it is, but not in memory, and no store is bound.
            TypeError: the store works only asynchronously: use `achild`.
            LookupError: the store has no State of this id.
        """
        found = find_child(self._family, self._mailbox.value, child_id, self._id)
        return found if isinstance(found, State) else found.load(child_id)

    async def achild(self, child_id: str) -> "State":
        """The same as `child`, with a store that is read asynchronously.

        Raises:
            KeyError, ValueError, LookupError: as `child` does.
        """
        found = find_child(self._family, self._mailbox.value, child_id, self._id)
        return found if isinstance(found, State) else await found.aload(child_id)

    def close(self, reason: str | None = None) -> None:
        """End the actor: waiting and later commands that record get `ActorClosed`.

        A run of it is stopped: a request that waits on the model is taken back and
        open calls are closed as cancelled first, so nothing is left pending. Reads go
        on. Closing again changes nothing.

        Raises:
            TypeError: ``reason`` is no text; nothing was closed.
        """
        check_reason(reason)
        run = self._mailbox.run
        if run is None:
            self._mailbox.close(reason)
        else:
            run.close_state(reason)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._mailbox.closed is not None

    def statistics(self) -> StateStatistics:
        """A frozen picture of this actor."""
        box = self._mailbox
        value = box.value
        return StateStatistics(
            entries=value.size,
            messages=value.count,
            held=value.held.size,
            waiting=box.waiting,
            outside=box.outside,
            phase=value.phase,
            compacting=box.being_compacted,
            closed=self.closed,
        )

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(cannot_set(name))

    def __delattr__(self, name: str) -> Never:
        raise AttributeError(cannot_set(name))

    def __reduce_ex__(self, protocol: object) -> Never:
        raise TypeError(
            "a State is an actor and cannot be pickled or copied: use state.fork() for "
            "a copy, State(history=state.history) or a store to keep one"
        )

    def __str__(self) -> str:
        return "\n".join(lines(self.history))

    def __repr__(self) -> str:
        value = self._mailbox.value
        return (
            f"<State {self._id!r}: turn {value.turn}, {value.count} messages, "
            f"{value.size} entries, {value.phase}>"
        )


FORKED = "(cancelled: the State was forked while this call ran)"
"""The result, in a fork, of a call that its original goes on with."""

_NOT_READ = snapshot_of(NOTHING_RECORDED)
# The slots' own setters take two thirds of the time of object.__setattr__.
_set_id, _set_mailbox, _set_live, _set_edits, _set_family = (
    vars(State)[name].__set__
    for name in ("_id", "_mailbox", "_live", "_edits", "_family")
)


def _fill(state: State, state_id: str, value: Value, family: Family | None) -> None:
    _set_id(state, state_id)
    _set_mailbox(state, Mailbox(value))
    _set_live(state, _NOT_READ)
    _set_edits(state, None)
    _set_family(state, family)
