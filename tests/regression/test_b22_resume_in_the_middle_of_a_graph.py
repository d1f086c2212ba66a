"""O22 for graphs: a process that ends in the middle; only what was left runs again."""

from collections import Counter
from typing import Any

import trio
import trio.testing

from actors import CurrentCall, MemoryStore, Message, State, ToolNode, tool
from tests.graphs import asks, chain, fan, thread
from tests.graphs import call as a_call


async def dropped(store: MemoryStore, run: Any) -> MemoryStore:
    """What another process finds after this one was killed where all is waiting."""
    snapshots: dict[str, Any] = {}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()
        for saved in store.list():
            record = store.read(saved.id)
            assert record is not None
            snapshots[saved.id] = record
        nursery.cancel_scope.cancel()
    for state_id, record in snapshots.items():
        store.delete(state_id)
        store.write(state_id, record.entries, record.info, expected=0)
    return store


async def test_done_nodes_do_not_run_again() -> None:
    runs: Counter[str] = Counter()
    hang = [True]

    def node(name: str) -> Any:
        async def run(state: Any) -> dict[str, Any]:
            runs[name] += 1
            if name == "b" and hang:
                await trio.sleep_forever()
            return {"log": [name]}

        return run

    def app(store: Any) -> Any:
        return fan(*[(name, node(name)) for name in "abc"], checkpointer=store)

    store = MemoryStore()

    async def run() -> None:
        await app(store).ainvoke({}, thread())

    await dropped(store, run)
    hang.clear()
    result = await app(store).ainvoke(None, thread())
    assert result["state"].log == ["a", "b", "c"]
    assert runs == {"a": 1, "b": 2, "c": 1}


async def test_only_the_third_call_runs_again_with_the_same_key() -> None:
    keys: list[str] = []
    runs: Counter[int] = Counter()
    hang = [True]

    @tool(idempotent=True)
    async def work(number: int, call: CurrentCall) -> str:
        runs[number] += 1
        if number == 3:
            keys.append(call.idempotency_key)
            if hang:
                await trio.sleep_forever()
        return f"result {number}"

    async def ask(state: Any) -> Message:
        return asks(*[a_call(str(n), "work", number=n) for n in (1, 2, 3)])

    def app(store: Any) -> Any:
        return chain(
            ("ask", ask),
            ("tools", ToolNode([work], max_parallel=1)),
            checkpointer=store,
        )

    store = MemoryStore()

    async def run() -> None:
        await app(store).ainvoke({}, thread())

    await dropped(store, run)
    hang.clear()
    result = await app(store).ainvoke(None, thread())
    outputs = [block.output for block in result["state"].context[-1].content]
    assert outputs == ["result 1", "result 2", "result 3"]
    assert runs == {1: 1, 2: 1, 3: 2}
    assert len(keys) == 2
    assert keys[0] == keys[1]
    assert isinstance(store.load("t"), State)
