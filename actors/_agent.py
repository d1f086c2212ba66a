"""`Agent`: immutable settings, and everything that can be asked of an agent.

1. An agent holds no conversation: one object runs any number of States at once.
2. All settings are checked where they are given; building an agent touches no network
   and needs no key.
3. Each plain method has an ``a`` twin that does the same steps and leaves the same
   history.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import attrs
import trio

from protocol import AgentInfo, Reply

from . import _ask, _settings
from ._asking import QuestionsLeftOpen
from ._drive import drive, leave_open
from ._fan_out import ChildResult, afan_out
from ._inside import bind, library_of, run_of, value_of_state
from ._limits import Limits
from ._loop import adefault_loop, default_loop
from ._node import current
from ._run_node import PlainBody, RunNode
from ._starting import as_state
from ._state import State
from ._step import step_of
from ._stream import Stream, open_stream
from ._supervisor import GRACE_S, Supervisor, around, open_supervisor
from ._sync import from_plain, run_from_plain
from ._think import think
from ._tokens import context_tokens
from .models import Model, ToolSpec
from .people import Human, Permission, Reporter
from .people._dispatch import Dispatch, dispatch_to
from .tools._runner import Turn
from .tools._tool import Tool


@attrs.frozen(kw_only=True, eq=False, init=False)
class Agent:
    """A model, its instructions, its tools, and the rules of its runs; frozen.

    Args:
        model: A `Model`, or the name of one: ``anthropic/...`` or ``claude-...``,
            ``openai/...`` or ``gpt-...``, ``google/...`` or ``gemini-...``,
            ``ollama/...``, or any name together with ``base_url``.
        system: Instructions that come before every conversation.
        tools: Functions, `Tool` objects, or agents.
        tool_node: In a graph, the node that runs this agent's calls.
        loop: What a run does; `adefault_loop` when left out.
        reporter: Who looks on: the process's Terminal, or that of the agent above;
            None is silent.
        human: Who is asked: likewise; None is nobody.
        store: Where States are saved; None keeps them in memory only.
        permissions: A list of permissions; None checks nothing and ``[]`` denies all.
        name: How a parent's model calls this agent, and what histories say.
        description: What a parent's model reads about it.
        limits: What one run, and everything below it, may use.
        trim_context: In a graph, whether the context manager trims what is asked.
        busy: What a second run of a State meets: ``reject``, ``queue``, ``interrupt``.
        max_parallel: Calls of one turn that run at once.
        siblings: Whether a failing call lets its siblings go on (``keep``) or not
            (``cancel``).
        on_error: What an exception of a tool that is no `ToolError` does: ``raise``
            stops the run, ``result`` lets the model see it.
        grace_s: Seconds that clean-up may take when something is stopped.
        base_url: Address of a provider that speaks the OpenAI format.
        client: A provider's own SDK client, to be used instead of ours.

    Raises:
        TypeError, ValueError: a setting is wrong; the text says what to write instead.
    """

    model: Model
    system: str | None
    tools: tuple[Tool, ...]
    tool_node: str | None
    loop: Callable[["Agent", State], Any] | None
    reporter: Any
    human: Any
    store: Any
    permissions: tuple[Permission, ...] | None
    name: str | None
    description: str | None
    limits: Limits | None
    trim_context: bool
    busy: str
    max_parallel: int
    siblings: str
    on_error: str
    grace_s: float
    base_url: str | None
    client: Any
    tool_map: Mapping[str, Tool]
    """The tools by name."""
    specs: tuple[ToolSpec, ...]
    """The tools as the model gets to know them."""
    info: AgentInfo
    """What a history says of who ran."""

    def __init__(
        self,
        model: Model | str,
        *,
        system: str | None = None,
        tools: Sequence[Any] = (),
        tool_node: str | None = None,
        loop: Callable[["Agent", State], Any] | None = None,
        reporter: Any = _settings.INHERIT,
        human: Human | None = _settings.INHERIT,
        store: Any = None,
        permissions: Sequence[Permission] | None = None,
        name: str | None = None,
        description: str | None = None,
        limits: Limits | None = None,
        trim_context: bool = False,
        busy: str = "reject",
        max_parallel: int = 32,
        siblings: str = "keep",
        on_error: str = "raise",
        grace_s: float = GRACE_S,
        base_url: str | None = None,
        client: Any = None,
    ) -> None:
        settings = _settings.checked({k: v for k, v in locals().items() if k != "self"})
        make: Any = getattr(self, "__attrs_init__")  # noqa: B009 - attrs makes it
        make(**settings, **_settings.derived(settings))

    def copy(self, **changes: Any) -> "Agent":
        """An agent with these settings changed.

        Raises:
            TypeError: there is no such setting.
        """
        settings = {name: getattr(self, name) for name in _settings.NAMES}
        if "model" not in changes:  # it is made already, with both of these
            settings |= {"base_url": None, "client": None}
        return Agent(**{**settings, **changes})

    def context_tokens(self, state: State) -> int:
        """Tokens in the context: as the provider counted them, the rest estimated."""
        return context_tokens(self, state)

    def context_used(self, state: State) -> float:
        """The part of the model's window that is full; 0 when the window is unknown."""
        window = self.model.context_window
        return 0.0 if not window else self.context_tokens(state) / window

    # Runs

    async def arun(self, prompt_or_state: str | State) -> Any:
        """Run a State until its loop ends; returns what the loop returns.

        A text makes a fresh State. Inside `open_supervisor` the run joins it; inside a
        tool call it is a child of that call, in a task of its own; elsewhere it opens
        a supervisor for itself and waits for everything that it started.

        Cancelled: what runs below is stopped and joined within ``grace_s``, open calls
        are closed as interrupted, what it used is summed; then the cancel goes on.

        Raises:
            TypeError: the loop is a plain function: use `run`.
            ValueError: the State is finished, or runs already and ``busy`` is reject.
            RunCancelled: somebody cancelled this run; ``reason`` says why.
            BudgetExceeded: a limit above this run is reached.
            BaseException: what left the run, the very exception.
        """
        _settings.check_loop(self.loop, wanted_async=True)
        return await self._run_as_asked(as_state(prompt_or_state))

    async def _run_as_asked(self, state: State, plain: PlainBody | None = None) -> Any:
        """Run where this was called: joined, below a call, or on its own."""
        supervisor = around.get()
        if supervisor is None:
            async with open_supervisor(grace_s=self.grace_s) as supervisor:
                return await self._run_here(supervisor, state, plain, alone=True)
        if current.get() is None:
            return await self._run_here(supervisor, state, plain, alone=False)
        node = RunNode.root(supervisor, self, state)
        node.plain = plain
        supervisor._spawn(node, self._drive, node)
        await node.wait_or_stop(self.grace_s)
        return node.result()

    async def _run_here(
        self, supervisor: Supervisor, state: State, plain: PlainBody | None, alone: bool
    ) -> Any:
        """Run in this very task."""
        node = RunNode.root(supervisor, self, state)
        node.plain, node.is_alone = plain, alone
        token = current.set(node)
        try:
            with node.scope:
                await drive(self, node)
        finally:
            current.reset(token)
            supervisor._forget(node)
        if isinstance(node.error, trio.Cancelled):
            await trio.lowlevel.checkpoint_if_cancelled()
        return node.result()

    def _drive(self, node: RunNode) -> Awaitable[None]:
        """Run a node of the tree in this task; raises only a cancel."""
        return drive(self, node)

    def run(self, prompt_or_state: str | State) -> Any:
        """The same as `arun`, from plain code; the loop's body runs in this thread.

        Ctrl+C cancels the step that the body waits for, and then the run. It waits
        for the end of each, clean-up and threads included, for at most ``grace_s`` and
        a second more, and is raised.

        Raises:
            TypeError: on a trio thread (use `arun`), or the loop is async.
            BaseException: as `arun` does.
        """
        _settings.check_loop(self.loop, wanted_async=False)
        state = as_state(prompt_or_state)
        return run_from_plain(self, state, self.loop or default_loop)

    def _run_loop(self, node: RunNode) -> Awaitable[Any]:
        """Do what the loop says, in this task or in the plain thread that asked."""
        if node.plain is not None:
            return node.plain(self, node.state)
        looped: Awaitable[Any] = (self.loop or adefault_loop)(self, node.state)
        return looped

    # Steps of a run

    async def athink(self, state: State, tools: Sequence[Any] | None = None) -> Reply:
        """Ask the model once, and record its reply.

        Order: limits and phase are checked (nothing recorded if they refuse), the
        request is recorded and saved, the model is asked, the reply is recorded, saved
        and told. A think that finds another one waiting on the model stands in the
        mailbox until that turn has closed. Cancelled, the request is taken back.

        Args:
            state: The conversation.
            tools: Tools for this request only, instead of the agent's.

        Raises:
            ValueError: calls have no result yet, or the State is finished.
            CutOffError: the reply was cut off before it said anything.
            ProviderError: the provider failed, retries included.
            BudgetExceeded: a limit is reached.
            ActorClosed: the State is closed.
        """
        specs = self.specs if tools is None else _settings.specs_of(tools)
        mine = run_of(state)
        if mine is not None and mine.is_here():
            return await think(mine, self.model, self.system, specs)
        async with step_of(self, state) as node:
            return await think(node, self.model, self.system, specs)

    def think(self, state: State, tools: Sequence[Any] | None = None) -> Reply:
        """The same as `athink`, from plain code."""
        return from_plain(self.athink, state, tools, grace_s=self.grace_s)

    async def ause_tools(self, state: State) -> None:
        """Give every pending call its result; does nothing when none is pending.

        Calls that wait for an answer stay pending: outside of a run this then returns,
        with `StoppedByQuestion` in ``state.stopped``; use the tools again once the
        questions are answered.

        Raises:
            ValueError: the State is finished.
            BaseException: the first failure of a call, once all have their result.
        """
        value = value_of_state(state)
        if value.facts.finished:
            _settings.refuse_finished(state, "use tools")
        mine = run_of(state)
        if mine is not None and mine.is_here():
            if value.open is not None:
                await self._settle_calls(mine)
            return
        async with step_of(self, state) as node:
            try:
                await self._settle_calls(node)
            except QuestionsLeftOpen as left:
                if node.beside is None:
                    raise  # the run hears of it, and stops
                await leave_open(node, left)

    def use_tools(self, state: State) -> None:
        """The same as `ause_tools`, from plain code."""
        from_plain(self.ause_tools, state, grace_s=self.grace_s)

    async def _settle_calls(self, node: RunNode) -> None:
        """Give every call that is pending in the node's State its result."""
        calls = value_of_state(node.state).pending
        if node.calls is not None:
            raise ValueError(
                f"cannot use the tools of State {node.state.id!r}: its calls are "
                f"running, and this would run them twice"
            )
        if calls:
            await Turn(node, self.tool_map).use(calls)

    async def aask(
        self, state: State, prompt: str, returns: Any = str, retries: int = 2
    ) -> Any:
        """Ask the model a side question; the conversation's context stays as it is.

        Args:
            state: The conversation that the question is about.
            prompt: The question.
            returns: The type of the answer; str for text.
            retries: How often an answer that does not fit is sent back with all its
                faults.

        Raises:
            OutputError: no answer fitted; it lists the last one's faults.
            ValueError: calls have no result yet, or the State is finished.
        """
        async with step_of(self, state) as node:
            return await _ask.ask(node, self, prompt, returns, retries)

    def ask(
        self, state: State, prompt: str, returns: Any = str, retries: int = 2
    ) -> Any:
        """The same as `aask`, from plain code."""
        asked = (state, prompt, returns, retries)
        return from_plain(self.aask, *asked, grace_s=self.grace_s)

    async def aask_human(self, state: State, prompt: str, returns: Any = str) -> Any:
        """Ask the run's human, and record question and answer.

        Raises:
            NoHumanError: there is nobody to ask.
            OutputError: the answer is not of the type asked for.
        """
        async with step_of(self, state) as node:
            return await _ask.ask_human(node, prompt, returns)

    def ask_human(self, state: State, prompt: str, returns: Any = str) -> Any:
        """The same as `aask_human`, from plain code."""
        asked = (state, prompt, returns)
        return from_plain(self.aask_human, *asked, grace_s=self.grace_s)

    async def acompact(self, state: State, instructions: str | None = None) -> None:
        """Have the model summarise the conversation, and put that in its place.

        Whatever fails leaves the messages as they were.

        Raises:
            ValueError: calls are pending.
        """
        async with step_of(self, state) as node:
            await _ask.compact(node, self, instructions)

    def compact(self, state: State, instructions: str | None = None) -> None:
        """The same as `acompact`, from plain code."""
        from_plain(self.acompact, state, instructions, grace_s=self.grace_s)

    def stream(
        self, prompt_or_state: str | State
    ) -> AbstractAsyncContextManager[Stream]:
        """Run, and give every event of the whole tree as it happens.

        ``async with agent.stream(...) as events: async for event in events: ...``;
        leaving the block early stops the run, joins it, and leaves nothing behind.
        """
        return open_stream(self, as_state(prompt_or_state))

    # For the tree

    async def fan_out(
        self, prompts: Iterable[str], **options: Any
    ) -> tuple[ChildResult, ...]:
        """Run every prompt on this agent; see `afan_out`."""
        return await afan_out(self, prompts, **options)

    def _bind_store(self, node: RunNode) -> None:
        """Bind the State to this agent's store, or to the one above."""
        store = self.store if self.store is not None else node.store_above()
        if store is not None and library_of(node.state) is not store:
            bind(node.state, store)

    def _inherited(self, name: str, above: RunNode | None) -> Any:
        """Who looks on, or is asked: as set here, or as in the run above."""
        return _settings.inherited(getattr(self, name), above, name)

    def _dispatch_to(self, supervisor: Supervisor, reporter: Reporter) -> Dispatch:
        """What carries events to a reporter of any run below this supervisor."""
        return dispatch_to(reporter, supervisor._dispatches, supervisor._at_close)
