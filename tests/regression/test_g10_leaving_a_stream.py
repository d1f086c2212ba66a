"""G10: a consumer that leaves a stream leaves a saved thread."""

from typing import Any

import pytest
import trio

from tests.graphs import adds, chain, texts, thread, user


async def slow(state: Any) -> dict[str, Any]:
    await trio.sleep_forever()
    return {}


@pytest.mark.parametrize("read", range(1, 5))
async def test_everything_committed_so_far_is_saved(read: int) -> None:
    app = chain(("a", adds(1)), ("b", adds(1)), ("c", slow))
    states = []
    async with app.astream(user("hi"), thread()) as events:
        number = 0
        async for event in events:
            if event.kind == "state":
                states.append(event.state.total)
            number += 1
            if number == read:
                break
    saved = await app.aget_state(thread())
    assert texts(saved.context) == ["hi"]
    assert saved.total >= states[-1]
    assert saved.execution_meta.stop_current_execution == "stopped"
    app_again = chain(("a", adds(1)), checkpointer=app.checkpointer)
    result = await app_again.ainvoke(user("more"), thread())
    assert result["state"].total == saved.total + 1
