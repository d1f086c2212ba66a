"""The calls of one turn, side by side, when somebody stops them."""

import pytest
import trio

from actors import Agent, Message, RunCancelled, State, open_supervisor, tool
from actors.testing import FakeModel, seeded, tool_call

SOON_S = 5


@pytest.mark.parametrize("seed", range(12))
def test_what_waits_for_room_never_begins_once_the_run_is_cancelled(seed: int) -> None:
    # In half of the orders the call that runs has ended before its run hears of the
    # cancel; what came next in the window began, or left the run waiting for ever.
    begun: list[str] = []
    state = State(messages=[Message.user("go")])

    @tool
    async def hang(name: str) -> str:
        """Wait until it is stopped."""
        begun.append(name)
        await trio.sleep_forever()
        raise AssertionError("it sleeps")

    calls = [tool_call("hang", name=name) for name in "abc"]
    agent = Agent(
        FakeModel([calls]),
        tools=[hang],
        max_parallel=1,
        grace_s=0,
        reporter=None,
        human=None,
    )

    async def cancelled_in_the_first() -> None:
        with trio.fail_after(SOON_S):
            async with open_supervisor(grace_s=0) as supervisor:
                run = supervisor.start(agent, state)
                while not begun:
                    await trio.lowlevel.checkpoint()
                run.cancel_nowait("enough")
                await run.wait()

    with pytest.raises(RunCancelled, match="enough"):
        seeded(cancelled_in_the_first, seed)
    assert begun == ["a"]
    assert state.pending_calls == ()
