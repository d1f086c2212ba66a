"""O23 for graphs: one thread opened by two owners is never a forked chain."""

from pathlib import Path
from typing import Any

import pytest
import trio

from actors import FileStore, StoreConflict
from tests.graphs import chain, kept, thread, user


async def test_the_first_owner_is_fenced_and_its_next_append_raises(
    tmp_path: Path,
) -> None:
    runs, go_on = trio.Event(), trio.Event()
    both: list[Any] = []

    def app(store: FileStore, *, waits: bool) -> Any:
        async def node(state: Any) -> str:
            if waits:
                runs.set()
                await go_on.wait()
            return "mine" if waits else "theirs"

        return chain(("a", node), checkpointer=store)

    first = app(FileStore(tmp_path), waits=True)
    second = app(FileStore(tmp_path), waits=False)

    async def run_first() -> None:
        with pytest.raises(StoreConflict):
            await first.ainvoke(user("one"), thread())
        both.append("first")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_first)
        await runs.wait()
        both.append(await second.ainvoke(user("two"), thread()))
        go_on.set()
    loaded = kept(second)
    assert [message.text() for message in loaded.messages] == ["one", "two", "theirs"]
    assert both[-1] == "first"
