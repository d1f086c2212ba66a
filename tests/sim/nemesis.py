"""What the seed has go wrong: processes die, disks fill, States are meddled with."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import trio

from actors import State
from actors._run import Run
from protocol import Message

from .reached import reached

if TYPE_CHECKING:
    from .process import Process
    from .world import World

AGAIN_S = 0.05
SLACK_S = 1.0
"""What a cancel may take beyond its grace: the steps of the watcher."""


async def attack(world: "World", start: Callable[[], "Process"]) -> None:
    """Do something bad so many times; then let everybody in peace."""
    for _ in range(world.settings.attacks):
        await wait(world)
        living = [each for each in world.processes if each.lives]
        if not living:
            start()
            continue
        process = world.random.choice(living)
        if not hasattr(process, "supervisor"):
            continue
        act = world.random.choice(ACTS)
        world.log("nemesis", act.__name__)
        try:
            await act(world, process, start)
        except Exception as error:
            world.log("nemesis", f"meets {type(error).__name__}: {error}")
            if isinstance(error, AssertionError):
                world.fault(f"{act.__name__}: {error}")


async def wait(world: "World") -> None:
    if world.settings.pace_s:
        await trio.sleep(world.random.expovariate(1 / world.settings.pace_s))
    for _ in range(world.random.randrange(30)):
        await trio.lowlevel.checkpoint()


Start = Callable[[], "Process"]


async def kill(world: "World", process: "Process", start: Start) -> None:
    process.die()
    if world.random.random() < 0.5 and process.store is not None:
        reached("the power was lost")
        for each in world.processes:
            each.die()
        world.files = world.files.lose_power()
    if world.random.random() < 0.5:
        await process.ended.wait()
    start()


async def kill_in_a_write(world: "World", process: "Process", start: Start) -> None:
    if process.store is not None:
        disk = process.store.disk
        disk.dies_at = disk.operations + world.random.randrange(12)


async def shut_down(world: "World", process: "Process", start: Start) -> None:
    """Cancel the process as Ctrl+C would, and start another one."""
    process.scope.cancel()
    await process.ended.wait()
    start()


async def start_a_second(world: "World", process: "Process", start: Start) -> None:
    """Another process takes over while the first one is only slow."""
    if process.store is not None and len(world.processes) < 6:
        reached("two processes lived at once")
        start()


async def cancel_a_run(world: "World", process: "Process", start: Start) -> None:
    runs = process.runs()
    if not runs:
        return
    node = world.random.choice(runs)
    grace_s = world.random.choice((0.0, 0.5, 3.0))
    began, depth = trio.current_time(), len(node.path)
    reached("a run was cancelled")
    report = await Run(node).cancel("the nemesis said so", grace_s=grace_s)
    took = trio.current_time() - began
    stopping = node.stop is not None and node.stop.reason != "the nemesis said so"
    if not stopping:
        within = grace_s + depth * 4 * AGAIN_S + SLACK_S
        assert took <= within, f"took {took} s, of {within}, and named {report}"


async def close_a_state(world: "World", process: "Process", start: Start) -> None:
    runs = process.runs()
    if runs:
        state = world.random.choice(runs).state
        waits = state.statistics().waiting
        state.close("the nemesis said so")
        reached("a State was closed while it ran")
        if waits:
            reached("a State was closed while thinks waited")


async def say_something(world: "World", process: "Process", start: Start) -> None:
    state = some_state(world, process)
    if state is not None:
        message = Message.user("by the way")
        state.add_message(message)
        if world.random.random() < 0.5:
            reached("a message was added twice")
            state.add_message(message)


async def meddle(world: "World", process: "Process", start: Start) -> None:
    """Compact it, clear its results, go back to what it was, fork it."""
    state = some_state(world, process)
    if state is None:
        return
    match world.random.randrange(4):
        case 0:
            state.compact("what was said so far")
            reached("a State was compacted")
        case 1:
            state.clear_tool_results(keep_last=1)
        case 2:
            snapshot = state.snapshot()
            await wait(world)
            state.restore(snapshot)
            reached("a State went back")
        case _:
            fork_it(world, process, state)


def fork_it(world: "World", process: "Process", state: State) -> None:
    calls, before = state.pending_calls, state.history
    fork = state.fork()
    if calls:
        reached("a State was forked with calls open")
    assert not fork.pending_calls, "a fork owns calls of its original"
    assert fork.history[: len(before)] == before
    assert state.history == before, "forking changed the original"
    process.replay(fork)


async def fill_the_disk(world: "World", process: "Process", start: Start) -> None:
    await broken_disk(world, "full")


async def break_the_disk(world: "World", process: "Process", start: Start) -> None:
    await broken_disk(world, "broken")


async def broken_disk(world: "World", kind: Any) -> None:
    world.disk_fault = kind
    await trio.sleep(world.random.choice((0.1, 2.0)))
    world.disk_fault = None


async def slow_down_the_disk(world: "World", process: "Process", start: Start) -> None:
    if process.store is not None:
        process.store.slow_s = world.random.choice((0.0, 0.3, 3.0))


def some_state(world: "World", process: "Process") -> State | None:
    """A root's State, or one that runs somewhere."""
    states = [*process.states.values(), *(run.state for run in process.runs())]
    return world.random.choice(states) if states else None


ACTS: tuple[Callable[["World", "Process", Start], Any], ...] = (
    kill,
    kill,
    kill_in_a_write,
    kill_in_a_write,
    shut_down,
    start_a_second,
    cancel_a_run,
    cancel_a_run,
    close_a_state,
    say_something,
    meddle,
    meddle,
    fill_the_disk,
    break_the_disk,
    slow_down_the_disk,
)
