"""G9: resume of an interrupt in one of three parallel nodes runs only that node."""

from collections import Counter
from pathlib import Path
from typing import Any

from actors import FileStore, interrupt
from tests.graphs import fan, thread


async def test_only_the_node_that_asked_runs_again(tmp_path: Path) -> None:
    runs: Counter[str] = Counter()

    def node(name: str) -> Any:
        async def run(state: Any) -> dict[str, Any]:
            runs[name] += 1
            said = interrupt("which?") if name == "b" else name
            return {"log": [said]}

        return run

    def app() -> Any:
        nodes = [(name, node(name)) for name in "abc"]
        return fan(*nodes, checkpointer=FileStore(tmp_path))

    paused = await app().ainvoke({}, thread())
    assert [each.node for each in paused["interrupts"]] == ["b"]
    result = await app().ainvoke({"resume": "B"}, thread())
    assert result["state"].log == ["a", "B", "c"]
    assert runs == {"a": 1, "b": 2, "c": 1}
