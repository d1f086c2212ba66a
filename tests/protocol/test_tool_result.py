from typing import Any

import pytest

from protocol import ToolResult


def test_a_result_is_read_by_its_fields() -> None:
    result = ToolResult(message="done", state={"city": "Paris"}, is_error=True)
    assert (result.message, result.state, result.is_error) == (
        "done",
        {"city": "Paris"},
        True,
    )
    assert ToolResult("done") == ToolResult(message="done", state={}, is_error=False)


def test_its_update_cannot_change_afterwards() -> None:
    given = {"city": "Paris"}
    result = ToolResult(message="done", state=given)
    given["city"] = "Rome"
    state: Any = result.state
    with pytest.raises(TypeError, match="read-only"):
        state["city"] = "Rome"
    assert result.state == {"city": "Paris"}


@pytest.mark.parametrize("wrong", [None, "city", ["city"], 5])
def test_a_state_that_is_no_dict_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="must be a dict of updates"):
        ToolResult(message="done", state=wrong)
