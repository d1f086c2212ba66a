"""The FastAPI example of the guide: a client that goes away cancels the run."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import trio

from actors import Agent, Message, State, tool
from actors.testing import FakeModel, tool_call

pytest.importorskip("fastapi", reason="the example needs it; the extra 'test' has it")

GUIDE = Path(__file__).parents[3] / "docs" / "pages" / "guides" / "asyncio.md"


def example(agent: Agent) -> Any:
    """The guide's app, with this agent in the place of its own."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    source = "import asyncio\nfrom actors import aio\n" + blocks[-1]
    names: dict[str, Any] = {"agent": agent, "__name__": "example"}
    exec(compile(source, str(GUIDE), "exec"), names)
    return names["app"]


SCOPE: dict[str, Any] = {
    "type": "http",
    "asgi": {"version": "3.0"},
    "http_version": "1.1",
    "method": "GET",
    "path": "/ask",
    "raw_path": b"/ask",
    "query_string": b"question=why",
    "headers": [],
    "root_path": "",
    "scheme": "http",
    "server": ("test", 80),
    "client": ("test", 1),
}


async def ask(app: Any, gone: asyncio.Event) -> list[dict[str, Any]]:
    """Ask over ASGI; the client goes away when ``gone`` is set."""
    sent: list[dict[str, Any]] = []
    began = False

    async def receive() -> dict[str, Any]:
        nonlocal began
        if not began:
            began = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(dict(SCOPE), receive, send)
    return sent


def test_a_client_that_waits_gets_its_answer() -> None:
    agent = Agent(FakeModel(["because"]), reporter=None, human=None)

    async def program() -> list[dict[str, Any]]:
        return await ask(example(agent), asyncio.Event())

    sent = asyncio.run(program())
    assert sent[0]["status"] == 200
    assert b"because" in sent[1]["body"]


def test_a_client_that_goes_away_cancels_the_run() -> None:
    states: list[State] = []
    program: dict[str, Any] = {}

    @tool
    async def wait(state: State) -> None:
        states.append(state)
        program["loop"].call_soon(program["gone"].set)
        await trio.sleep_forever()

    model = FakeModel([tool_call("wait"), "never"])
    agent = Agent(model, tools=[wait], reporter=None, human=None)

    async def main() -> None:
        program["loop"] = asyncio.get_running_loop()
        program["gone"] = asyncio.Event()
        with pytest.raises(asyncio.CancelledError):
            await ask(example(agent), program["gone"])

    asyncio.run(main())
    (state,) = states
    result = state.history[-1]
    assert result.kind == "tool_result"
    assert result.outcome == "interrupted"
    assert state.messages[0] == Message.user("why")
    assert model.remaining == 1
