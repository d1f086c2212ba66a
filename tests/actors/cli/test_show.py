import json
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from actors import (
    AgentInfo,
    FileStore,
    Image,
    MemoryStore,
    Message,
    ModelReplyEntry,
    ModelRequestEntry,
    Question,
    Reply,
    RunStartEntry,
    SQLiteStore,
    State,
    Store,
    ToolCall,
    ToolResultEntry,
    Usage,
)
from actors.cli import main
from actors.cli._show import _list
from protocol._work_entries import QuestionEntry

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


def conversation() -> State:
    call = ToolCall(id="c1", name="search", args={"query": "bug"})
    asks = Message(role="assistant", content=(call,))
    usage = Usage(input_tokens=1_000, output_tokens=20, requests=1, cost=0.5)
    return State(
        id="root",
        history=[
            RunStartEntry(content=AgentInfo(name="lead", model="fake/big")),
            *State(messages=[Message.user("Find [the] bug")]).history,
            ModelRequestEntry(content="fake/big"),
            ModelReplyEntry(
                content=Reply(message=asks, usage=usage.for_model("fake/big"))
            ),
            ToolResultEntry(
                content="line 3", call=call, outcome="done", message_id="m"
            ),
            ModelRequestEntry(content="fake/big"),
            ModelReplyEntry(content=Reply(message=Message.assistant("It is line 3."))),
        ],
    )


def child(parent: str, name: str) -> State:
    start = RunStartEntry(
        content=AgentInfo(name="helper"), parent_id=parent, parent_call_id="c1"
    )
    return State(id=name, history=[start])


def fill(store: Store) -> None:
    with store:
        store.save(conversation())
        store.save(child("root", "kid"))
        store.save(child("kid", "grandkid"))
        finished = State(id="done", messages=[Message.user("short")])
        finished.finish("yes")
        store.save(finished)


@pytest.fixture(params=["files", "states.db"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    found = tmp_path / str(request.param)
    fill(SQLiteStore(found) if found.suffix else FileStore(found))
    return found


def ids(result: Result) -> set[str]:
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.output.splitlines() if line.strip()]
    return {row[0] for row in rows} & {"root", "kid", "grandkid", "done"}


def test_the_list_has_a_row_for_each_state(place: Path) -> None:
    result = run("show", place)
    assert ids(result) == {"root", "kid", "grandkid", "done"}
    row = next(line for line in result.output.splitlines() if line.startswith("root "))
    assert "lead" in row
    assert "Find [the] bug" in row
    assert "1,020" in row


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--agent", "helper"], {"kid", "grandkid"}),
        (["--parent", "root"], {"kid"}),
        (["--finished"], {"done"}),
        (["--open", "--agent", "lead"], {"root"}),
        (["--phase", "calling"], set[str]()),
    ],
)
def test_the_list_is_filtered(
    place: Path, options: list[str], expected: set[str]
) -> None:
    assert ids(run("show", place, *options)) == expected


def test_a_narrow_list_leaves_out_columns_and_keeps_each_id_whole() -> None:
    store, name = MemoryStore(), "0123456789abcdef" * 2
    store.save(State(id=name, messages=[Message.user("What is it? " * 9)]))
    shown = {}
    for width in (160, 80):
        seen = StringIO()
        Console(width=width, file=seen).print(_list(store, store.list(), width))
        shown[width] = seen.getvalue()
    heading, _, row = shown[80].splitlines()
    assert len(row.rstrip()) <= 80
    assert row.startswith(name)
    assert "What is it?" in row
    assert "turns" in heading
    assert "updated" not in heading
    assert "updated (UTC)" in shown[160]


def test_an_empty_list_says_so(place: Path, tmp_path: Path) -> None:
    for words in ([place, "--agent", "nobody"], [tmp_path]):
        assert run("show", *words).output.startswith("no State is there, or none of")


def test_the_list_has_at_most_as_many_rows_as_asked_for(place: Path) -> None:
    assert len(ids(run("show", place, "--limit", "2"))) == 2


def test_a_state_is_shown_as_a_conversation_with_its_tree_and_usage(
    place: Path,
) -> None:
    result = run("show", place, "root")
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "State root: lead on fake/big, turn 2, idle" in text
    said = ["user Find [the] bug", "calls search {'query': 'bug'}"]
    said += ["result of search line 3", "assistant It is line 3."]
    places = [text.index(part) for part in said]
    assert places == sorted(places)
    assert text.index("kid helper") < text.index("grandkid helper")
    assert "fake/big 1 1,000 20 0 0 $0.5000" in text


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    result = run("show", tmp_path / "gone")
    assert result.exit_code == 2
    assert "there is no store at" in result.output
    assert not (tmp_path / "gone").exists()


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello" * 200)
    result = run("show", tmp_path / "text")
    assert result.exit_code == 2
    assert "not a database" in result.output


def test_a_state_that_is_not_there_is_an_error(place: Path) -> None:
    result = run("show", place, "nobody")
    assert result.exit_code == 1
    assert "Error: the store has no State 'nobody': 'callboard show" in result.output
    assert "store.list" not in result.output, "nobody writes Python here"


