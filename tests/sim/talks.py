"""The ways in which somebody has a State answer: runs, streams, steps by hand."""

from typing import TYPE_CHECKING

import trio

from actors import Restart, RunCancelled, State, StoppedByBudget
from actors._inside import run_of
from actors._run import Run

from .people import answer_what_is_left
from .reached import reached

if TYPE_CHECKING:
    from .process import Process
    from .world import Conversation


def left_something(talk: "Conversation", state: State) -> str | None:
    """The next question that has no answer in the history yet."""
    said = {
        entry.content.text for entry in state.history if entry.kind == "model_reply"
    }
    for prompt in talk.prompts:
        if f"answer to {prompt}" not in said:
            return prompt
    return None


def unsettled(process: "Process", state: State) -> None:
    """Note why a run that returned stopped."""
    stopped = state.stopped
    if isinstance(stopped, StoppedByBudget):
        name = f"a run was stopped by its limit on {stopped.limit}"
        reached(name)


async def by_arun(process: "Process", state: State) -> None:
    """In this task, as a root of the supervisor around it."""
    await process.agent.arun(state)
    await answer_what_is_left(process, state)


async def by_start(process: "Process", state: State) -> None:
    """As a run that begins again when it fails."""
    restart = Restart(times=2, backoff_s=0.1) if process.number % 2 else None
    supervisor = process.supervisor
    if (
        supervisor._places is not None
        and supervisor._places.available_tokens < 1
        and supervisor._roots
    ):
        reached("a run waited for its place")
    starts = len([e for e in state.history if e.kind == "run_start"])
    run = supervisor.start(process.agent, state, restart=restart)
    try:
        await run.wait()
    finally:
        begun = len([e for e in state.history if e.kind == "run_start"]) - starts
        if restart is not None and begun > 1:
            reached("a run began again")
    await answer_what_is_left(process, state)


async def by_stream(process: "Process", state: State) -> None:
    """Read along, slowly, and perhaps not to the end."""
    world = process.world
    leaves_after = world.random.choice((3, 9, 1_000))
    async with process.agent.stream(state) as events:
        events._capacity = 1  # the least there is
        seen = 0
        async for _ in events:
            seen += 1
            if seen == leaves_after and world.troubled:
                reached("a stream was left early")
                break
            if events.full:
                reached("a stream's run waited for its reader")
            if world.random.random() < 0.2:
                await world.pause()
    await answer_what_is_left(process, state)


async def by_steps(process: "Process", state: State) -> None:
    """By hand: settle what is open, think, use tools."""
    agent = process.agent
    process.by_hand.add(id(state))
    if state.phase == "thinking":
        await agent.arun(state)  # takes back what nobody answers
    for _ in range(4):
        await agent.ause_tools(state)
        await agent.athink(state)
        if not state.pending_calls:
            break
    await agent.ause_tools(state)


async def by_impatience(process: "Process", state: State) -> None:
    """As a run that has little time, while there is trouble."""
    world = process.world
    seconds = world.random.choice((0.0, 0.05, 1.0)) if world.troubled else 100.0
    with trio.move_on_after(seconds) as scope:
        await process.agent.arun(state)
    if scope.cancelled_caught:
        reached("a run was cancelled")
    await answer_what_is_left(process, state)


async def by_two(process: "Process", state: State) -> None:
    """As two runs at once, as the agent's ``busy`` says."""
    supervisor, world = process.supervisor, process.world
    first = supervisor.start(process.agent, state)
    for _ in range(world.random.randrange(12)):
        await trio.lowlevel.checkpoint()
    await world.pause()
    was_busy = run_of(state) is not None
    try:
        second = supervisor.start(process.agent, state)
    except ValueError:
        reached("a run was rejected, for another was under way")
        second = first
    if was_busy and second is not first:
        reached("a run waited for another's end")
    await outcome(first)
    await outcome(second)
    await answer_what_is_left(process, state)


async def outcome(run: Run) -> None:
    try:
        await run.wait()
    except RunCancelled as error:
        if error.reason == "another run took over":
            reached("a run was taken over")


async def by_crowd(process: "Process", state: State) -> None:
    """As several thinks at once, which stand in the mailbox."""
    process.by_hand.add(id(state))
    if state.phase != "idle":
        await process.agent.arun(state)

    async def think() -> None:
        try:
            await process.agent.athink(state)
            await process.agent.ause_tools(state)
        except Exception as error:  # calls are open, a fault, a limit, ...
            process.world.log(state.id, f"a think meets {error!r}")

    async with trio.open_nursery() as nursery:
        nursery.cancel_scope.deadline = trio.current_time() + 30  # a call waits
        for _ in range(3):
            nursery.start_soon(think)
        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        if state.statistics().waiting:
            reached("a think waited in the mailbox")
    await process.agent.arun(state)
    await answer_what_is_left(process, state)


TALKS = (
    by_arun,
    by_arun,
    by_start,
    by_stream,
    by_steps,
    by_impatience,
    by_two,
    by_crowd,
)
