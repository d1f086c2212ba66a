"""Many prompts at once, under one policy.

1. Results come in prompt order, one for each prompt, whatever became of it.
2. A window slides over the prompts: the next starts as soon as one ends, in order.
3. Nothing is dropped: what the policy cancels is joined, and counted.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import trio

from protocol import RunCancelled, ToolOutcomeKind, Usage
from protocol._entry import NO_USAGE
from protocol._not_json import a_kind

from ._checks import check_count
from ._node import Node, Stop, current
from ._run_node import RunNode
from ._starting import as_state
from ._state import State
from ._supervisor import Lane, Supervisor, around, open_supervisor
from ._sync import from_plain

if TYPE_CHECKING:
    from ._agent import Agent

Good: TypeAlias = Callable[["ChildResult"], bool]


@attrs.frozen(kw_only=True)
class ChildResult:
    """What became of one prompt."""

    id: str
    """The child's State."""
    prompt: str
    outcome: ToolOutcomeKind
    """``done``, ``error``, ``cancelled``."""
    answer: Any = None
    error: BaseException | None = None
    usage: Usage = NO_USAGE


@attrs.frozen
class Quorum:
    """Enough good results end it; made by `first` and `quorum`."""

    wanted: int
    good: Good | None = None

    def counts(self, result: ChildResult) -> bool:
        """Whether this result is one of those wanted."""
        if result.outcome != "done":
            return False
        return self.good is None or bool(self.good(result))


def first(good: Good | None = None) -> Quorum:
    """The policy: the first good result wins, the others are cancelled.

    Args:
        good: tells of a result whether it is good; any that is done when left out.
    """
    return Quorum(1, good)


def quorum(n: int, good: Good | None = None) -> Quorum:
    """The policy: ``n`` good results are enough, the others are cancelled.

    Raises:
        ValueError: ``n`` is no int >= 1.
    """
    given: Any = n
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ValueError(f"quorum(n) takes an int >= 1, not {n!r}")
    return Quorum(n, good)


class _Fan:
    """One `fan_out` while it goes on."""

    def __init__(
        self,
        agent: "Agent",
        supervisor: Supervisor,
        prompts: tuple[str, ...],
        policy: "str | Quorum",
        max_running: int | None,
    ) -> None:
        self.agent = agent
        self.supervisor = supervisor
        self.policy = policy
        self.window = len(prompts) if max_running is None else max_running
        self.results: list[ChildResult | None] = [None] * len(prompts)
        self.failed: BaseException | None = None
        self._waiting: deque[tuple[int, str]] = deque(enumerate(prompts))
        self._running: dict[Node, tuple[int, str]] = {}
        self._good = 0
        self._settled = False
        self._over = trio.Event()
        self._lane = Lane()
        self._owner = current.get()

    async def run(self) -> tuple[ChildResult, ...]:
        """Start them, and wait for all; a cancel stops and joins them first."""
        self._fill()
        try:
            await self._over.wait()
        except trio.Cancelled:
            self._settle("who waited for it was cancelled")
            with trio.CancelScope(shield=True):
                await self._over.wait()
            raise
        if self.failed is not None:
            raise self.failed
        return tuple(result for result in self.results if result is not None)

    def _fill(self) -> None:
        """Start what the window has room for; one that cannot start takes none."""
        while self._waiting and len(self._running) < self.window:
            self._start_next()
        if not self._running:
            self._over.set()

    def _start_next(self) -> None:
        index, prompt = self._waiting.popleft()
        state = as_state(prompt)
        try:
            node = RunNode(self.supervisor, self._owner, self.agent, state)
        except Exception as error:  # noqa: BLE001 - a limit, most of all: a result
            self._done(index, _result(prompt, state.id, error))
            return
        self._running[node] = (index, prompt)
        node.on_end = self._ended
        self.supervisor._spawn(node, self.agent._drive, node, lane=self._lane)

    def _ended(self, ended: Node) -> None:
        assert isinstance(ended, RunNode), "a fan starts runs"
        index, prompt = self._running.pop(ended)
        error: BaseException | None = None
        try:
            answer = ended.result()
        except BaseException as raised:  # noqa: BLE001 - kept in the result
            error, answer = raised, None
        result = _result(prompt, ended.id, error, answer=answer, usage=ended.usage)
        self._done(index, result)
        self._fill()

    def _done(self, index: int, result: ChildResult) -> None:
        self.results[index] = result
        if not self._settled:
            self._judge(result)

    def _judge(self, result: ChildResult) -> None:
        if isinstance(self.policy, Quorum):
            try:
                self._good += self.policy.counts(result)
            except Exception as error:  # noqa: BLE001 - of the user's function
                self.failed = error
            if self.failed is not None or self._good >= self.policy.wanted:
                self._settle("enough others are good")
        elif self.policy == "fail_fast" and result.outcome != "done":
            self.failed = result.error
            self._settle("another one failed")

    def _settle(self, reason: str) -> None:
        """Nothing more is needed: stop what runs, and start nothing."""
        self._settled = True
        stop = Stop(reason, "cancelled", self.agent.grace_s)
        waiting = tuple(self._waiting)
        self._waiting.clear()
        for index, prompt in waiting:
            self._done(index, _result(prompt, "", RunCancelled(reason)))
        for node in tuple(self._running):
            node.stop_tree(stop)


