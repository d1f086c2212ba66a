"""Who is given up, and when."""

from math import inf

import trio
from trio.testing import wait_all_tasks_blocked

from actors import Agent, ToolResultEntry, open_supervisor, tool
from actors.testing import FakeModel, tool_call


class Ticking(trio.abc.Clock):
    """A clock that goes on a little at each look, and jumps to the next deadline.

    So no two moments are the same, as on a real one.
    """

    def __init__(self) -> None:
        self.now = 0.0

    def start_clock(self) -> None:
        pass

    def current_time(self) -> float:
        self.now += 1e-6
        return self.now

    def deadline_to_sleep_time(self, deadline: float) -> float:
        if deadline == inf:
            return inf
        self.now = max(self.now, deadline)
        return 0.0


def test_a_clean_up_that_is_cut_has_the_time_to_end_before_anybody_names_it() -> None:
    @tool
    async def thorough() -> str:
        try:
            await trio.sleep_forever()
        finally:
            await trio.sleep(3600)
        raise AssertionError("it is cut")

    async def main() -> None:
        model = FakeModel([tool_call("thorough")])
        agent = Agent(model, tools=[thorough], reporter=None)
        async with open_supervisor() as supervisor:
            run = supervisor.start(agent, "go on")
            await wait_all_tasks_blocked()
            report = await run.cancel("enough", grace_s=0.01)
        assert report.unstopped == ()
        assert supervisor.statistics().unstopped == ()
        (result,) = [e for e in run.state.history if isinstance(e, ToolResultEntry)]
        assert "it was cut" in str(result.content)

    trio.run(main, clock=Ticking())
