"""Where a program stands: what each of its tasks waits at, and what is open.

1. It is looked at between two steps, when every task waits and nothing moves.
2. Places are said as a person looks for them: the user's own code first, then the point
   of the runtime that waits, then what of trio or another library it waits in.
"""

import gc
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from os import sep
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs
import trio

import actors
import protocol
from actors._calls import CallNode
from actors._grace import _watched
from actors._node import Node, current
from actors._run_node import RunNode
from actors.graph._work import GraphNode

STACK_MAX = 8
"""Frames of the user's that are kept of each task: enough to see who called."""

TASKS_MAX = 200
"""Tasks that are looked at in one moment; each takes some microseconds."""

SPOTS_MAX = 40
"""Tasks that are kept of them, those in lines of the user's first."""

Kind: TypeAlias = Literal[
    "request", "tool", "node", "child", "person", "run", "scenario"
]
"""What a task works for: a request to a model, a tool call, a node of a graph, a
subagent between two of these, an answer of a person, a run between two of these, or the
scenario itself."""


class Frame(NamedTuple):
    """A line of a program that waits."""

    file: str
    line: int
    function: str


@attrs.frozen(kw_only=True)
class Spot:
    """Where one task waits."""

    kind: Kind
    who: str
    """What it works for, in words."""
    stack: tuple[Frame, ...]
    """Lines of the user's code, the innermost last; empty when there are none."""
    runtime: Frame | None
    """The innermost line of the runtime."""
    waits_in: str
    """What of trio, or of another library, it waits in; empty when it has ended."""

    @property
    def at(self) -> str:
        """All of it in a few words."""
        place = self.stack[-1] if self.stack else self.runtime
        if place is None:
            return self.who
        return f"{self.who} at {Path(place.file).name}:{place.line} {place.function}"


@attrs.frozen(kw_only=True)
class Scene:
    """Where a whole program stands at one moment."""

    spot: Spot | None
    """The task that has just made its step; None before the first step."""
    others: tuple[Spot, ...]
    """The other tasks, `SPOTS_MAX` at most."""
    open: tuple[str, ...]
    """Requests, calls and children that have no end yet."""

    @property
    def in_users_code(self) -> list[Spot]:
        """Tasks that wait in lines of the user's, tools and nodes first."""
        spots = self.others if self.spot is None else (self.spot, *self.others)
        return sorted((spot for spot in spots if spot.stack), key=_rank)


def scene_of(
    task: trio.lowlevel.Task | None,
    tasks: Iterable[trio.lowlevel.Task],
    runs: Iterable[RunNode],
) -> Scene:
    """Look at a program that stands between two steps.

    Args:
        task: The one that has just made a step.
        tasks: All of its tasks.
        runs: All runs that it has begun.
    """
    others = [each for each in tasks if each is not task]
    others.sort(key=lambda each: each.name)  # trio keeps them in a set
    spots = sorted(map(spot_of, others[:TASKS_MAX]), key=_rank)
    return Scene(
        spot=None if task is None else spot_of(task),
        others=tuple(spots[:SPOTS_MAX]),
        open=tuple(line for run in runs if not run.ended for line in _open(run)),
    )


def _rank(spot: Spot) -> tuple[bool, bool]:
    """Lines of the user's come first, those of tools and nodes before others."""
    return not spot.stack, spot.kind not in ("tool", "node")


def spot_of(task: trio.lowlevel.Task) -> Spot:
    """Where a task waits."""
    stack: list[Frame] = []
    runtime: Frame | None = None
    waits_in, is_kits = "", False
    for frame in _frames(task.coro):
        whose = _whose(frame.f_code.co_filename)
        if whose == "runtime":
            runtime, waits_in = _frame(frame), ""
        elif whose == "user":
            stack.append(_frame(frame))
            waits_in = ""
        elif whose == "kit":
            is_kits = True
        elif not waits_in:
            waits_in = _library_call(frame)
    node = task.context.get(current)
    own_name = "the scenario" if is_kits else f"task {short_name(task.name)}"
    return Spot(
        kind=_kind(node),
        who=own_name if node is None else _who(node),
        stack=tuple(stack[-STACK_MAX:]),
        runtime=runtime,
        waits_in=waits_in,
    )


