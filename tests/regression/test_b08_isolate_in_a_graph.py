"""O8 for graphs: a failing call leaves its siblings' results alone."""

from typing import Any

import pytest

from actors import Message, ToolError, ToolNode
from tests.graphs import asks, call, chain, kept, thread


def app_with(error: Exception, **settings: Any) -> Any:
    async def work(number: int) -> str:
        if number == 3:
            raise error
        return f"result {number}"

    async def ask(state: Any) -> Message:
        return asks(*[call(str(n), "work", number=n) for n in range(1, 6)])

    return chain(("ask", ask), ("tools", ToolNode([work], **settings)))


def results(app: Any) -> list[tuple[str, str]]:
    state = kept(app)
    (child_id,) = [
        e.child_id for e in state.history if e.kind == "node_start" and e.child_id
    ]
    history = state.child(child_id).history
    found = [e for e in history if e.kind == "tool_result"]
    return sorted((e.call.id, e.outcome) for e in found)


async def test_a_tool_error_is_one_error_result_in_call_order() -> None:
    result = await app_with(ToolError("no luck")).ainvoke({}, thread())
    blocks = result["state"].context[-1].content
    wanted = [f"result {n}" for n in range(1, 6)]
    wanted[2] = "no luck"
    assert [block.output for block in blocks] == wanted
    assert [block.is_error for block in blocks] == [False, False, True, False, False]


async def test_another_exception_closes_its_call_and_leaves_the_run_bare() -> None:
    app = app_with(KeyError("x"))
    with pytest.raises(KeyError):
        await app.ainvoke({}, thread())
    outcomes = [(str(n), "aborted" if n == 3 else "done") for n in range(1, 6)]
    assert results(app) == outcomes


async def test_on_error_result_makes_it_a_result() -> None:
    result = await app_with(KeyError("x"), on_error="result").ainvoke({}, thread())
    blocks = result["state"].context[-1].content
    assert [block.is_error for block in blocks] == [False, False, True, False, False]


async def test_siblings_cancel_closes_all_five() -> None:
    app = app_with(KeyError("x"), siblings="cancel", max_parallel=1)
    with pytest.raises(KeyError):
        await app.ainvoke({}, thread())
    assert [outcome for _, outcome in results(app)] == [
        "done", "done", "aborted", "cancelled", "cancelled",
    ]  # fmt: skip
