import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
import trio
from click.testing import CliRunner

from actors import (
    Agent,
    FunctionModel,
    MemoryStore,
    Message,
    Request,
    SQLiteStore,
    State,
    tool,
)
from actors.cli import main
from actors.report import write_report
from actors.testing import FakeModel, tool_call
from tests.graphs import chain, thread, user


@tool
async def look(place: str) -> str:
    """Look at a place."""
    if place == "nowhere":
        raise ValueError("no such place")
    return f"nothing at {place}"


def asks(request: Request) -> object:
    if any(message.role == "assistant" for message in request.messages):
        return "</script><b>seen</b>"
    return tool_call("look", place=request.messages[0].text())


def team(store: SQLiteStore) -> Agent:
    """A lead that sends two out, one of which fails, and then answers."""
    child = Agent(FunctionModel(asks, "function/child"), tools=[look], name="scout")
    send = [tool_call("scout", prompt="home"), tool_call("scout", prompt="nowhere")]
    model = FakeModel([send, "all back"], name="fake/lead")
    return Agent(model, tools=[child], name="lead", store=store, reporter=None)


def parts(page: Path) -> tuple[dict[str, Any], list[Any]]:
    """The data of a report, and the histories by agent."""
    text = page.read_text("utf-8")
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    histories: list[Any] = []
    for chunk in re.findall(r'id="h\d+">(.*?)</script>', text):
        histories += json.loads(zlib.decompress(base64.b64decode(chunk)))
    return json.loads(found[1]), histories


def spans(data: dict[str, Any], agent: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Kind, label and outcome of each span of an agent."""
    words, flat = data["words"], agent["spans"]
    rows = [flat[place : place + 6] for place in range(0, len(flat), 6)]
    return [(words[row[0]], words[row[3]], words[row[4]]) for row in rows]


async def test_the_tree_its_time_its_usage_and_its_histories_are_in_the_page(
    tmp_path: Path,
) -> None:
    state = State(id="top", messages=[Message.user("Send them out")])
    with SQLiteStore(tmp_path / "runs.db") as store:
        await team(store).arun(state)
        page = tmp_path / "report.html"
        count = await trio.to_thread.run_sync(write_report, store, ["top"], page)
    assert count == 3
    data, histories = parts(page)
    words = data["words"]
    lead, good, bad = data["agents"]
    assert [words[each["name"]] for each in data["agents"]] == [
        "lead",
        "scout",
        "scout",
    ]
    assert [each["up"] for each in data["agents"]] == [-1, 0, 0]
    assert [words[each["status"]] for each in data["agents"]] == [
        "done",
        "done",
        "failed",
    ]
    assert spans(data, lead) == [
        ("request", "fake/lead", "done"),
        ("child", "scout", "done"),
        ("child", "scout", "error"),
        ("request", "fake/lead", "done"),
    ]
    assert spans(data, bad) == [
        ("request", "function/child", "done"),
        ("tool", "look", "aborted"),
    ]
    assert lead["spans"][5::6] == [-1, 1, 2, -1]
    assert [(words[row[0]], row[1]) for row in lead["own"]] == [("fake/lead", 2)]
    assert lead["total"][0] == 5
    assert good["total"][0] == 2
    assert good["title"] == "home"
    assert [row[2] for row in histories[1]][-1] == "stop"
    assert [row[3] for row in histories[0]][-2] == "all back"


async def test_nothing_that_an_agent_says_is_markup_and_nothing_is_loaded(
    tmp_path: Path,
) -> None:
    page = tmp_path / "report.html"
    with SQLiteStore(tmp_path / "runs.db") as store:
        agent = Agent(FakeModel(["</script><b>said</b>"]), store=store, reporter=None)
        state = State(id="a", messages=[Message.user("<img src=x> </script><i>hi</i>")])
        await agent.arun(state)
        await trio.to_thread.run_sync(write_report, store, ["a"], page)
    text = page.read_text("utf-8")
    assert "<i>hi" not in text
    assert "<img" not in text
    assert not re.search(r"https?://|<link|src=[\"']", text)
    data, histories = parts(page)
    assert data["agents"][0]["title"] == "<img src=x> </script><i>hi</i>"
    assert "</script><b>said</b>" in [row[3] for row in histories[0]]


async def test_a_graph_has_its_status_and_the_children_of_its_nodes(
    tmp_path: Path,
) -> None:
    store = MemoryStore()
    scout = Agent(FunctionModel(asks, "function/child"), tools=[look], store=store)
    app = chain(("scout", scout), checkpointer=store)
    await app.ainvoke(user("home"), thread("thread"))
    write_report(store, ["thread"], tmp_path / "page.html")
    data, _ = parts(tmp_path / "page.html")
    found = [data["words"][agent["status"]] for agent in data["agents"]]
    assert found == ["done", "done"]


def test_the_histories_of_many_agents_are_packed_by_the_hundred(
    tmp_path: Path,
) -> None:
    store = MemoryStore()
    names = [f"s{number}" for number in range(250)]
    for name in names:
        state = State(id=name)
        state.add_message(Message.user(f"I am {name}"))
        store.save(state)
    write_report(store, names, tmp_path / "page.html")
    data, histories = parts(tmp_path / "page.html")
    assert [agent["id"] for agent in data["agents"]] == names
    assert [lines[0][3] for lines in histories] == [f"I am {name}" for name in names]
    assert (tmp_path / "page.html").read_text().count('id="h') == 3


def test_a_state_that_is_missing_has_a_row_that_says_so(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    with SQLiteStore(tmp_path / "runs.db") as store:
        assert write_report(store, ["gone"], page) == 1
    data, _ = parts(page)
    (row,) = data["agents"]
    assert data["words"][row["status"]] == "missing"
    assert row["why"] == "the store has no such State"


def test_the_command_writes_a_report_and_refuses_an_id_that_is_not_there(
    tmp_path: Path,
) -> None:
    page, place = tmp_path / "a.html", str(tmp_path / "runs.db")
    with SQLiteStore(place) as store:
        store.save(State(id="a", messages=[Message.user("Hello")]))
    done = CliRunner().invoke(main, ["report", place, "a", "--out", str(page)])
    assert done.exit_code == 0, done.output
    assert done.output == f"1 agent in {page}\n"
    page.unlink()
    done = CliRunner().invoke(main, ["report", place, "b", "--out", str(page)])
    assert done.exit_code == 1
    assert "no State 'b'" in done.output
    assert not page.exists()


@pytest.mark.parametrize(
    ("out", "fault"),
    [("runs.db", "which is none"), ("gone/a.html", "there is no folder 'gone'")],
)
def test_a_report_is_not_written_over_the_store_or_to_nowhere(
    out: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with SQLiteStore("runs.db") as store:
        store.save(State(id="a", messages=[Message.user("Hello")]))
    done = CliRunner().invoke(main, ["report", "runs.db", "a", "--out", out])
    assert done.exit_code == 2
    assert fault in " ".join(done.output.split())
    with SQLiteStore("runs.db") as store:
        assert store.load("a").messages[0].text() == "Hello"


@pytest.mark.slow
def test_the_report_of_5000_agents_is_a_few_megabytes(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    with SQLiteStore(tmp_path / "runs.db") as store:
        names = [f"a{number}" for number in range(5_000)]
        for name in names:
            store.save(State(id=name, messages=[Message.user(f"Do {name}")]))
        assert write_report(store, names, page) == 5_000
    assert page.stat().st_size < 5_000_000
