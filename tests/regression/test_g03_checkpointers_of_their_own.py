"""G3: two compiled graphs store only in their own checkpointers."""

from typing import Any

import pytest
import trio

from actors import MemoryStore
from tests.graphs import adds, chain, thread


def ids(store: MemoryStore) -> list[str]:
    return sorted(saved.id for saved in store.list())


@pytest.mark.parametrize("own", [True, False])
async def test_graphs_run_in_turn_and_at_once_store_only_in_their_own(
    own: bool,
) -> None:
    stores = [MemoryStore() if own else None for _ in range(2)]
    apps: list[Any] = [
        chain(("a", adds(number)), checkpointer=store)
        for number, store in enumerate(stores, 1)
    ]
    for app in apps:
        await app.ainvoke({}, thread("same"))
    async with trio.open_nursery() as nursery:
        for number, app in enumerate(apps):
            nursery.start_soon(app.ainvoke, {}, thread("same"))
            nursery.start_soon(app.ainvoke, {}, thread(f"only-{number}"))
    assert apps[0].checkpointer is not apps[1].checkpointer
    for number, app in enumerate(apps):
        assert ids(app.checkpointer) == [f"only-{number}", "same"]
        assert (await app.aget_state(thread("same"))).total == 2 * (number + 1)