def _result(
    prompt: str,
    state_id: str,
    error: BaseException | None,
    *,
    answer: Any = None,
    usage: Usage = NO_USAGE,
) -> ChildResult:
    outcome: ToolOutcomeKind = "done"
    if error is not None:
        outcome = "cancelled" if isinstance(error, RunCancelled) else "error"
    return ChildResult(
        id=state_id,
        prompt=prompt,
        outcome=outcome,
        answer=answer,
        error=error,
        usage=usage,
    )


async def afan_out(
    agent: "Agent",
    prompts: Iterable[str],
    *,
    policy: "str | Quorum" = "isolate",
    max_running: int | None = None,
) -> tuple[ChildResult, ...]:
    """Run every prompt on a fresh State, side by side; results in prompt order.

    Inside a tool call they are children of that call. Cancelled, all are stopped and
    joined, and counted.

    Args:
        agent: Who runs them.
        prompts: One text for each run.
        policy: ``"isolate"``: a failure is a result; ``"fail_fast"``: the first
            failure stops the others and is raised; ``first(good)``, ``quorum(n,
            good)``: the others are cancelled once enough are good.
        max_running: How many at once; all when left out.

    Raises:
        ValueError: the policy, or ``max_running``, is none that there is.
        TypeError: ``prompts`` is one text, or holds something else.
        BaseException: with ``fail_fast``, the first failure.
    """
    given = _checked(agent, prompts, policy, max_running)
    supervisor = around.get()
    if supervisor is None:
        async with open_supervisor(grace_s=agent.grace_s) as supervisor:
            return await _Fan(agent, supervisor, given, policy, max_running).run()
    return await _Fan(agent, supervisor, given, policy, max_running).run()


def fan_out(
    agent: "Agent",
    prompts: Iterable[str],
    *,
    policy: "str | Quorum" = "isolate",
    max_running: int | None = None,
) -> tuple[ChildResult, ...]:
    """The same as `afan_out`, from plain code or a plain tool.

    Ctrl+C stops and joins all of them, within the agent's grace, and is raised.

    Raises:
        TypeError: on a trio thread (use `afan_out`), or as `afan_out` does.
        BaseException: as `afan_out` does.
    """
    _check_agent(agent)
    settings: dict[str, Any] = {"policy": policy, "max_running": max_running}
    fan = partial(afan_out, agent, prompts, **settings)
    return from_plain(fan, grace_s=agent.grace_s)


def _check_agent(agent: Any) -> None:
    given: object = agent
    if isinstance(agent, Iterable):
        raise TypeError(
            f"fan_out runs many prompts on one agent, and this is {a_kind(given)}: for "
            f"several agents use supervisor.start"
        )


def _checked(
    agent: "Agent",
    prompts: Iterable[str],
    policy: "str | Quorum",
    max_running: int | None,
) -> tuple[str, ...]:
    _check_agent(agent)
    if isinstance(prompts, str | State):
        raise TypeError(f"prompts= takes a list of texts: write [{prompts!r}]")
    given: tuple[Any, ...] = tuple(prompts)
    for index, prompt in enumerate(given):
        if not isinstance(prompt, str):
            raise TypeError(f"prompts[{index}] is {a_kind(prompt)}, not a str")
    if not isinstance(policy, Quorum) and policy not in ("isolate", "fail_fast"):
        raise ValueError(
            f"policy= is 'isolate', 'fail_fast', first(...) or quorum(n, ...), "
            f"not {policy!r}"
        )
    check_count("max_running", max_running, or_none=True)
    return given
