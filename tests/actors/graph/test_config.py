"""Inputs and configs: refused by name before anything happens."""

from typing import Any

import pytest

from actors import GraphError, Message
from tests.graphs import adds, chain, kept, thread, user


@pytest.mark.parametrize(
    ("given", "error", "named"),
    [
        ({"message": []}, ValueError, "'message'"),
        ({"messages": "hi"}, TypeError, "messages"),
        ({"messages": ["hi"]}, TypeError, "messages\\[0\\]"),
        ({"messages": Message.user("hi")}, TypeError, "messages"),
        ({"state": {"context": []}}, ValueError, "'context'"),
        ({"state": {"context_summary": ""}}, ValueError, "'context_summary'"),
        ({"state": {"execution_meta": {}}}, ValueError, "'execution_meta'"),
        ({"state": {"__dict__": {}}}, ValueError, "'__dict__'"),
        ({"state": {"cities": ""}}, ValueError, "'cities'"),
        ({"state": {"city": 5}}, TypeError, "city"),
        ({"state": {"total": "x"}}, (TypeError, GraphError), "total"),
        ({"state": [1]}, TypeError, "update must be a dict"),
        ({"resume": object()}, TypeError, "resume"),
        ({"resume": "x"}, GraphError, "resume answers nothing"),
        ("hi", TypeError, "input is a dict"),
        ([], TypeError, "input is a dict"),
    ],
)
async def test_a_wrong_input_is_named_and_changes_nothing(
    given: Any, error: type[Exception], named: str
) -> None:
    app = chain(("a", adds(1)))
    await app.ainvoke(user("before"), thread())
    before = kept(app).history
    with pytest.raises(error, match=named):
        await app.ainvoke(given, thread())
    assert kept(app).history == before


@pytest.mark.parametrize(
    ("config", "error", "named"),
    [
        ({"thread_id": 5}, TypeError, "thread_id"),
        ({"thread_id": "a/b"}, ValueError, "a/b"),
        ({"recursion_limit": 0}, ValueError, "recursion_limit"),
        ({"recursion_limit": True}, ValueError, "recursion_limit"),
        ({"node_timeout_s": -1}, ValueError, "node_timeout_s"),
        ({"tool_timeout_s": "1"}, ValueError, "tool_timeout_s"),
        ({"configurable": {"thread_id": "a"}}, ValueError, "in the config itself"),
        (5, TypeError, "config"),
    ],
)
async def test_a_wrong_config_is_named(
    config: Any, error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        await chain(("a", adds(1))).ainvoke({}, config)


async def test_the_state_key_goes_through_reducers_and_leaves_the_rest_alone() -> None:
    app = chain(("a", adds(0)))
    await app.ainvoke({"state": {"total": 5, "city": "Oslo"}}, thread())
    result = await app.ainvoke({"state": {"total": 7}}, thread())
    assert (result["state"].total, result["state"].city) == (12, "Oslo")
