"""O22: children in the background when the process dies have one end each."""

from typing import Any

import pytest
import trio

from actors import (
    ActorClosed,
    Agent,
    MemoryStore,
    Message,
    State,
    Usage,
    open_supervisor,
    start_child,
    tool,
)
from actors._inside import mailbox
from actors.testing import FakeModel
from protocol import Reply, TextBlock, ToolCall

# Other agents go on than those that began.
pytestmark = pytest.mark.filterwarnings("ignore::actors.ResumeWarning")

SPENT = Usage(input_tokens=5, output_tokens=2, requests=1)


def quiet(model: Any, **settings: Any) -> Agent:
    return Agent(model, **{"reporter": None, "human": None, **settings})


def reply(said: str | ToolCall) -> Reply:
    block = TextBlock(text=said) if isinstance(said, str) else said
    message = Message(role="assistant", content=(block,))
    return Reply(message=message, usage=SPENT)


@tool(name="hang")
async def hang() -> str:
    await trio.sleep_forever()
    return ""


async def dead_owner(store: MemoryStore, child: Agent, *more: Reply) -> State:
    """An owner whose process died while its child was at work; loaded again.

    Its model gives ``more`` replies for what ends before.
    """

    @tool
    async def send() -> str:
        start_child(child, "look")
        return "sent"

    model = FakeModel([reply(ToolCall(id="c", name="send")), reply("waiting"), *more])
    owner = quiet(model, tools=[send], store=store)
    state = State(id="owner", messages=[Message.user("go")])
    async with open_supervisor() as supervisor:
        run = supervisor.start(owner, state)
        assert await run.wait() == "waiting"
        await trio.testing.wait_all_tasks_blocked()
        for each in (*family(state), state):
            mailbox(each).close("the process is gone")
        run.cancel_nowait()
    return await store.aload("owner")


def family(state: State) -> list[State]:
    """The children of the State and of its children, the last ones first."""
    found: list[State] = []
    for child_id in children(state):
        child = state.child(child_id)
        found += [*family(child), child]
    return found


def children(state: State) -> list[str]:
    return [e.content.child_id for e in state.history if e.kind == "child_start"]


def ends(state: State) -> list[tuple[str, Any]]:
    found = [e.content for e in state.history if e.kind == "child_end"]
    return [(end.outcome, end.text) for end in found]


def at_work() -> Agent:
    model = FakeModel([reply(ToolCall(id="d", name="hang"))])
    return quiet(model, tools=[hang], name="child")


async def test_a_child_whose_agent_is_at_hand_goes_on_where_it_was() -> None:
    store = MemoryStore()
    state = await dead_owner(store, at_work())
    assert ends(state) == []
    child = quiet(FakeModel([reply("seen")]), name="child")
    owner = quiet(FakeModel([reply("and now?"), reply("good")]), tools=[child])
    state.add_message(Message.user("and?"))
    async with open_supervisor() as supervisor:
        await supervisor.start(owner.copy(store=store), state).wait()
    assert ends(state) == [("done", "seen")]
    assert state.usage.requests == 2 + 2 + 2
    again = await store.aload("owner")
    assert ends(again) == ends(state)


async def test_a_child_that_nobody_can_go_on_with_ends_as_interrupted() -> None:
    store = MemoryStore()
    state = await dead_owner(store, at_work())
    model = FakeModel([reply("a pity")])
    await quiet(model, store=store).arun(state)
    assert [outcome for outcome, _ in ends(state)] == ["interrupted"]
    assert state.usage.requests == 2 + 1 + 1
    said = [message.text() for message in model.requests[0].messages]
    assert any("interrupted" in text for text in said)
    again = await store.aload("owner")
    again.add_message(Message.user("more"))
    await quiet(FakeModel([reply("once")]), store=store).arun(again)
    assert len(ends(again)) == 1


async def test_a_child_that_goes_on_sees_to_its_own_children() -> None:
    store, leaf = MemoryStore(), at_work()

    @tool
    async def send() -> None:
        start_child(leaf, "look closer")
        await trio.sleep_forever()

    model = FakeModel([reply(ToolCall(id="m", name="send"))])
    state = await dead_owner(store, quiet(model, tools=[send], name="child"))
    child = quiet(FakeModel([reply("seen")]), name="child")
    owner = quiet(FakeModel([reply("and now?"), reply("good")]), tools=[child])
    state.add_message(Message.user("and?"))
    async with open_supervisor() as supervisor:
        await supervisor.start(owner.copy(store=store), state).wait()
    kid = state.child(children(state)[0])
    assert ends(state) == [("done", "seen")]
    assert [outcome for outcome, _ in ends(kid)] == ["interrupted"]
    assert kid.usage.requests == 1 + 1 + 1
    assert state.usage.requests == 2 + 3 + 2


