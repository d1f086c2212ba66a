"""An agent as a tool: a fresh State for each call, a child of that call.

1. Whatever becomes of the child becomes a result in words; only a limit further up,
   and a cancel, go on through it.
"""

from typing import TYPE_CHECKING, Any

from actors._state import State
from protocol import (
    BudgetExceeded,
    Message,
    RunCancelled,
    StoppedByBudget,
    StoppedByFinish,
    StoppedByUntil,
    ToolError,
)
from protocol._rules import told

from ._tool import Tool, tool

if TYPE_CHECKING:
    from actors._agent import Agent

CAUSE_CHARACTERS = 500
"""Of a child's failure, as much is told: enough for a cause, not a whole trace."""

_IN_THE_WAY = ("depth", "children")
"""Limits that forbid this child, and nothing else: the parent goes on without it."""


def is_agent(item: object) -> bool:
    """Whether this is an agent, known by what it can do."""
    return hasattr(item, "arun") and hasattr(item, "info")


def subagent_tool(agent: "Agent") -> Tool:
    """The tool that runs ``agent`` on a prompt.

    Raises:
        ValueError: the agent has no name: the model could not call it.
    """
    if agent.name is None:
        raise ValueError(
            "an agent in tools= needs a name that the model can call: "
            "Agent(..., name='researcher', description='...')"
        )

    async def run_agent(prompt: str) -> Any:
        return await run_child(agent, prompt)

    made: Tool = tool(
        name=agent.name,
        description=agent.description or f"Ask the agent {agent.name!r}.",
    )(run_agent)
    return made


async def run_child(agent: "Agent", prompt: str) -> Any:
    """Run a child for this call, and give its answer or words about its end.

    Raises:
        ToolError: the child failed; the text names the first cause.
        RunCancelled: somebody cancelled the child.
        BudgetExceeded: a limit above this call's State is reached.
    """
    child = State(messages=[Message.user(prompt)])
    try:
        answer = await agent.arun(child)
    except (RunCancelled, ToolError):
        raise
    except BudgetExceeded as error:
        if error.limit in _IN_THE_WAY:
            raise ToolError(f"not started: {error}") from error
        raise
    except Exception as error:
        cause = told(error)[:CAUSE_CHARACTERS]
        raise ToolError(f"{agent.name} failed: {cause}") from error
    return in_words(child, answer)


def in_words(child: State, answer: Any) -> Any:
    """The answer; or, when the child was stopped short of one, why."""
    stopped = child.stopped
    if stopped is None or isinstance(stopped, StoppedByFinish | StoppedByUntil):
        return answer
    text = "" if answer is None else f" Its last words: {answer}"
    if isinstance(stopped, StoppedByBudget):
        return f"(stopped by its limit on {stopped.limit}).{text}"
    return f"(stopped: {_reason(stopped)}).{text}"


def _reason(stopped: Any) -> str:
    match stopped.kind:
        case "limit":
            return f"it used all of its {stopped.turns} turns"
        case "permission":
            return f"its call of {stopped.call.name!r} was denied"
        case "question":
            return "it waits for somebody to answer"
        case _:
            return str(stopped.kind)
