"""The person who answers open questions, wherever in the tree they stand."""

from typing import TYPE_CHECKING, Any

import trio

from actors import ActorClosed, State

from .reached import reached

if TYPE_CHECKING:
    from .process import Process

ANSWERS = ("yes", "no", "always", "rather not")


async def person(process: "Process") -> None:
    """Look in now and then, and answer what is open."""
    world = process.world
    if not world.settings.human.startswith("inbox"):
        return
    while True:
        await trio.sleep(world.random.choice((0.5, 2.0, 5.0)))
        if world.trouble(0.3):
            continue  # not in the mood
        for question in process.supervisor.questions():
            state = next(
                (run.state for run in process.runs() if run.id == question.state_id),
                None,
            )
            if state is not None:
                answer(process, state, question)


def answer(process: "Process", state: State, question: Any) -> None:
    """Answer once, and now and then once more."""
    world = process.world
    said = world.random.choice(ANSWERS)
    try:
        state.answer_question(question.id, said)
    except (ValueError, ActorClosed):
        return  # closed meanwhile
    world.log(state.id[:12], f"hears {said!r}")
    if world.random.random() < 0.5:
        try:
            state.answer_question(question.id, "no")
        except ValueError:
            reached("an answer was given twice")
        else:
            world.fault(f"{question.id} was answered twice")


async def answer_what_is_left(process: "Process", state: State) -> None:
    """A run stopped with open questions: answer them where they were asked."""
    if process.world.trouble(0.7):
        return  # there is time: another process may put them again
    for question in list(getattr(state.stopped, "questions", ())):
        reached("a question was left open")
        asker = await find(process, state, question)
        if asker is None or question.id not in {q.id for q in asker.questions}:
            continue
        answer(process, asker, question)
        if asker is not state and process.store is not None:
            await process.store.asave(asker)


async def find(process: "Process", state: State, question: Any) -> State | None:
    """The State that asked: as it lives here, else as the store has it."""
    asker: State | None = state
    ids = question.path[1:]
    for call_id, child_id in zip(ids[::2], ids[1::2], strict=False):
        family = None if asker is None else asker._family
        waiting = None if family is None else family.waiting.get(call_id)
        asker = waiting if waiting is not None and waiting.id == child_id else None
    if asker is None and process.store is not None:
        reached("a question was answered for another process")
        asker = await process.store.aload(question.state_id)
        process.met(asker)
    return asker
