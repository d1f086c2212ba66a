"""O22: after a crash in mid-turn nothing is done twice that must not be."""

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import trio

from actors import (
    Agent,
    FileStore,
    Inbox,
    MemoryStore,
    Message,
    SQLiteStore,
    State,
    StoppedByQuestion,
    Store,
    open_supervisor,
    tool,
)
from actors._inside import mailbox
from actors.people import DecideByHuman
from actors.testing import FakeModel
from protocol import ResumeWarning, ToolCall


def quiet(model: Any, **settings: Any) -> Agent:
    return Agent(model, **{"reporter": None, "human": None, **settings})


@pytest.fixture(params=["memory", "file", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Store]:
    made: dict[str, Any] = {
        "memory": MemoryStore,
        "file": lambda: FileStore(tmp_path / "states"),
        "sqlite": lambda: SQLiteStore(tmp_path / "states.db"),
    }
    with made[request.param]() as store:
        yield store


def calls(*names: str) -> list[ToolCall]:
    return [ToolCall(id=f"c-{name}", name=name) for name in names]


class Bench:
    """Tools that count their runs, and one that hangs until the process is gone."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.hangs = True

    def tools(self) -> list[Any]:
        bench = self

        @tool
        async def one() -> str:
            bench.ran.append("one")
            return "1"

        @tool(read_only=True)
        async def look(call: Any) -> str:
            bench.ran.append(f"look {call.idempotency_key}")
            if bench.hangs:
                await trio.sleep_forever()
            return "seen"

        @tool(idempotent=True)
        async def pay(call: Any) -> str:
            bench.ran.append(f"pay {call.idempotency_key}")
            if bench.hangs:
                await trio.sleep_forever()
            return "paid"

        @tool
        async def mail() -> str:
            bench.ran.append("mail")
            if bench.hangs:
                await trio.sleep_forever()
            return "sent"

        return [one, look, pay, mail]


async def crash_in_mid_turn(store: Store, bench: Bench, *names: str) -> None:
    """Run until every tool has begun, then leave the store as a dead process would."""
    first = quiet(FakeModel([calls(*names)]), tools=bench.tools(), store=store)
    state = State(id="s", messages=[Message.user("go")])
    async with open_supervisor() as supervisor:
        run = supervisor.start(first, state)
        while len(bench.ran) < len(names):
            await trio.testing.wait_all_tasks_blocked(0.001)
        mailbox(state).close("the process is gone")
        run.cancel_nowait()
    bench.hangs = False


async def test_only_what_has_no_result_runs_again_and_with_the_same_key(
    store: Store,
) -> None:
    bench = Bench()
    await crash_in_mid_turn(store, bench, "one", "pay")
    loaded = await store.aload("s")
    model = FakeModel(["done"])
    assert await quiet(model, tools=bench.tools(), store=store).arun(loaded) == "done"
    assert bench.ran.count("one") == 1
    assert bench.ran.count("pay s.c-pay") == 2
    blocks = model.requests[0].messages[-1].content
    assert [block.output for block in blocks if block.type == "tool_result"] == [
        "1",
        "paid",
    ]
    assert State(history=loaded.history).snapshot() == loaded.snapshot()


async def test_what_may_have_had_its_effect_is_told_so_and_not_run_again(
    store: Store,
) -> None:
    bench = Bench()
    await crash_in_mid_turn(store, bench, "mail", "look")
    loaded = await store.aload("s")
    model = FakeModel(["I shall ask"])
    await quiet(model, tools=bench.tools(), store=store).arun(loaded)
    assert bench.ran.count("mail") == 1
    assert bench.ran.count("look s.c-look") == 2
    text = model.requests[0].messages[-1].text()
    assert "may or may not have had its effect" in text
    outcomes = [e.outcome for e in loaded.history if e.kind == "tool_result"]
    assert sorted(outcomes) == ["aborted", "done"]


async def test_a_request_without_an_answer_is_taken_back_and_asked_again(
    store: Store,
) -> None:
    async def hang(request: Any) -> str:
        await trio.sleep_forever()
        raise AssertionError

    state = State(id="s", messages=[Message.user("go")])
    async with open_supervisor() as supervisor:
        run = supervisor.start(quiet(FakeModel([hang]), store=store), state)
        while state.phase != "thinking":
            await trio.testing.wait_all_tasks_blocked(0.001)
        await trio.testing.wait_all_tasks_blocked(0.001)
        mailbox(state).close("the process is gone")
        run.cancel_nowait()
    loaded = await store.aload("s")
    assert loaded.phase == "thinking"
    assert await quiet(FakeModel(["hello"]), store=store).arun(loaded) == "hello"
    assert loaded.turn == 1


@pytest.mark.parametrize("own", [None, MemoryStore], ids=["inherited", "own"])
async def test_a_child_is_gone_on_with_and_its_usage_counted_once(
    store: Store, own: Any
) -> None:
    kept = {"store": own and own()}
    bench = Bench()
    bench_tools = bench.tools()
    child = quiet(FakeModel([calls("pay")]), tools=bench_tools, name="child", **kept)
    call = ToolCall(id="c-child", name="child", args={"prompt": "p"})
    parent = quiet(FakeModel([call]), tools=[child], store=store)
    state = State(id="s", messages=[Message.user("go")])
    async with open_supervisor() as supervisor:
        run = supervisor.start(parent, state)
        while not bench.ran:
            await trio.testing.wait_all_tasks_blocked(0.001)
        kid = state.child(supervisor.tree()[1].id)
        mailbox(kid).close("the process is gone")
        mailbox(state).close("the process is gone")
        run.cancel_nowait()
    bench.hangs = False
    again = quiet(FakeModel(["kid done"]), tools=bench.tools(), name="child", **kept)
    top = quiet(FakeModel(["all done"]), tools=[again], store=store)
    loaded = await store.aload("s")
    assert await top.arun(loaded) == "all done"
    result = next(e for e in loaded.history if e.kind == "tool_result")
    assert (result.content, result.child_ids) == ("kid done", (kid.id,))
    assert loaded.usage.requests == 4
    assert len(set(bench.ran)) == 1


@pytest.mark.parametrize("again", [False, True], ids=["aborted", "run again"])
async def test_what_a_run_inside_a_tool_used_is_counted_once(
    store: Store, again: bool
) -> None:
    bench = Bench()

    def helper(*replies: Any) -> Agent:
        return quiet(FakeModel(list(replies)), tools=bench.tools(), name="helper")

    def asking(child: Agent) -> Any:
        @tool(idempotent=again)
        async def ask() -> str:
            return str(await child.arun("p"))

        return ask

    begun = asking(helper(calls("pay")))
    first = quiet(FakeModel([calls("ask")]), tools=[begun], store=store)
    state = State(id="s", messages=[Message.user("go")])
    async with open_supervisor() as supervisor:
        run = supervisor.start(first, state)
        while not bench.ran:
            await trio.testing.wait_all_tasks_blocked(0.001)
        for node in supervisor.tree():
            if node.id != "s":
                mailbox(state.child(node.id)).close("the process is gone")
        mailbox(state).close("the process is gone")
        run.cancel_nowait()
    loaded = await store.aload("s")
    second = quiet(FakeModel(["done"]), tools=[asking(helper("helped"))], store=store)
    assert await second.arun(loaded) == "done"
    result = next(e for e in loaded.history if e.kind == "tool_result")
    assert result.outcome == ("done" if again else "aborted")
    assert len(result.child_ids) == 1 + again
    assert loaded.usage.requests == 2 + 1 + again


async def test_an_approval_is_given_days_later_and_the_call_runs_once(
    store: Store,
) -> None:
    bench = Bench()
    bench.hangs = False
    asking = {"permissions": [DecideByHuman()], "human": Inbox(wait_s=0)}
    first = quiet(
        FakeModel([calls("mail")]), tools=bench.tools(), store=store, **asking
    )
    state = State(id="s", messages=[Message.user("go")])
    await first.arun(state)
    assert isinstance(state.stopped, StoppedByQuestion)
    assert [call.name for call in state.pending_calls] == ["mail"]
    assert bench.ran == []

    loaded = await store.aload("s")
    (question,) = loaded.questions
    loaded.answer_question(question.id, "yes")
    with pytest.raises(ValueError, match="open"):
        loaded.answer_question(question.id, "no")
    second = quiet(FakeModel(["sent"]), tools=bench.tools(), store=store, **asking)
    assert await second.arun(loaded) == "sent"
    assert bench.ran == ["mail"]


async def test_another_agent_that_goes_on_is_named_with_what_changed(
    store: Store,
) -> None:
    state = State(id="s", messages=[Message.user("go")])
    await quiet(FakeModel(["a"]), name="old", store=store).arun(state)
    loaded = await store.aload("s")
    loaded.add_message(Message.user("more"))
    agent = quiet(FakeModel(["b", "c"]), name="new", system="be", store=store)
    with pytest.warns(ResumeWarning) as seen:
        await agent.arun(loaded)
    changes = seen[0].message.changes  # type: ignore[union-attr] # a ResumeWarning
    assert set(changes) == {"name", "system_sha256"}
    assert changes["name"] == ("old", "new")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded.add_message(Message.user("again"))
        await agent.arun(loaded)