def _frames(waits: Any) -> Iterator[FrameType]:
    """The frames that a coroutine waits in, the outermost first.

    Unlike `trio.lowlevel.Task.iter_await_frames` it goes on into the coroutine of a
    call, which the runtime steps by hand so that it may clean up.
    """
    while waits is not None:
        frame: FrameType | None = None
        for kind in ("cr", "gi", "ag"):
            if hasattr(waits, f"{kind}_frame"):
                frame = getattr(waits, f"{kind}_frame")
                waits = getattr(waits, _AWAITED[kind])
                break
        else:
            waits = _wrapped(waits)
        if frame is not None:
            yield frame
            if frame.f_code is _watched.__code__:
                waits = frame.f_locals.get("work")


_AWAITED = {"cr": "cr_await", "gi": "gi_yieldfrom", "ag": "ag_await"}


def _wrapped(waits: object) -> object:
    """What Python has wrapped to await it; no attribute of the wrapper names it."""
    if type(waits).__name__ not in _WRAPPERS:
        return None
    for inner in gc.get_referents(waits):
        if hasattr(inner, "ag_frame") or hasattr(inner, "cr_frame"):
            return inner
    return None


_WRAPPERS = ("async_generator_asend", "async_generator_athrow", "coroutine_wrapper")


def _frame(frame: FrameType) -> Frame:
    code = frame.f_code
    return Frame(code.co_filename, frame.f_lineno, short_name(code.co_qualname))


def short_name(qualname: str) -> str:
    """The name of a function without those that it stands in."""
    return qualname.rpartition("<locals>.")[2]


def _library_call(frame: FrameType) -> str:
    library = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return f"{library} {short_name(frame.f_code.co_qualname)}"


def _below(*folders: str | None) -> tuple[str, ...]:
    return tuple(f"{folder}{sep}" for folder in folders if folder)


def _home(file: str | None) -> str | None:
    return None if file is None else str(Path(file).parent)


# The kit itself calls the scenario, and is no part of what waits.
_KIT = _below(_home(__file__))
_RUNTIME = _below(_home(actors.__file__), _home(protocol.__file__))
_LIBRARIES = _below(
    _home(trio.__file__), *map(sysconfig.get_path, ("stdlib", "purelib", "platlib"))
)


@cache
def _whose(file: str) -> Literal["user", "runtime", "library", "kit"]:
    if file.startswith(_KIT):
        return "kit"
    if file.startswith(_RUNTIME):
        return "runtime"
    return "library" if file.startswith((*_LIBRARIES, "<frozen")) else "user"


def is_users(file: str) -> bool:
    """Whether a file is neither ours nor of an installed library."""
    return _whose(file) == "user"


def _kind(node: Node | None) -> Kind:
    match node:
        case GraphNode():
            return "node"
        case CallNode():
            return "tool"
        case RunNode(human_waits=waits) if waits:
            return "person"
        case RunNode(state=state) if state.phase == "thinking":
            return "request"
        case RunNode(origin=origin):
            return "run" if origin is None else "child"
        case _:
            return "scenario"


def _name(run: RunNode) -> str:
    return run.agent.name or "the agent"


def _who(node: Node) -> str:
    if isinstance(node, CallNode):
        kind = "node" if isinstance(node, GraphNode) else "tool"
        return f"{kind} {node.call.name!r}"
    assert isinstance(node, RunNode), "a task works for a call or for a run"
    return f"run of {_name(node)}"


def _open(run: RunNode) -> Iterator[str]:
    """What of a run has no end yet, in words."""
    if run.origin is not None:
        yield f"child {_name(run)}"
    if run.human_waits:
        yield f"question of {_name(run)} to a person"
    elif run.state.phase == "thinking":
        model = getattr(getattr(run.agent, "model", None), "name", "a model")
        yield f"request of {_name(run)} to {model}"
    for below in run.children:
        if isinstance(below, CallNode) and not below.ended:
            yield _who(below) + ("" if below.has_begun else " (not begun)")
