"""O21 for graphs: hard values are recorded, or refused by their path."""

import dataclasses
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from actors import FileStore, ImageBlock, MediaRef, Message, NodeError, ToolNode
from protocol._snapshot import value_of
from tests.graphs import asks, call, chain, kept, meaning, thread

IMAGE = ImageBlock(media=MediaRef(kind="url", url="https://example.org/a.png"))


@dataclasses.dataclass
class Half:
    one: int
    two: int = dataclasses.field(init=False)


VALUES: dict[str, Any] = {
    "bytes": b"raw",
    "datetime": datetime(2024, 1, 31, tzinfo=UTC),
    "decimal": Decimal("12.50"),
    "set": {3, 1, 2},
    "nan": float("nan"),
    "counter": Counter("aab"),
    "half": Half(1),
    "image": IMAGE,
}


async def test_no_run_dies_of_what_tools_return(tmp_path: Path) -> None:
    async def hard(name: str) -> Any:
        return VALUES[name]

    async def ask(state: Any) -> Message:
        return asks(*[call(name, "hard", name=name) for name in VALUES])

    app = chain(("ask", ask), ("t", ToolNode([hard])), checkpointer=FileStore(tmp_path))
    result = await app.ainvoke({}, thread())
    blocks = {b.call_id: b for b in result["state"].context[-1].content}
    assert {name for name, block in blocks.items() if block.is_error} == {
        "bytes", "nan", "half",
    }  # fmt: skip
    for name in ("bytes", "nan"):
        assert "result" in blocks[name].output
    assert blocks["image"].output == (IMAGE,)
    live = app._here()._known["t"].state
    loaded = kept(app)
    assert meaning(value_of(loaded.snapshot())) == meaning(value_of(live.snapshot()))


@pytest.mark.parametrize("name", ["bytes", "nan", "half", "image"])
async def test_what_a_field_cannot_hold_is_refused_by_its_path(name: str) -> None:
    async def node(state: Any) -> dict[str, Any]:
        return {"log": [VALUES[name]]}

    with pytest.raises(NodeError) as raised:
        await chain(("a", node)).ainvoke({}, thread())
    assert (raised.value.node, raised.value.field) == ("a", "log")
