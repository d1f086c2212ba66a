"""A node of a graph as a node of the tree: it ends with exactly one entry.

1. It is a piece of work of the thread's State, as a call is one of a conversation: its
   children are summed in it, and it is given up when it does not stop.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from actors._calls import CallNode
from actors._inside import send, value_of_state
from actors._run_node import RunNode
from actors._saving import save_soon
from protocol import (
    ActorClosed,
    AgentState,
    Exchange,
    ModelEvent,
    ToolCall,
    ToolOutcomeKind,
)
from protocol._commands import EndNode, NoteEvent, NoteExchange
from protocol._entry import Content
from protocol._graph_entries import Interrupt, NodeEnd, NodeOutcome, NodeTask
from protocol._graph_value import GraphThread
from protocol._state_updates import copy_for_node

from ._config import Config
from ._events import CustomValue
from ._plan import NodePlan

if TYPE_CHECKING:
    from ._stream import InnerListener, Listener

_OUTCOMES: Mapping[ToolOutcomeKind, NodeOutcome] = {
    "cancelled": "cancelled",
    "interrupted": "cancelled",
}


class PartNode(RunNode):
    """A run that is a part of a node of a graph, and no subagent.

    It takes nothing from the limits on children and depth.
    """

    __slots__ = ()

    counted = False


class GraphNode(CallNode):
    """One task of a step."""

    __slots__ = (
        "answers",
        "asked",
        "config",
        "copy",
        "failure",
        "is_alone",
        "listener",
        "plan",
        "questions",
        "task",
        "was_tried",
    )

    def __init__(
        self,
        parent: RunNode,
        plan: NodePlan,
        task: NodeTask,
        *,
        config: Config,
        copy: AgentState,
    ) -> None:
        call = ToolCall(id=task.id, name=task.node)
        super().__init__(parent.supervisor, parent, parent.state, call)
        self.task = task
        self.plan = plan
        self.config = config
        self.copy = copy
        self.listener: Listener | InnerListener | None = None
        self.is_alone = False
        """Whether it runs in the run's own task."""
        self.answers = self.thread.answers
        self.was_tried = self.earlier_child is not None
        """Whether an earlier try of this task has left a State."""
        self.asked: dict[str, int] = {}
        self.questions: tuple[Interrupt, ...] = ()
        self.failure: BaseException | None = None

    @property
    def thread(self) -> GraphThread:
        """Where the thread is now."""
        thread = value_of_state(self.state).open
        assert type(thread) is GraphThread, "a run of the graph is under way"
        return thread

    def emit(self, value: Any) -> None:
        """Give a value to whoever streams the run; from any thread."""
        if self.listener is not None:
            event = CustomValue(node=self.task.node, value=value)
            self.listener.give_from_anywhere(event)

    @property
    def earlier_child(self) -> str | None:
        """The State that holds what an earlier try of this task has done."""
        return self.thread.children.get(self.task.id)

    def copy_for_tool(self) -> AgentState:
        """A copy of the state for a tool of this node."""
        return copy_for_node(self.copy, self.copy.execution_meta)

    def finish(self, end: NodeEnd) -> bool:
        """Record the node's one end; False when it has one already."""
        if self.outcome is not None:
            return False
        self.outcome = "done" if end.outcome == "done" else "error"
        self.reported = self.usage
        with suppress(ActorClosed):  # the thread was closed: nothing can be kept
            send(self.state, EndNode(end, self.usage, tuple(self.child_ids)))
        return True

    def close(
        self,
        content: Content,
        outcome: ToolOutcomeKind,
        error: BaseException | None = None,
    ) -> bool:
        """Record that the node ended without an update."""
        self.failure = error
        return self.finish(
            NodeEnd(
                task_id=self.task.id,
                node=self.task.node,
                outcome=_OUTCOMES.get(outcome, "error"),
                text=str(content),
            )
        )

    def wait_for(self, questions: tuple[Interrupt, ...]) -> None:
        """Record that the node waits for answers."""
        self.questions = questions
        end = NodeEnd(task_id=self.task.id, node=self.task.node, outcome="interrupted")
        self.finish(end)

    def report_late(self, content: Content, outcome: ToolOutcomeKind) -> None:
        """Record that something of it came when it had ended.

        It changes nothing, but what was used since counts.
        """
        grown = self.usage.since(self.reported)
        self.reported = self.usage
        text = f"{self.task.node} ended later ({outcome}): {content}"
        event = ModelEvent(kind="late", message=text)
        with suppress(ActorClosed):
            send(self.state, NoteEvent(event))
            if grown.requests:
                exchange = Exchange(question=text, answer=None)
                send(self.state, NoteExchange("ask", exchange, grown))
            save_soon(self.supervisor, self.state)
