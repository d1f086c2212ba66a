"""One simulation: a seed's world, its processes and its nemesis, until all is settled.

Safety is looked at throughout. When the nemesis is done no more faults come, and every
conversation has to be answered within a bounded time.
"""

import logging
import warnings
from typing import Any

import attrs
import trio

from actors import TornTailWarning
from protocol import PermissionWarning

from .agents import make_root
from .clockwork import run_like_clockwork
from .nemesis import attack
from .process import Process
from .reached import reached
from .settings import draw_settings
from .store import flip_a_bit, read_again
from .world import World

SETTLE_S = 10_000.0
"""Virtual seconds in which everything has to settle once no more faults come."""

LOOKS = 8
"""How often everything is looked at while it runs."""


@attrs.frozen(kw_only=True)
class Outcome:
    """What a seed came to."""

    seed: int
    faults: tuple[str, ...]
    steps: int
    processes: int
    trace: tuple[str, ...]

    def __str__(self) -> str:
        faults = "\n  ".join(self.faults)
        return f"seed {self.seed}: {faults}\n  again: python -m tests.sim {self.seed}"


def simulate(seed: int, *, printing: bool = False) -> Outcome:
    """Run the simulation of a seed in a trio run of its own."""
    made: list[World] = []

    async def main() -> None:
        world = World(seed, draw_settings(seed))
        world.printing = printing
        made.append(world)
        await _whole(world)

    logged = logging.getLogger("actors")
    logged.addFilter(_quiet)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        unexpected: list[str] = []
        warnings.showwarning = lambda *told, **_: _warned(unexpected, *told)
        try:
            steps = run_like_clockwork(main, seed)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            made[0].faults.append(f"the run raised {error!r}")
            steps = 0
        finally:
            logged.removeFilter(_quiet)
    world = made[0]
    return Outcome(
        seed=seed,
        faults=(*world.faults, *unexpected),
        steps=steps,
        processes=len(world.processes),
        trace=tuple(world.trace),
    )


def _quiet(_record: object) -> bool:
    """What a save beside the runs meets is met again at the next save point."""
    return False


def _warned(unexpected: list[str], message: Any, category: type, *where: Any) -> None:
    if category is TornTailWarning:
        reached("a torn tail was cut")
    elif category is not PermissionWarning:
        unexpected.append(f"warned: {message}")


async def _whole(world: World) -> None:
    world.log("settings", str(world.settings))
    before = trio.lowlevel.current_statistics().tasks_living
    with world.scope:
        async with trio.open_nursery() as nursery:
            await _chaos_and_calm(world, nursery)
    if not world.faults:
        left = trio.lowlevel.current_statistics().tasks_living - before
        world.must(not left, f"{left} tasks are left")


async def _chaos_and_calm(world: World, nursery: trio.Nursery) -> None:
    agent = make_root(world)

    def start() -> Process:
        process = Process(world, agent)
        world.processes.append(process)
        nursery.start_soon(process.live)
        return process

    start()
    async with trio.open_nursery() as watching:
        watching.start_soon(_look_now_and_then, world)
        await attack(world, start)
        watching.cancel_scope.cancel()
    world.log("nemesis", "is done")
    world.troubled, world.disk_fault = False, None
    world.calm.set()
    with trio.move_on_after(SETTLE_S) as scope:
        read_again(await _settle(world, start))
        flip_a_bit(world)
    if scope.cancelled_caught:
        world.fault(f"not settled after {SETTLE_S} s: {_waiting(world)}")


async def _look_now_and_then(world: World) -> None:
    for _ in range(LOOKS):
        for _ in range(world.random.randrange(60)):
            await trio.lowlevel.checkpoint()
        await world.pause()
        for process in world.processes:
            if hasattr(process, "supervisor"):
                process.look_around()


async def _settle(world: World, start: Any) -> Process:
    """One process is left, and answers everything; gives the one that did."""
    living = [each for each in world.processes if each.lives]
    for process in living[:-1]:
        process.scope.cancel()
    for process in world.processes:
        if process not in living[-1:]:
            await process.ended.wait()
    last: Process = living[-1] if living else start()
    await last.ended.wait()
    if not last.settled:  # it met its death from before
        last = start()
        await last.ended.wait()
    world.must(last.settled, f"{last.name} ended, and did not answer everything")
    return last


def _waiting(world: World) -> str:
    last = world.processes[-1]
    return ", ".join(f"{run.id} {run.status}" for run in last.runs())
