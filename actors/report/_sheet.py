"""All runs of a cancel sweep, kept small: each scene and each fault stands once.

1. A run is two numbers: where it stood, and what came of it. So 5,000 steps in 20
   orders are a few megabytes.
2. What broke is counted by invariant; the first run that broke it is kept whole.
"""

import linecache
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs

from actors.testing._sweep import Tried
from actors.testing._where import Frame, Scene, is_users, short_name
from protocol._rules import told

from ._once import Once

TEXTS_MAX = 200
"""Different texts that are kept of one invariant: ids and numbers make each unlike the
others, and nobody reads more."""

TEXT_CHARACTERS_MAX = 4_000

NOT_KEPT = "(another text: the command says it)"
NOWHERE = -1

UNHANDLED = "no error leaves the scenario"
"""What an error that leaves it breaks."""

Ending: TypeAlias = Literal["cancelled", "finished", "not reached", "left alone"]
"""How the scenario of a run ended: by the cancel; by itself, in spite of the cancel or
because it came too late to be heard; before the step at which it was to be cancelled;
or by itself, as it was not to be cancelled."""


class Fault(NamedTuple):
    """Something that broke in a run."""

    invariant: str
    text: str
    frame: Frame | None
    """The line that said so: the user's own, if there is one."""


class Outcome(NamedTuple):
    """What came of a run."""

    ending: Ending
    faults: tuple[int, ...]
    """Numbers of what broke."""


@attrs.define
class Row:
    """The runs of one seed."""

    seed: int
    first: int = 0
    """The first step after which it was cancelled; the others follow without a gap."""
    scenes: list[int] = attrs.field(factory=list[int])
    """Where it stood, by step; `NOWHERE` when nobody saw."""
    outcomes: list[int] = attrs.field(factory=list[int])
    """What came of it, by step."""
    whole: int = NOWHERE
    """What came of the run that was not cancelled."""


@attrs.define
class Breach:
    """An invariant that broke."""

    invariant: str
    runs: int
    """In how many runs."""
    seed: int
    """Of the first of them."""
    step: int | None
    error: BaseException
    fault: Fault
    scenes: Counter[int] = attrs.field(factory=Counter[int])
    """Where the scenario stood in how many of them, by number."""


class Suspect(NamedTuple):
    """A line of the user's that tasks stood in when something broke."""

    who: str
    frame: Frame
    broken: int
    """Runs that were cancelled there and broke."""
    runs: int
    """Runs that were cancelled there."""


class Sheet:
    """Takes one run after the other.

    Args:
        scenario: The name under which an error is reported that leaves the scenario.
    """

    def __init__(self, scenario: str) -> None:
        self._scenario = scenario
        self.runs = 0
        self.broken = 0
        """Runs in which something broke."""
        self.steps = 0
        """The most steps that a run took which the cancel did not end."""
        self.rows: list[Row] = []
        self.breaches: dict[str, Breach] = {}
        self.scenes: Once[Scene] = Once()
        self.faults: Once[Fault] = Once()
        self.outcomes: Once[Outcome] = Once()
        self._runs_at: Counter[int] = Counter()
        self._texts: dict[str, set[str]] = {}

    def take(self, tried: Tried) -> None:
        """Note a run; the runs of a seed come one behind the other, by step."""
        trial = tried.trial
        if not self.rows or self.rows[-1].seed != trial.seed:
            self.rows.append(Row(trial.seed))
        self.runs += 1
        self.broken += bool(tried.broken)
        if not trial.cancelled:
            self.steps = max(self.steps, trial.steps)
        scene = NOWHERE if tried.scene is None else self.scenes.number(tried.scene)
        self._runs_at[scene] += 1
        faults = tuple(self._faults(tried, scene))
        outcome = self.outcomes.number(Outcome(_ending(tried), faults))
        row = self.rows[-1]
        if trial.step is None:
            row.whole = outcome
            return
        if not row.outcomes:
            row.first = trial.step
        row.scenes.append(scene)
        row.outcomes.append(outcome)

    def suspects(self, breach: Breach) -> list[Suspect]:
        """Lines of the user's that tasks stood in when it broke, the surest first."""
        scenes = self.scenes.values
        runs: Counter[tuple[str, Frame]] = Counter()
        broken: Counter[tuple[str, Frame]] = Counter()
        for number, times in self._runs_at.items():
            if number == NOWHERE:
                continue
            for spot in {(s.who, s.stack[-1]) for s in scenes[number].in_users_code}:
                runs[spot] += times
                broken[spot] += breach.scenes[number]
        found = [Suspect(*spot, times, runs[spot]) for spot, times in broken.items()]
        found = [each for each in found if each.broken]
        return sorted(found, key=lambda each: (-each.broken / each.runs, -each.broken))

    def _faults(self, tried: Tried, scene: int) -> Iterator[int]:
        for name, error in tried.broken:
            invariant = UNHANDLED if name == self._scenario else name
            fault = Fault(invariant, self._text(invariant, error), _where(error))
            self._count(tried, error, fault, scene)
            yield self.faults.number(fault)

    def _text(self, invariant: str, error: BaseException) -> str:
        text = _all_told(error)[:TEXT_CHARACTERS_MAX]
        texts = self._texts.setdefault(invariant, set())
        if text not in texts and len(texts) >= TEXTS_MAX:
            return NOT_KEPT
        texts.add(text)
        return text

    def _count(
        self, tried: Tried, error: BaseException, fault: Fault, scene: int
    ) -> None:
        trial = tried.trial
        first = Breach(fault.invariant, 0, trial.seed, trial.step, error, fault)
        breach = self.breaches.setdefault(fault.invariant, first)
        breach.runs += 1
        breach.scenes[scene] += 1


def _ending(tried: Tried) -> Ending:
    trial = tried.trial
    if trial.step is None:
        return "left alone"
    if trial.cancelled:
        return "cancelled"
    return "not reached" if trial.steps < trial.step else "finished"


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors that a group holds, however deep; itself when it is none."""
    todo = [error]
    while todo:
        each: Any = todo.pop()  # what a group holds is nobody's type to a checker
        inner: Sequence[Any] | None = getattr(each, "exceptions", None)
        if isinstance(each, BaseExceptionGroup) and inner:
            todo += reversed(inner)
        else:
            yield each


def _all_told(error: BaseException) -> str:
    texts = [told(each).removesuffix(": ") for each in _leaves(error)]
    first = next(_leaves(error))
    if isinstance(first, AssertionError) and not str(first):
        frame = _where(first)
        source = "" if frame is None else linecache.getline(frame.file, frame.line)
        texts[0] = f"{texts[0]}: {source.strip()}" if source else texts[0]
    return "; ".join(texts)


def _where(error: BaseException) -> Frame | None:
    """The innermost line of the user's that an error came from."""
    first = next(_leaves(error))
    found: Frame | None = None
    for frame, line in traceback.walk_tb(first.__traceback__):
        code = frame.f_code
        if is_users(code.co_filename):
            found = Frame(code.co_filename, line, short_name(code.co_qualname))
    return found