async def test_a_child_that_never_began_ends_as_interrupted() -> None:
    store = MemoryStore()
    state = await dead_owner(store, at_work())
    await store.adelete(children(state)[0])
    await quiet(FakeModel([reply("a pity")]), store=store).arun(state)
    assert [outcome for outcome, _ in ends(state)] == ["interrupted"]
    assert state.usage.requests == 2 + 1


async def test_a_child_that_had_ended_is_told() -> None:
    store = MemoryStore()
    state = await dead_owner(store, at_work())
    kid = await store.aload(children(state)[0])
    kid_agent = quiet(FakeModel([reply("seen")]), tools=[hang], store=store)
    await kid_agent.arun(kid)
    await quiet(FakeModel([reply("good")]), store=store).arun(state)
    assert ends(state) == [("done", "seen")]
    assert state.usage.requests == 2 + 2 + 1


async def test_a_fork_leaves_the_children_to_its_original() -> None:
    store = MemoryStore()
    state = await dead_owner(store, at_work())
    copy = state.fork()
    copy.add_message(Message.user("and?"))
    await quiet(FakeModel([reply("a copy")]), store=store).arun(copy)
    loaded = await store.aload(copy.id)
    loaded.add_message(Message.user("and?"))
    await quiet(FakeModel([reply("a copy")]), store=store).arun(loaded)
    assert ends(loaded) == []


async def test_what_a_child_has_sent_off_goes_up_when_it_ends() -> None:
    store = MemoryStore()

    @tool
    async def send_on() -> str:
        start_child(at_work(), "look")
        return "sent on"

    between = quiet(
        FakeModel([reply(ToolCall(id="b", name="send_on")), reply("my part is done")]),
        tools=[send_on],
        name="between",
    )
    state = await dead_owner(store, between, reply("I see"))
    assert ends(state) == [("done", "my part is done")]
    assert len(children(state)) == 2
    await quiet(FakeModel([reply("a pity")]), store=store).arun(state)
    assert [outcome for outcome, _ in ends(state)] == ["done", "interrupted"]
    assert state.usage.requests == 3 + 2 + 1 + 1
    again = await store.aload(children(state)[0])
    again.add_message(Message.user("more"))
    await quiet(FakeModel([reply("nothing new")]), store=store).arun(again)
    assert ends(again) == []


async def test_a_child_of_a_call_that_was_cut_off_is_counted_with_its_end_alone() -> (
    None
):
    store = MemoryStore()

    @tool
    async def send_and_hang() -> str:
        start_child(at_work(), "look")
        await trio.sleep_forever()
        return ""

    model = FakeModel([reply(ToolCall(id="c", name="send_and_hang"))])
    state = State(id="owner", messages=[Message.user("go")])
    async with open_supervisor() as supervisor:
        agent = quiet(model, tools=[send_and_hang], store=store)
        run = supervisor.start(agent, state)
        await trio.testing.wait_all_tasks_blocked()
        for each in (*(state.child(id) for id in children(state)), state):
            mailbox(each).close("the process is gone")
        run.cancel_nowait()
    loaded = await store.aload("owner")
    again = quiet(FakeModel([reply("a pity")]), tools=[send_and_hang], store=store)
    await again.arun(loaded)
    (result,) = [e for e in loaded.history if e.kind == "tool_result"]
    assert (result.outcome, result.child_ids) == ("aborted", ())
    assert [outcome for outcome, _ in ends(loaded)] == ["interrupted"]
    assert loaded.usage.requests == 1 + 1 + 1


async def test_a_start_that_a_closed_state_refuses_leaves_no_child() -> None:
    raised: list[BaseException] = []

    @tool
    async def send_off(state: State) -> str:
        mailbox(state).close("in this very moment")  # before the run hears of it
        try:
            start_child(at_work(), "look")
        except ActorClosed as error:
            raised.append(error)
        return "sent"

    owner = quiet(
        FakeModel([reply(ToolCall(id="c", name="send_off"))]), tools=[send_off]
    )
    state = State(messages=[Message.user("go")])
    async with open_supervisor() as supervisor:
        run = supervisor.start(owner, state)
        with pytest.raises(ValueError, match="no result yet"):
            await run.wait()
        assert not supervisor.statistics().unstopped
    assert len(raised) == 1
    assert children(state) == []


async def test_a_start_is_saved_before_the_child_does_anything() -> None:
    store = MemoryStore()
    seen: list[int] = []

    def look(_: Any) -> Reply:
        kept = store.read("owner")
        assert kept is not None
        seen.append(sum("child_start" in str(entry) for entry in kept.entries))
        return reply("seen")

    await dead_owner(store, quiet(FakeModel([look]), name="child"))
    assert seen == [1]
