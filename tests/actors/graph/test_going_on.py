"""A graph whose process ended at any of its writes, gone on with in another."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import trio
import trio.testing

from actors import (
    END,
    START,
    Agent,
    AgentState,
    CompiledGraph,
    CurrentCall,
    FunctionModel,
    MemoryStore,
    Message,
    Request,
    RunCancelled,
    StateGraph,
    Store,
    ToolNode,
    interrupt,
    tool,
)
from actors.testing import FakeModel, tool_call
from tests.graphs import chain, chain_of, says, thread, user


class Copied(MemoryStore):
    """Keeps what a process would find that begins after each of its writes."""

    def __init__(self, shop: "Shop") -> None:
        super().__init__()
        self.shop = shop
        self.copies: list[tuple[MemoryStore, int]] = []
        """Each with the number of payments that had been made."""

    async def awrite(
        self,
        state_id: str,
        entries: Sequence[bytes],
        info: Any,
        *,
        expected: int,
    ) -> None:
        await super().awrite(state_id, entries, info, expected=expected)
        copy = MemoryStore()
        for saved in self.list():
            record = self.read(saved.id)
            assert record is not None, "listed"
            copy.write(saved.id, record.entries, record.info, expected=0)
        self.copies.append((copy, self.shop.paid.total()))


class Shop:
    """Agents that pay three times, the last time by way of a clerk."""

    def __init__(self) -> None:
        self.paid: Counter[str] = Counter()
        self.fails_at: int | None = None
        """The turn in which the model fails, once."""

    def agent(self, name: str = "boss", **settings: Any) -> Agent:
        pay = self._pay()
        clerk = self._asking("clerk", [[tool_call("pay")], "paid it"], tools=[pay])
        script = [
            [tool_call("pay"), tool_call("pay")],
            [tool_call("clerk", prompt="pay")],
            "all paid",
        ]
        if "tool_node" not in settings:
            settings["tools"] = [pay, clerk]
        self.tools = [pay, clerk]
        return self._asking(name, script, **settings)

    def _asking(self, name: str, script: list[Any], **settings: Any) -> Agent:
        def rule(request: Request) -> Any:
            turn = sum(message.role == "assistant" for message in request.messages)
            if name == "boss" and turn == self.fails_at:
                self.fails_at = None
                raise OSError("down")
            return script[turn]

        settings = {"reporter": None, "human": None, **settings}
        return Agent(FunctionModel(rule, name="rule"), name=name, **settings)

    def _pay(self) -> Any:
        @tool
        async def pay(call: CurrentCall) -> str:
            self.paid[call.idempotency_key] += 1
            return "paid"

        return pay


def one_node(shop: Shop, store: Store) -> CompiledGraph:
    return chain(("a", shop.agent()), checkpointer=store)


def side_by_side(shop: Shop, store: Store) -> CompiledGraph:
    graph = StateGraph(AgentState)
    for name in "ab":
        graph.add_node(name, shop.agent())
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return graph.compile(checkpointer=store)


def with_a_tool_node(shop: Shop, store: Store) -> CompiledGraph:
    graph = StateGraph(AgentState)
    graph.add_node("a", shop.agent(tool_node="t"))
    graph.add_node("t", ToolNode(shop.tools))
    graph.add_edge(START, "a")
    graph.add_edge("t", "a")
    graph.add_conditional_edges(
        "a",
        lambda state: "t" if state.context[-1].tool_calls else END,
        {"t": "t", END: END},
    )
    return graph.compile(checkpointer=store)


def inside_of_another(shop: Shop, store: Store) -> CompiledGraph:
    inner = chain_of(("a", shop.agent()), ("b", says("all paid"))).compile()
    return chain(("inner", inner), checkpointer=store)


MAKERS = (one_node, side_by_side, with_a_tool_node, inside_of_another)

Maker = Callable[[Shop, Store], CompiledGraph]


def requests_in(store: Store) -> int:
    """How many requests were answered, in whatever State."""
    entries = [e for saved in store.list() for e in store.load(saved.id).history]
    replies = [entry.content for entry in entries if entry.kind == "model_reply"]
    return sum(reply.usage.requests for reply in replies)


@pytest.mark.parametrize("make", MAKERS)
async def test_wherever_a_process_ends_no_call_is_repeated_and_usage_adds_up(
    make: Maker,
) -> None:
    first = Shop()
    store = Copied(first)
    await make(first, store).ainvoke(user("go"), thread())
    used, payments = store.load("t").usage.requests, first.paid.total()
    for copy, paid in store.copies[:-1]:
        if not copy.load("t").history[1:]:
            continue  # it had not begun
        again = Shop()
        result = await make(again, copy).ainvoke(None, thread())
        assert result["messages"][-1].text() == "all paid"
        assert paid + again.paid.total() <= payments
        assert copy.load("t").usage.requests == requests_in(copy) == used


@pytest.mark.parametrize("turn", [0, 1, 2])
@pytest.mark.parametrize("make", MAKERS)
async def test_what_an_agent_has_done_stands_when_its_model_failed(
    make: Maker, turn: int
) -> None:
    shop, store = Shop(), MemoryStore()
    shop.fails_at = turn
    app = make(shop, store)
    with pytest.raises(OSError, match="down"):
        await app.ainvoke(user("go"), thread())
    result = await app.ainvoke(None, thread())
    assert result["messages"][-1].text() == "all paid"
    assert set(shop.paid.values()) == {1}
    assert len(shop.paid) == (6 if make is side_by_side else 3)
    assert store.load("t").usage.requests == requests_in(store)


@pytest.mark.parametrize("how", ["it failed", "it was stopped"])
async def test_only_the_call_that_was_cut_off_runs_again(how: str) -> None:
    ran: list[str] = []
    working = trio.Event()

    @tool
    async def pay() -> str:
        ran.append("pay")
        return "paid"

    @tool
    async def work() -> str:
        ran.append("work")
        if ran.count("work") == 1:
            working.set()
            if how == "it failed":
                raise OSError("down")
            await trio.sleep_forever()
        return "worked"

    model = FakeModel([tool_call("pay"), [tool_call("pay"), tool_call("work")], "done"])
    store = MemoryStore()
    app = chain(("a", Agent(model, tools=[pay, work])), checkpointer=store)

    async def stop() -> None:
        await working.wait()
        await trio.testing.wait_all_tasks_blocked()
        await app.astop(thread())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stop)
        with pytest.raises((OSError, RunCancelled)):
            await app.ainvoke(user("go"), thread())
    result = await app.ainvoke(None, thread())
    shown = [str(message.text()) for message in result["messages"]]
    assert shown[-2:] == ["paidworked", "done"]
    assert ran == ["pay", "pay", "work", "work"]
    assert len(model.requests) == store.load("t").usage.requests == 3


async def test_an_agent_with_a_store_of_its_own_goes_on_from_there() -> None:
    paid: list[str] = []

    @tool
    async def pay() -> str:
        paid.append("paid")
        return "paid"

    @tool
    async def ask() -> str:
        return str(interrupt("sure?"))

    calls = [tool_call("pay"), tool_call("ask")]
    threads, own = MemoryStore(), MemoryStore()

    def app(*replies: Any) -> CompiledGraph:
        agent = Agent(FakeModel(list(replies)), tools=[pay, ask], store=own)
        return chain(("a", agent), checkpointer=threads)

    paused = await app(calls).ainvoke({"messages": [Message.user("go")]}, thread())
    assert paused["interrupts"][0].value == "sure?"
    result = await app("done").ainvoke({"resume": "yes"}, thread())
    assert result["messages"][-1].text() == "done"
    assert paid == ["paid"]
