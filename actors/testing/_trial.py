"""One run of a scenario: called, perhaps cancelled, and looked at afterwards."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from typing import Any, TypeAlias

import attrs
import trio

from ._promised import broken_promises
from ._schedule import Chooser, run_with
from ._watch import Watch, living
from ._where import Scene

Scenario: TypeAlias = Callable[..., Awaitable[Any]]
"""An async function that is called afresh for each run; it takes the `Trial`, or
nothing."""

Invariant: TypeAlias = Callable[..., Any]
"""What must be true after each run. A plain or async function that takes the `Trial`,
or nothing; it raises, or returns False, when it is not."""

LEAKS = "nothing is left"
"""The name of the invariant that is always checked."""

IN_TIME = "it ends in time"
"""The name of the invariant that is checked where a run has a time."""

Broken: TypeAlias = list[tuple[str, BaseException]]
"""What broke in a run: names of invariants, each with what was raised."""


@attrs.define(kw_only=True)
class Trial:
    """One run, for the scenario to write down in and for invariants to read."""

    seed: int
    """What decided the order of its tasks."""
    step: int | None = None
    """The steps after which it was cancelled; None: it was left alone."""
    notes: dict[str, Any] = attrs.field(factory=dict[str, Any])
    """What the scenario wants its invariants to know: ``trial.notes["state"] = ...``"""
    value: Any = None
    """What the scenario returned; None when it was cancelled."""
    cancelled: bool = False
    """Whether the cancel ended the scenario: it may also end well before or in spite
    of it."""
    steps: int = 0
    """How many steps all tasks took until the scenario had ended."""


@attrs.frozen(kw_only=True)
class Violation:
    """Something that must be true and was not."""

    invariant: str
    """The invariant's name; the scenario's when an exception left it."""
    error: BaseException
    """What was raised."""
    seed: int
    """The seed of that run."""
    step: int | None
    """The steps after which it was cancelled; None when it was not."""
    repeat: str
    """The line that does that one run again."""

    def __str__(self) -> str:
        return f"{self.invariant}: {self.error!r}\n  again: {self.repeat}"


def name_of(fn: Callable[..., Any]) -> str:
    """What a program calls the function by."""
    module = getattr(fn, "__module__", None)
    name = getattr(fn, "__qualname__", None)
    return repr(fn) if name is None else f"{module}.{name}"


def names_of(fns: Sequence[Callable[..., Any]]) -> str:
    """The same for several, as they are written in a list."""
    return f"[{', '.join(map(name_of, fns))}]"


@attrs.frozen
class Asked:
    """A function of the user's, called with the trial if it takes one."""

    fn: Callable[..., Any]
    takes_trial: bool

    @classmethod
    def of(cls, fn: Callable[..., Any]) -> "Asked":
        """Look at the signature once, for all runs.

        Raises:
            TypeError: It cannot be called, or wants more than the trial.
        """
        if not callable(fn):
            raise TypeError(f"a function of the trial, or of nothing, not {fn!r}")
        signature = inspect.signature(fn)
        for arguments in ((), (None,)):
            try:
                signature.bind(*arguments)
            except TypeError:
                continue
            return cls(fn, bool(arguments))
        raise TypeError(
            f"{name_of(fn)} is called with the trial, or with nothing, "
            f"but it takes {signature}: give it defaults, or a functools.partial"
        )

    def __call__(self, trial: Trial) -> Any:
        return self.fn(trial) if self.takes_trial else self.fn()


