"""What a call that had begun when its process ended meets in the next run."""

import pytest

from actors import Agent, MemoryStore, Message, State, Tool, tool
from actors.testing import FakeModel, tool_call


def crashed_in(pay: Tool) -> State:
    """A State whose history ends where its only call has begun."""
    store = MemoryStore()
    model = FakeModel([tool_call(pay.name, amount=3), "done"])
    state = State(messages=[Message.user("Pay 3")])
    Agent(model, tools=[pay], store=store, reporter=None).run(state)
    kinds = [entry.kind for entry in state.history]
    return State(history=state.history[: kinds.index("call_start") + 1])


@pytest.mark.parametrize("with_store", [False, True])
@pytest.mark.parametrize(("idempotent", "runs"), [(None, 1), (True, 2)])
def test_only_an_idempotent_call_that_had_begun_runs_again_with_a_store_or_without(
    idempotent: bool | None, runs: int, with_store: bool
) -> None:
    paid: list[int] = []

    @tool(idempotent=idempotent)
    def pay(amount: int) -> str:
        paid.append(amount)
        return "paid"

    state = crashed_in(pay)
    store = MemoryStore() if with_store else None
    agent = Agent(FakeModel(["done"]), tools=[pay], store=store, reporter=None)
    assert agent.run(state) == "done"
    assert len(paid) == runs
    (result,) = [entry for entry in state.history if entry.kind == "tool_result"]
    assert result.outcome == ("done" if runs == 2 else "aborted")
