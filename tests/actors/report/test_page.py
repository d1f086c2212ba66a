"""The page in a real browser: what a person sees, and what a click shows."""

import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from actors import Message, SQLiteStore, State
from actors.report import write_report
from protocol._commands import StartRun
from protocol._entries import AgentInfo

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
BROWSER = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=9000"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here"),
]


def seen(page: Path, chosen: str = "") -> str:
    """The elements of the page once its script has run."""
    assert CHROMIUM is not None
    address = f"file://{quote(str(page))}#{chosen}"
    done = subprocess.run(
        [CHROMIUM, *BROWSER, "--dump-dom", address],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.partition("</noscript>")[0]


def ran(state_id: str, prompt: str, parent: str | None = None) -> State:
    state = State(id=state_id, messages=[Message.user(prompt)])
    start = StartRun(AgentInfo(name="clerk", model="fake/m"), parent, None)
    state._mailbox.send(start)
    return state


def page_of(folder: Path, *states: State) -> Path:
    page = folder / "report.html"
    with SQLiteStore(folder / "runs.db") as store:
        for state in states:
            store.save(state)
        write_report(
            store, [state.id for state in states], page, title="A <b>fleet</b>"
        )
    return page


def test_what_an_agent_did_is_shown_when_it_is_chosen(tmp_path: Path) -> None:
    state = ran("a", "Who owns <b>it</b>?")
    state.finish("the town & its people")
    shown = seen(page_of(tmp_path, state, ran("b", "And that?")), "a")
    assert '<h1 id="title">A &lt;b&gt;fleet&lt;/b&gt;</h1>' in shown
    assert "Who owns &lt;b&gt;it&lt;/b&gt;?" in shown
    assert "the town &amp; its people" in shown
    assert "And that?" in shown
    assert "cut off 1" in shown


def test_many_agents_are_groups_by_how_they_ended(tmp_path: Path) -> None:
    states = [ran(f"a{number}", "Go") for number in range(300)]
    for state in states[:200]:
        state.finish("gone")
    shown = seen(page_of(tmp_path, *states))
    assert "200 \u00d7 clerk, done" in shown
    assert "100 \u00d7 clerk, cut off" in shown
    rows = shown.count('class="row')
    assert rows == 2, "groups are closed until somebody opens them"


def test_of_many_rows_only_those_in_sight_are_in_the_page(tmp_path: Path) -> None:
    shown = seen(page_of(tmp_path, *(ran(f"a{number}", "Go") for number in range(300))))
    assert 5 < shown.count('class="row') < 100