class Bench:
    """A scenario and its invariants, ready to be run any number of times."""

    def __init__(self, scenario: Scenario, invariants: Sequence[Invariant]) -> None:
        self.scenario = Asked.of(scenario)
        inner = inspect.unwrap(scenario)
        if inspect.isfunction(inner) and not inspect.iscoroutinefunction(inner):
            raise TypeError(
                f"{name_of(scenario)} is no async function: write it with 'async def'"
            )
        self.invariants = tuple(Asked.of(each) for each in invariants)
        self.invariant_names = names_of(invariants)
        self.name = name_of(scenario)

    def run(self, trial: Trial, chooser: Chooser, watch: Watch | None = None) -> Broken:
        """Run once in a trio run of its own; gives what broke, each with its name.

        Args:
            trial: What is noted of it; its seed and step say what is run.
            chooser: Who steps.
            watch: Looks on, and has what the runtime promises checked as well.
        """
        counter = _Counter(trial, watch)
        broken: Broken = []

        async def whole() -> None:
            broken.extend(await self._whole(trial, counter, chooser))

        with nullcontext() if watch is None else watch.noting():
            run_with(chooser, whole, seed=trial.seed, instruments=[counter])
        return broken

    async def _whole(
        self, trial: Trial, counter: "_Counter", chooser: Chooser
    ) -> Broken:
        watch = counter.watch
        before = living()
        counter.others = before - {trio.lowlevel.current_task()}
        if watch is not None:
            before_it = chooser.getstate()
            await watch.set_alarm(counter.scope, counter.others)
            chooser.setstate(before_it)  # the order is that of a run without an alarm
        broken = await self._scenario(trial, counter)
        if watch is not None:
            await watch.end_alarm()
            if watch.late is not None:
                # What was torn out of its shields need not be in order.
                return [(IN_TIME, TimeoutError(_told(watch.within_s, watch.late)))]
        left = _left_behind(before)
        if left:
            broken.append((LEAKS, AssertionError(left)))
        if watch is not None:
            broken += await broken_promises(watch.runs)
        for invariant in self.invariants:
            error_found = await _check(invariant, trial)
            if error_found is not None:
                broken.append((name_of(invariant.fn), error_found))
        return broken

    async def _scenario(self, trial: Trial, counter: "_Counter") -> Broken:
        """Call it, and cancel it where it is to be; what leaves it, but the cancel."""
        broken: Broken = []
        counter.counting = True
        try:
            with counter.scope:
                if trial.step == 0:
                    counter.cancel(None)
                trial.value = await self.scenario(trial)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - it is reported
            broken.append((self.name, error))
        counter.counting = False
        trial.cancelled = counter.scope.cancelled_caught
        return broken


def _told(within_s: float, late: Scene) -> str:
    waits = [spot.at for spot in late.others if spot.waits_in]
    return f"it did not end within {within_s:g} s; then waited: {'; '.join(waits)}"


async def _check(invariant: Asked, trial: Trial) -> BaseException | None:
    try:
        said = invariant(trial)
        if inspect.isawaitable(said):
            said = await said
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - it is reported
        return error
    return AssertionError("it returned False") if said is False else None


class _Counter(trio.abc.Instrument):
    """Counts the steps of a run, and cancels it after so many."""

    def __init__(self, trial: Trial, watch: Watch | None) -> None:
        self._trial = trial
        self.watch = watch
        self.scope = trio.CancelScope()
        self.counting = False
        self.others: set[trio.lowlevel.Task] = set()
        """Tasks of trio's own, which step when they like."""

    def cancel(self, task: trio.lowlevel.Task | None) -> None:
        """Cancel the scope after a step of this task; None: before the first."""
        self.scope.cancel(reason="a sweep")
        if self.watch is not None:
            self.watch.look(task, () if task is None else living() - self.others)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Nothing here may raise: trio would log it and count no more."""
        if self.counting and task not in self.others:
            self._trial.steps += 1
            if self._trial.steps == self._trial.step:
                self.cancel(task)


def _left_behind(before: set[trio.lowlevel.Task]) -> str:
    """What a run should have ended and has not, in words; empty when it is tidy."""
    left = sorted(task.name for task in living() - before)
    faults = [f"tasks: {', '.join(left)}"] if left else []
    if trio.lowlevel.current_statistics().seconds_to_next_deadline != float("inf"):
        faults.append("a deadline that is still ahead")
    return "; ".join(faults)
