"""O16: a call far down waits for an approval, which comes days later, elsewhere."""

from collections.abc import Iterator
from typing import Any

import pytest

from actors import (
    Agent,
    DecideByHuman,
    FileStore,
    Inbox,
    MemoryStore,
    Message,
    SQLiteStore,
    State,
    StoppedByQuestion,
    Store,
    tool,
)
from actors.testing import FakeModel
from protocol import StoreConflict, ToolCall


@pytest.fixture(params=["memory", "file", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Store]:
    made: dict[str, Any] = {
        "memory": MemoryStore,
        "file": lambda: FileStore(tmp_path / "states"),
        "sqlite": lambda: SQLiteStore(tmp_path / "states.db"),
    }
    with made[request.param]() as store:
        yield store


class Family:
    """Agents that are all named the same; the last one's tool needs an approval."""

    def __init__(self, depth: int, store: Store | None) -> None:
        self.ran: list[str] = []
        self.depth = depth
        self.store = store

    def agent(self, scripts: list[list[Any]], below: Any = None) -> Agent:
        """The agent at the top; ``scripts`` gives each level's replies, root first."""
        ran = self.ran

        @tool
        async def risky(what: str) -> str:
            ran.append(what)
            return "done"

        made: Any = risky
        for script in reversed(scripts):
            made = Agent(
                FakeModel(script),
                tools=[made],
                name="same",
                reporter=None,
                human=Inbox(wait_s=0),
                permissions=None if made is not risky else [DecideByHuman("risky")],
                store=self.store,
            )
        top: Agent = made
        return top

    def asking(self) -> Agent:
        """Everybody delegates, and the last one calls the risky tool."""
        down = [[ToolCall(id="c", name="same", args={"prompt": "p"})]]
        last = [[ToolCall(id="r", name="risky", args={"what": "x"})]]
        return self.agent(down * self.depth + last)

    def answering(self) -> Agent:
        """The same agents in another process: each has one last word left."""
        levels = [[f"level {n}"] for n in range(self.depth + 1)]
        return self.agent(levels)


@pytest.mark.parametrize("depth", [0, 1, 2, 4])
async def test_the_approved_call_runs_once_in_another_process(
    depth: int, store: Store
) -> None:
    family = Family(depth, store)
    root = State(id="root", messages=[Message.user("go")])
    await family.asking().arun(root)
    assert isinstance(root.stopped, StoppedByQuestion)
    (question,) = root.stopped.questions
    assert len(root.pending_calls) == 1
    assert question.path[0] == "root"
    assert question.path[-1] == question.state_id
    assert len(question.path) == 1 + 2 * depth
    assert family.ran == []

    asker = await store.aload(question.state_id)
    asker.answer_question(question.id, "yes")
    await store.asave(asker)
    loaded = await store.aload("root")
    assert await family.answering().arun(loaded) == "level 0"
    assert family.ran == ["x"]
    assert loaded.usage.requests == 2 * (depth + 1)
    assert loaded.pending_calls == ()


@pytest.mark.parametrize("depth", [0, 2])
async def test_a_rejection_works_the_same_way(depth: int, store: Store) -> None:
    family = Family(depth, store)
    root = State(id="root", messages=[Message.user("go")])
    await family.asking().arun(root)
    assert isinstance(root.stopped, StoppedByQuestion)
    (question,) = root.stopped.questions
    asker = await store.aload(question.state_id)
    asker.answer_question(question.id, "too risky")
    await store.asave(asker)
    loaded = await store.aload("root")
    assert await family.answering().arun(loaded) == "level 0"
    assert family.ran == []
    asker = await store.aload(question.state_id)
    assert "too risky" in asker.messages[2].text()


async def test_of_two_that_load_it_one_wins_and_the_other_is_told(
    store: Store,
) -> None:
    family = Family(0, store)
    root = State(id="root", messages=[Message.user("go")])
    await family.asking().arun(root)
    one, two = await store.aload("root"), await store.aload("root")
    for copy in (one, two):
        copy.answer_question(copy.questions[0].id, "yes")
    assert await family.answering().arun(one) == "level 0"
    with pytest.raises(StoreConflict):
        await family.answering().arun(two)
    assert family.ran == ["x"]


async def test_without_a_store_the_same_process_goes_on_with_the_same_children() -> (
    None
):
    family = Family(2, None)
    root = State(messages=[Message.user("go")])
    await family.asking().arun(root)
    assert isinstance(root.stopped, StoppedByQuestion)
    (question,) = root.stopped.questions
    asker = root
    while asker.id != question.state_id:
        asker = asker.child(question.path[question.path.index(asker.id) + 2])
    asker.answer_question(question.id, "yes")
    assert await family.answering().arun(root) == "level 0"
    assert family.ran == ["x"]
    assert root.usage.requests == 6
