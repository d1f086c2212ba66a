"""The live threads of one compiled graph, in one run of trio.

1. A thread in use is one live State, whoever uses it: its runs wait for each other.
2. Threads that nobody uses are kept up to a number, which only saves time: what they
   hold is in the store.
"""

from collections import OrderedDict
from collections.abc import Sequence
from sys import getrefcount
from threading import Lock

import trio

from actors._inside import bind, mailbox
from actors._state import State
from actors.stores import Store
from protocol import AgentState, Message
from protocol._graph_state import context_view, state_of
from protocol._graph_value import GraphThread
from protocol._sealed import SealedList
from protocol._value import Value

IDLE_MAX = 1000
"""Idle threads kept: some megabytes; loading one again takes about 10 us an entry."""


ONLY_HERE = 2
"""What `getrefcount` says of what one attribute holds: it counts its own argument."""


class Live:
    """One thread, and its state with the types of its fields."""

    def __init__(self, state: State, *, is_loaded: bool = False) -> None:
        self.state = state
        self._box = mailbox(state)
        self.users = 0
        self.is_loaded = is_loaded
        """Whether it was read from the store for its only user so far."""
        self.is_fresh = False
        """Whether its id was made for this run."""
        self._typed: AgentState | None = None
        self._fields: object = None
        self._looking = Lock()
        self._seen: SealedList[Message] = SealedList()
        """The last view of the context; the rest says what it was made of."""
        self._log: object = None
        self._trim: object = None
        self._count = 0

    @property
    def value(self) -> Value:
        """What the thread has published last."""
        return self._box.value

    @property
    def thread(self) -> GraphThread | None:
        """Where the thread is, or None before its first run."""
        now = self._box.value.open
        return now if type(now) is GraphThread else None

    def typed(self, initial: AgentState) -> AgentState:
        """The fields of the thread as the graph's state; its context is not in it.

        Raises:
            TypeError, ValueError: a field's type cannot read its value any more.
        """
        thread = self.thread
        if thread is None:
            return initial
        if self._typed is None or self._fields is not thread.fields:
            self.keep(state_of(initial, self.value))
        assert self._typed is not None, "made above"
        return self._typed

    def context(self, value: Value) -> SealedList[Message]:
        """What nodes see of a value's context; made from the last view, if it grew.

        Nodes in worker threads may look at the same time.
        """
        thread = value.open
        trim = thread.trim if type(thread) is GraphThread else None
        log, count = value.messages, value.count
        with self._looking:
            if log is not self._log or trim is not self._trim:
                self._seen = SealedList(context_view(value))
            elif count > self._count:
                self._grow(log.read(count, self._count))
            elif count < self._count:  # a node that looks after its step
                return SealedList(context_view(value))
            self._log, self._trim, self._count = log, trim, count
            return self._seen

    def context_ahead(
        self, value: Value, added: Sequence[Message]
    ) -> SealedList[Message]:
        """The same with messages that the step's end is about to put in.

        When the step fails instead, `forget_view` has to be called.
        """
        ahead = value.count + len(added)
        if self._log is not value.messages or self._count != ahead:
            self.context(value)
        with self._looking:
            if self._count == ahead:  # another condition has looked
                return self._seen
            self._grow(added)
            self._count = ahead
            return self._seen

    def forget_view(self) -> None:
        """Make the next view of the context anew."""
        with self._looking:
            self._log = None

    def _grow(self, added: Sequence[Message]) -> None:
        """Add to what is seen: in a list of its own, unless nobody has the last one.

        A node has mostly let go of its state when the next one looks. Then nobody can
        see the list grow, and a long context is not copied for each step.
        """
        if getrefcount(self._seen) == ONLY_HERE:
            list[Message].extend(self._seen, added)
        else:
            self._seen = SealedList([*self._seen, *added])

    def keep(self, typed: AgentState) -> None:
        """Remember what the fields mean now."""
        thread = self.thread
        self._typed, self._fields = typed, None if thread is None else thread.fields


class Threads:
    """Live threads by id."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[str, Live] = OrderedDict()
        self._loading: dict[str, trio.Event] = {}

    async def take(self, thread_id: str, *, is_fresh: bool) -> Live:
        """The thread, loaded if need be; to be given back."""
        live = self._known.get(thread_id)
        while live is None:
            live = await self._find(thread_id, is_fresh=is_fresh)
        if live.users:
            live.is_loaded = False
        live.users += 1
        self._known.move_to_end(thread_id)
        return live

    def give_back(self, live: Live) -> None:
        """Its user is done with it; one that nobody has a name for is let go."""
        live.users -= 1
        live.is_loaded = False
        if live.is_fresh and not live.users:
            self.forget(live)
        while len(self._known) > IDLE_MAX:
            oldest = next(iter(self._known.values()))
            if oldest.users:
                return
            del self._known[oldest.state.id]

    def forget(self, live: Live) -> None:
        """The store has another writer's entries: load it anew the next time."""
        if self._known.get(live.state.id) is live:
            del self._known[live.state.id]

    async def _find(self, thread_id: str, *, is_fresh: bool) -> Live | None:
        """Load or make the thread; None when somebody else was about to."""
        if is_fresh:
            live = self._add(State(id=thread_id), is_loaded=True)
            live.is_fresh = True
            return live
        loading = self._loading.get(thread_id)
        if loading is not None:
            await loading.wait()
            return self._known.get(thread_id)
        self._loading[thread_id] = trio.Event()
        try:
            state = await self._store.aload(thread_id)
        except LookupError:
            state = State(id=thread_id)
        finally:
            self._loading.pop(thread_id).set()
        return self._add(state, is_loaded=True)

    def _add(self, state: State, *, is_loaded: bool) -> Live:
        bind(state, self._store)
        live = self._known[state.id] = Live(state, is_loaded=is_loaded)
        return live