def test_a_damaged_state_is_listed_and_salvaged(tmp_path: Path) -> None:
    fill(FileStore(tmp_path / "files"))
    log = tmp_path / "files" / "root.log"
    with FileStore(tmp_path / "files") as store:
        state = store.load("root")
        for text in ("uno", "due", "tre"):
            state.add_message(Message.user(text))
            store.save(state)
    log.write_bytes(log.read_bytes().replace(b"uno", b"nuo", 1) + b"x")
    listed = run("show", tmp_path / "files")
    assert "damaged" in listed.output
    assert ids(listed) == {"root", "kid", "grandkid", "done"}
    shown = run("show", tmp_path / "files", "root")
    assert shown.exit_code == 1
    assert "Error: the log of State 'root' is damaged at byte" in shown.output
    saved = run("salvage", tmp_path / "files", tmp_path / "new.db")
    assert saved.exit_code == 0, saved.output
    assert "kid: 1 entries saved\n" in saved.output
    assert "root: 7 entries saved; behind the damage 2 whole records" in saved.output
    assert ids(run("show", tmp_path / "new.db")) == {"root", "kid", "grandkid", "done"}


def test_salvage_does_not_write_over_what_is_there(place: Path, tmp_path: Path) -> None:
    assert run("salvage", place, tmp_path / "new", "kid").exit_code == 0
    again = run("salvage", place, tmp_path / "new", "kid", "root")
    assert again.exit_code == 1
    assert "kid: not saved: cannot begin State 'kid'" in again.output
    assert "root: 7 entries saved" in again.output


def test_an_id_in_the_place_of_the_target_is_refused_and_nothing_is_made(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.parent)
    before = sorted(place.parent.iterdir())
    result = run("salvage", place, "kid")
    assert result.exit_code == 2
    assert "'kid' is a State in STORE" in " ".join(result.output.split())
    assert "callboard salvage STORE INTO kid" in " ".join(result.output.split())
    assert sorted(place.parent.iterdir()) == before


def test_a_new_folder_is_a_target_whatever_it_is_called(place: Path) -> None:
    for name in ("new", "kid"):
        target = place.parent / "deep" / name
        target.parent.mkdir(exist_ok=True)
        assert run("salvage", place, target, "kid").exit_code == 0
        assert ids(run("show", target)) == {"kid"}


def test_a_store_is_not_salvaged_into_itself(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.parent)
    for target in (place, place.name):
        result = run("salvage", place, target, "kid")
        assert result.exit_code == 2
        assert "is STORE itself" in " ".join(result.output.split())


def test_a_target_in_a_folder_that_is_not_there_is_a_fault_of_usage(
    place: Path,
) -> None:
    for name in ("gone/x.db", f"{place.name}/../file/x"):
        (place.parent / "file").write_text("no folder")
        result = run("salvage", place, place.parent / name)
        assert result.exit_code == 2, result.output
        assert "no folder" in result.output or "cannot make" in result.output
    assert not (place.parent / "gone").exists()


def test_what_a_state_waits_for_is_shown(tmp_path: Path) -> None:
    call = ToolCall(id="c1", name="pay", args={})
    asks = Message(role="assistant", content=(call,))
    state = State(
        id="busy",
        history=[
            *State(messages=[Message.user("Pay", Image(PNG))]).history,
            ModelRequestEntry(content="m"),
            ModelReplyEntry(content=Reply(message=asks)),
            QuestionEntry(
                content=Question(
                    id="q1", state_id="busy", path=("busy",), call=call, prompt="Pay?"
                )
            ),
        ],
    )
    state.add_message(Message.user("And then?"))
    fork = state.fork()
    fork.finish()
    with FileStore(tmp_path) as store:
        store.save(state)
        store.save(fork)
    listed = run("show", tmp_path)
    assert "waits for an answer" in listed.output
    shown = run("show", tmp_path, "busy")
    assert shown.exit_code == 0, shown.output
    for text in (
        "Pay [image]",
        "user (held)",
        "pending: pay (c1)",
        "open question q1: Pay?",
    ):
        assert text in shown.output
    copy = run("show", tmp_path, fork.id)
    assert ", finished" in copy.output
    assert "forked from busy after 5 entries" in copy.output
    assert "stopped: StoppedByFinish" in copy.output


def test_how_a_run_ended_is_told_failed_ones_and_stopped_ones_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": name, "prompt": name} for name in ("works", "fails")]
    Path("tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    agents = "tests.actors.cli.agents"
    assert run("fleet", "tasks.jsonl", "--agent", f"{agents}:speaker").exit_code == 1
    Path("few.jsonl").write_text('{"id": "short", "prompt": "Look"}\n')
    run("fleet", "few.jsonl", "--agent", f"{agents}:cautious", "--store", "runs.db")
    with SQLiteStore("runs.db") as store:
        store.save(State(id="new", messages=[Message.user("Hello")]))

    listed = run("show", "runs.db").output.splitlines()
    rows_by_id = {line.split()[0]: line for line in listed if line.strip()}
    assert " done " in rows_by_id["works"]
    assert " failed " in rows_by_id["fails"]
    assert " stopped by budget " in rows_by_id["short"]
    assert " idle " in rows_by_id["new"]
    shown = run("show", "runs.db", "fails").output
    assert "idle, failed: the run ended: ValueError: no idea about fails" in shown


def test_a_child_names_its_parent(place: Path) -> None:
    assert "child of root" in run("show", place, "kid").output


def test_a_server_that_cannot_be_reached_is_an_error() -> None:
    result = run("show", "postgresql://127.0.0.1:1/x?connect_timeout=1")
    assert result.exit_code == 1
    assert "Error: PostgreSQL cannot be reached" in result.output
