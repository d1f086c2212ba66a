"""Agents for the tests of the commands: `--agent tests.actors.cli.agents:NAME`."""

import os
import signal
import threading
from pathlib import Path
from typing import Any

import httpx2
import trio
import trio.testing

from actors import (
    Agent,
    CurrentCall,
    FunctionModel,
    Limits,
    OpenAICompatible,
    Price,
    Request,
    State,
    tool,
)
from actors.testing import tool_call

LOG = "CALLBOARD_TEST_LOG"
"""Names the file that has a line for each time a tool had its effect."""


def note(line: str) -> None:
    """One system call: what was noted before a kill has been noted."""
    with Path(os.environ[LOG]).open("ab", buffering=0) as file:
        file.write(f"{line}\n".encode())


def turns_of(request: Request) -> int:
    return sum(message.role == "assistant" for message in request.messages)


def prompt_of(request: Request) -> str:
    return request.messages[0].text()


@tool
async def look(place: str) -> str:
    """Look at a place."""
    return f"nothing at {place}"


@tool
async def pay(amount: int, call: CurrentCall) -> str:
    """Pay; twice is twice the money."""
    note(f"pay {call.idempotency_key}")
    await trio.lowlevel.checkpoint()
    return f"paid {amount}"


@tool(idempotent=True)
async def put(text: str, call: CurrentCall) -> str:
    """Put a text where it belongs; twice is the same as once."""
    note(f"put {call.idempotency_key}")
    return f"put {text}"


@tool
async def wait() -> str:
    """Wait as long as it takes."""
    note("wait")
    await trio.sleep_forever()
    return "never"


@tool
def hang() -> str:
    """Hang in a thread that nobody can end."""
    note("wait")
    threading.Event().wait()
    return "never"


def _sees(request: Request) -> object:
    turn = turns_of(request)
    return tool_call("look", place=f"p{turn}") if turn < 2 else "All seen."


def _pays(request: Request) -> object:
    steps = [tool_call("pay", amount=1), tool_call("put", text="x"), "Paid."]
    return steps[turns_of(request)]


def _says(request: Request) -> object:
    prompt = prompt_of(request)
    if prompt.startswith("fail"):
        if os.environ.get("CALLBOARD_TEST_MENDED"):
            return "mended"
        raise ValueError(f"no idea about {prompt}")
    return f"about {prompt}"


def _waits(request: Request) -> object:
    if prompt_of(request).startswith("wait") and not turns_of(request):
        return tool_call("wait")
    return "not waiting"


def _hangs(request: Request) -> object:
    return "ended" if turns_of(request) else tool_call("hang")


def _agent(rule: Any, *tools: Any, **settings: Any) -> Agent:
    model = FunctionModel(rule, name="function/test")
    return Agent(model, tools=tools, **settings)


seer = _agent(_sees, look)
payer = _agent(_pays, pay, put)
speaker = _agent(_says)
waiter = _agent(_waits, wait, grace_s=0.0)
hanger = _agent(_hangs, hang, grace_s=0.0)
cautious = _agent(_sees, look, limits=Limits(requests=2))


async def _returns_a_number(agent: Agent, state: State) -> int:
    await agent.athink(state)
    return len(state.messages)


async def _returns_no_json(agent: Agent, state: State) -> object:
    return object()


counter = _agent(_says, loop=_returns_a_number)
no_json = _agent(_says, loop=_returns_no_json)
plain = _agent(_says, loop=lambda agent, state: None)
not_an_agent = "text"


@tool
async def nap() -> str:
    """Sleep a little."""
    note("nap")
    await trio.sleep(0.5)
    return "slept"


def _naps(request: Request) -> object:
    return "awake" if turns_of(request) else tool_call("nap")


sleeper = _agent(_naps, nap)


def _answers(request: httpx2.Request) -> httpx2.Response:
    said = {"role": "assistant", "content": "hi"}
    choices = [{"message": said, "finish_reason": "stop"}]
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    return httpx2.Response(200, json={"choices": choices, "usage": usage})


def _served(price: Price | None) -> Agent:
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(_answers))
    url = "http://server/v1"
    model = OpenAICompatible(
        "m", base_url=url, provider="server", client=client, price=price
    )
    return Agent(model)


unpriced = _served(None)
priced = _served(Price(1.0, 5.0))


@tool
async def press(times: int) -> str:
    """Press Ctrl+C; after the second time, wait for what comes."""
    for _ in range(times):
        signal.raise_signal(signal.SIGINT)
        await trio.testing.wait_all_tasks_blocked()
    if times > 1:
        await trio.sleep_forever()
    return "pressed"


def _presses(request: Request) -> object:
    times = {"once": 1, "twice": 2}.get(prompt_of(request), 0)
    if not times:
        return "quiet"
    return "pressed" if turns_of(request) else tool_call("press", times=times)


presser = _agent(_presses, press)
