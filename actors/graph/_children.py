"""States below a node: what it asks of models and tools, or the thread of a graph."""

from collections.abc import Sequence

from actors._inside import library_of, send
from actors._saving import save
from actors._state import State
from actors.stores import Store
from protocol import Question
from protocol._commands import StartNode
from protocol._graph_entries import Interrupt

from ._work import GraphNode


async def child_of(node: GraphNode, store: Store | None = None) -> State | None:
    """The State that an earlier try of this task has left, or None.

    Args:
        node: The task.
        store: Where the State is kept, if not with the thread.
    """
    child_id = node.earlier_child
    if child_id is None:
        return None
    try:
        return await node.state.achild(child_id)
    except (ValueError, LookupError):
        if store is None:
            return None  # it was never saved, or no store is bound: begin again
    try:
        return await store.aload(child_id)
    except LookupError:
        return None


async def begin(node: GraphNode, child: State | None) -> None:
    """Record that the node runs, and which State holds its work, before any effect."""
    send(node.state, StartNode(node.task, None if child is None else child.id))
    if child is not None and library_of(node.state) is not None:
        await save(node.state)


def left_open(node: GraphNode, questions: Sequence[Question]) -> tuple[Interrupt, ...]:
    """Questions to people that nobody answers now, as what the run waits for."""
    return tuple(
        Interrupt(
            each.id,
            node.task.node,
            {
                "question": each.prompt,
                "call": None if each.call is None else each.call.name,
                "returns": each.returns,
            },
        )
        for each in questions
    )


def pass_answers_on(node: GraphNode, child: State) -> None:
    """Answer what an earlier try has asked people, where this run has the answer."""
    for question in child.questions:
        if question.id in node.answers:
            child.answer_question(question.id, node.answers[question.id])
