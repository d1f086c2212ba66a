"""A process: one supervisor, its store, and the conversations that go on in it.

1. A process that dies is cancelled and does nothing more: its disk, its models and its
   tools are out of its reach from that step on.
2. What a process held in memory and had not made durable is lost with it.
"""

from typing import TYPE_CHECKING

import trio

from actors import (
    ActorClosed,
    Agent,
    Message,
    State,
    StoreConflict,
    StoreDamaged,
    open_supervisor,
)
from actors._inside import library_of, mailbox, value_of_state
from actors._node import subtree
from actors._run_node import RunNode
from protocol._entry import NO_USAGE
from protocol._value import Calling, Thinking

from .people import answer_what_is_left, person
from .reached import reached
from .shadow import Shadow
from .store import ProcessDisk, SimStore
from .talks import TALKS, left_something, unsettled

if TYPE_CHECKING:
    from actors._node import Node
    from actors._supervisor import Supervisor

    from .world import Conversation, World

TRIES_MAX = 60
"""So often a conversation is tried again once nothing goes wrong any more."""


class Process:
    """One process, from its start to its end or its death."""

    def __init__(self, world: "World", agent: Agent) -> None:
        self.world = world
        self.number = len(world.processes) + 1
        self.name = f"process {self.number}"
        self.store: SimStore | None = None
        if world.settings.stored:
            self.store = SimStore(self, ProcessDisk(world.files))
        self.agent = agent.copy(store=self.store)
        self.alive = True
        self.settled = False
        """Whether it answered everything, and so ended by itself."""
        self.ended = trio.Event()
        self.scope = trio.CancelScope()
        self.supervisor: Supervisor
        self.states: dict[str, State] = {}
        self.shadows: dict[int, Shadow] = {}
        self.by_hand: set[int] = set()
        """States whose steps somebody takes by hand, and may leave calls open."""

    async def live(self) -> None:
        """From the start to the end, whatever that is."""
        settings = self.world.settings
        self.world.log(self.name, "starts")
        try:
            with self.scope:
                async with (
                    open_supervisor(
                        max_running=settings.max_running,
                        grace_s=settings.grace_s,
                        threads=settings.threads,
                    ) as self.supervisor,
                    trio.open_nursery() as nursery,
                ):
                    nursery.start_soon(person, self)
                    async with trio.open_nursery() as talks:
                        for each in self.world.conversations:
                            talks.start_soon(self.converse, each)
                    await self.supervisor._wait_idle()  # what is in the background
                    self.settled = self.alive
                    nursery.cancel_scope.cancel()
        finally:
            self.world.log(self.name, "has ended" if self.alive else "is buried")
            self.ended.set()
        self.look_at_the_end()

    # Life and death

    @property
    def lives(self) -> bool:
        return self.alive and not self.ended.is_set()

    def die(self) -> None:
        """Kill it: from now on nothing it does has any effect."""
        if self.alive:
            reached("a process died")
            self.world.log(self.name, "dies")
        self.alive = False
        if self.store is not None:
            self.store.disk.alive = False
        self.scope.cancel()

    async def go_on(self) -> None:
        """Return while the process lives."""
        if not self.alive:
            await trio.sleep_forever()

    # Conversations

    async def converse(self, talk: "Conversation") -> None:
        """Have every question answered, however often that takes."""
        world, tries = self.world, 0
        while not talk.given_up:
            tries = 0 if world.troubled else tries + 1
            if tries > TRIES_MAX:
                world.fault(f"{talk.id} does not settle")
            try:
                state = await self.state_of(talk)
                prompt = left_something(talk, state)
                if prompt is None:
                    if self.store is not None:
                        await self.store.asave(state)
                    return
                await self.one_try(talk, state, prompt)
            except Exception as error:
                world.log(talk.id, f"meets {type(error).__name__}: {error}")
                self.note(talk, error)
            await world.pause()
            await trio.sleep(0.5)

    async def one_try(self, talk: "Conversation", state: State, prompt: str) -> None:
        """Say what is to be said, and run the State in one way or another."""
        if prompt not in [message.text() for message in state.messages]:
            state.add_message(Message.user(prompt))
        way = self.world.random.choice(TALKS)
        self.world.log(talk.id, f"tries {prompt!r} by {way.__name__}")
        await way(self, state)
        unsettled(self, state)

    async def state_of(self, talk: "Conversation") -> State:
        """The live State, loaded if the store has it, else a new one."""
        state = self.states.get(talk.id)
        if state is None and self.store is not None:
            try:
                state = await self.store.aload(talk.id)
            except LookupError:
                pass
            else:
                self.loaded(state)
                self.met(state)
                await answer_what_is_left(self, state)
        if state is None:
            state = State(id=talk.id)
        self.states[talk.id] = state
        self.met(state)
        return state

    def loaded(self, state: State) -> None:
        turn = value_of_state(state).open
        if type(turn) is Thinking:
            reached("a State was loaded in the middle of a request")
        elif type(turn) is Calling:
            reached("a State was loaded with open calls")

    def note(self, talk: "Conversation", error: Exception) -> None:
        """What an error means for the conversation."""
        if isinstance(error, StoreDamaged):
            self.world.must(talk.id in self.world.unsure, f"{talk.id}: {error}")
            talk.given_up = True
        state = self.states.get(talk.id)
        if state is None:
            return
        if isinstance(error, StoreConflict | ActorClosed) or state.closed:
            del self.states[talk.id]
            state.close("another copy goes on")
            if self.store is None:
                talk.given_up = True

    # What is looked at

    def met(self, state: State) -> Shadow:
        """The shadow of a State; it follows from the first time on."""
        shadow = self.shadows.get(id(state))
        if shadow is None:
            shadow = self.shadows[id(state)] = Shadow(self, state)
        return shadow

    def nodes(self) -> list["Node"]:
        """Everything in the tree now."""
        return [node for root in self.supervisor._roots for node in subtree(root)]

    def runs(self) -> list[RunNode]:
        return [node for node in self.nodes() if isinstance(node, RunNode)]

    def request_is_durable(self, run: RunNode) -> None:
        """A request is on disk before the model is asked (write-ahead)."""
        turn = value_of_state(run.state).open
        if library_of(run.state) is not None and type(turn) is Thinking:
            known = len(self.world.durable[run.id])
            self.world.must(
                known > turn.request or not self.alive,
                f"{run.id}: asks the model, and the request is not durable",
            )

    def look_around(self) -> None:
        """What must be true at any moment."""
        for run in self.runs():
            self.met(run.state)
        for shadow in self.shadows.values():
            self.replay(shadow.state)

    def replay(self, state: State) -> None:
        """The value is what its history means (P4)."""
        replayed = State(history=state.history)
        same = replayed.snapshot() == state.snapshot()
        same = same and replayed.messages == state.messages
        self.world.must(same, f"{state.id}: its value is not what its history means")

    def look_at_the_end(self) -> None:
        """Nothing is left of a process, and every State in it is in order."""
        supervisor, world = self.supervisor, self.world
        world.must(not supervisor._roots, f"{self.name} left {list(supervisor._roots)}")
        world.must(not supervisor._threads.in_use, f"{self.name} left threads at work")
        if any(each.call_id is None for each in supervisor._unstopped):
            reached("a run was given up")
        self.look_around()
        for shadow in self.shadows.values():
            state = shadow.state
            box = mailbox(state)
            world.must(box.run is None, f"{state.id}: a run is behind it still")
            world.must(not box.waiting, f"{state.id}: thinks wait in it still")
            if not state.closed:
                wanted = shadow.inherited + shadow.got
                world.must(
                    shadow.own == wanted,
                    f"{state.id}: used {shadow.own}, and was delivered {wanted}",
                )
            self.adds_up(shadow)
            if self.alive:
                self.sent_ended(shadow)
            if self.alive and shadow.driven and id(state) not in self.by_hand:
                self.in_order(state)

    def sent_ended(self, shadow: Shadow) -> None:
        """Each child that was sent off here has its end, with its owner or above."""
        closed = any(each.state.closed for each in self.shadows.values())
        ended = {name for each in self.shadows.values() for name in each.children}
        left = shadow.sent_here - ended
        self.world.must(closed or not left, f"{shadow.state.id}: {left} have no end")

    def adds_up(self, shadow: Shadow) -> None:
        """What a State says of its children is what these say of themselves (P9)."""
        family = shadow.state._family
        known = {} if family is None else family.children
        children = [known.get(child_id) for child_id in shadow.children]
        shadows = [self.shadows.get(id(child)) for child in children]
        if shadow.state.closed or not shadow.is_new:
            return  # it took no more entries; or another process did a part of it
        if any(
            each is None or each.state.closed or not each.is_new for each in shadows
        ):
            return
        used = sum((child.usage for child in children if child is not None), NO_USAGE)
        self.world.must(
            used == shadow.below,
            f"{shadow.state.id}: its children used {used}, and it says {shadow.below}",
        )

    def in_order(self, state: State) -> None:
        """A State that no run drives waits for nobody but people."""
        facts = value_of_state(state).facts
        for call in () if facts.questions or facts.answers else state.pending_calls:
            below = self.waits_below(state, call.id)
            self.world.must(below, f"{state.id}: {call.id} has no result")
        self.world.must(
            state.phase != "thinking", f"{state.id}: nobody answers its request"
        )

    def waits_below(self, state: State, call_id: str) -> bool:
        family = state._family
        return family is not None and call_id in family.waiting
