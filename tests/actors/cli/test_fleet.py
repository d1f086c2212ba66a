import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from actors import Message, SQLiteStore, State
from actors.cli import main
from tests.actors.cli.agents import LOG


@pytest.fixture(autouse=True)
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    log = tmp_path / "effects.log"
    log.touch()
    monkeypatch.setenv(LOG, str(log))
    monkeypatch.chdir(tmp_path)
    return log


def tasks(*prompts: str) -> Path:
    path = Path("tasks.jsonl")
    rows = [{"id": f"t{n}", "prompt": prompt} for n, prompt in enumerate(prompts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def fleet(agent: str, *options: object, path: str = "tasks.jsonl") -> Result:
    name = agent if ":" in agent else f"tests.actors.cli.agents:{agent}"
    words = ["fleet", path, "--agent", name, *map(str, options)]
    return CliRunner().invoke(main, words)


def results(path: str = "results.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_every_task_gets_one_line_in_task_order() -> None:
    tasks(*(f"Look around {n}" for n in range(20)))
    done = fleet("seer", "--max-running", 7)
    assert done.exit_code == 0, done.output
    assert [line["id"] for line in results()] == [f"t{n}" for n in range(20)]
    first = results()[0]
    assert first.pop("seconds") > 0
    assert first.pop("usage")["by_model"]["function/test"]["requests"] == 3
    assert first == {
        "id": "t0",
        "status": "done",
        "answer": "All seen.",
        "stopped": "until",
        "turns": 3,
        "error": None,
    }
    assert "20 done" in done.output
    assert "60 turns, 60 requests" in done.output


def test_a_task_is_a_state_in_the_store_with_its_extra_data() -> None:
    Path("tasks.jsonl").write_text(
        '{"id": "a", "prompt": "Look", "extra_data": {"who": "me"}}\n'
    )
    assert fleet("seer").exit_code == 0
    with SQLiteStore("runs.db") as store:
        state = store.load("a")
    assert state.messages[0].text() == "Look"
    assert state.extra_data == {"who": "me"}


def test_the_same_command_again_does_nothing_twice(logged: Path) -> None:
    tasks("one", "two")
    assert fleet("payer").exit_code == 0
    before, effects = results(), logged.read_text()
    again = fleet("payer")
    assert again.exit_code == 0
    assert results() == before
    assert logged.read_text() == effects
    assert "2 done (2 before)" in again.output


def test_tasks_that_were_added_are_done_and_the_others_left() -> None:
    tasks("one")
    fleet("speaker")
    tasks("one", "two")
    assert fleet("speaker").exit_code == 0
    assert [line["answer"] for line in results()] == ["about one", "about two"]


def test_a_bad_line_is_named_with_its_number_and_the_rest_runs() -> None:
    path = tasks("one", "two")
    path.write_text("{oops\n" + path.read_text() + '{"id": "t0", "prompt": "p"}\n')
    done = fleet("speaker")
    assert done.exit_code == 1
    assert "tasks.jsonl:1: not JSON" in done.output
    assert "tasks.jsonl:4: id 't0' stands on line 2 too" in done.output
    assert [line["status"] for line in results()] == ["done", "done"]


def test_a_failed_task_says_why_and_stays_until_it_is_retried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks("one", "fail")
    done = fleet("speaker")
    assert done.exit_code == 1
    assert "--retry-failed" in done.output
    failed = results()[1]
    assert failed["status"] == "failed"
    assert failed["error"] == "ValueError: no idea about fail"
    assert failed["answer"] is None

    assert "  1 × ValueError: no idea about fail (first t1)\n" in done.output

    monkeypatch.setenv("CALLBOARD_TEST_MENDED", "yes")
    assert fleet("speaker").exit_code == 1
    assert results()[1] == failed
    assert fleet("speaker", "--retry-failed").exit_code == 0
    assert [line["answer"] for line in results()] == ["about one", "mended"]


def test_of_many_errors_the_most_frequent_are_told() -> None:
    tasks("fail", *(f"fail {n}" + "!" * 300 for n in range(4)), "one", "fail")
    lines = fleet("speaker", "--max-running", 1).output.splitlines()
    told = [line for line in lines if line.startswith("  ")]
    assert told[0] == "  2 × ValueError: no idea about fail (first t0)"
    assert told[1].startswith("  1 × ValueError: no idea about fail 0!!!")
    assert told[1].endswith("!… (first t1)")
    assert told[3:] == ["  and 2 other errors"]


def test_a_limit_of_the_agent_stops_a_task_and_the_others_go_on() -> None:
    tasks("one", "two")
    assert fleet("cautious").exit_code == 1
    assert [line["status"] for line in results()] == ["stopped", "stopped"]
    assert {line["stopped"] for line in results()} == {"budget"}


def test_a_limit_of_the_fleet_counts_what_was_used_before() -> None:
    tasks(*map(str, range(10)))
    done = fleet("seer", "--max-requests", 10, "--max-running", 1)
    assert done.exit_code == 1
    statuses = [line["status"] for line in results()]
    assert statuses == ["done"] * 3 + ["stopped"] + ["cancelled"] * 6
    assert "the limit on requests is reached" in done.output
    assert "7 tasks are left" in done.output

    fleet("seer", "--max-requests", 10, "--max-running", 1)
    assert [line["status"] for line in results()] == statuses
    assert fleet("seer").exit_code == 0
    assert sum(line["usage"]["requests"] for line in results()) == 30


def test_a_task_that_takes_too_long_is_stopped() -> None:
    tasks("wait")
    assert fleet("waiter", "--timeout-s", 0.02).exit_code == 1
    (waited,) = results()
    assert (waited["status"], waited["stopped"]) == ("stopped", "budget")


def test_at_the_deadline_what_runs_is_cancelled_and_can_go_on() -> None:
    tasks("wait", "wait too")
    done = fleet("waiter", "--deadline-s", 0.02)
    assert done.exit_code == 1
    assert [line["status"] for line in results()] == ["cancelled", "cancelled"]
    assert "stopped: the deadline of 0.02 s is over" in done.output
    assert "2 tasks are left: run the same command again" in done.output


def test_ctrl_c_once_begins_nothing_more_and_the_same_again_goes_on() -> None:
    tasks("once", "go", "go on")
    done = fleet("presser", "--max-running", 1)
    assert done.exit_code == 130
    assert "stopping: 1 running tasks have 5 s to end" in done.output
    assert "stopped: Ctrl+C was pressed" in done.output
    assert "2 tasks are left: run the same command again to go on" in done.output
    assert [line["status"] for line in results()] == ["done", "cancelled", "cancelled"]
    assert fleet("presser").exit_code == 0
    assert [line["answer"] for line in results()] == ["pressed", "quiet", "quiet"]


def test_ctrl_c_twice_cancels_what_runs_and_its_states_are_whole() -> None:
    tasks("twice")
    assert fleet("presser").exit_code == 130
    (line,) = results()
    assert line["status"] == "cancelled"
    assert "Ctrl+C was pressed" in line["error"]
    with SQLiteStore("runs.db") as store:
        state = store.load("t0")
    assert not state.pending_calls
    assert state.phase == "idle"


def test_a_fleet_that_was_done_anyway_is_not_stopped_by_ctrl_c() -> None:
    tasks("once")
    assert fleet("presser").exit_code == 0


def test_what_a_loop_returns_is_the_answer_and_is_kept() -> None:
    tasks("one")
    assert fleet("counter").exit_code == 0
    before = results()
    assert before[0]["answer"] == 2
    assert fleet("counter").exit_code == 0
    assert results() == before


def test_an_answer_that_is_no_json_is_a_failure() -> None:
    tasks("one")
    assert fleet("no_json").exit_code == 1
    assert results()[0]["status"] == "failed"
    assert "answer" in results()[0]["error"]


def test_a_conversation_of_another_fleet_is_left_alone() -> None:
    tasks("one")
    with SQLiteStore("runs.db") as store:
        state = State(id="t0", messages=[Message.user("something else")])
        store.save(state)
    assert fleet("speaker").exit_code == 1
    assert results()[0]["status"] == "failed"
    assert "'something else': name another file with --store" in results()[0]["error"]
    with SQLiteStore("runs.db") as store:
        assert store.load("t0").history == state.history


def test_store_and_results_go_where_they_are_wanted() -> None:
    tasks("one")
    done = fleet("speaker", "--store", "kept.db", "--out", "said.jsonl")
    assert done.exit_code == 0
    assert results("said.jsonl")[0]["status"] == "done"
    assert Path("kept.db").exists()
    assert not Path("runs.db").exists()
    assert not Path("results.jsonl").exists()


def test_the_current_folder_is_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    Path("agents_here.py").write_text(
        "from actors import Agent, FunctionModel\n"
        "agent = Agent(FunctionModel(lambda request: 'here'))\n"
    )
    tasks("one")
    done = fleet("agents_here:agent")
    sys.modules.pop("agents_here")
    assert done.exit_code == 0, done.output
    assert results()[0]["answer"] == "here"


def test_quiet_shows_faults_only() -> None:
    tasks("one")
    assert fleet("speaker", "--quiet").output == ""
    Path("tasks.jsonl").write_text("oops\n" + Path("tasks.jsonl").read_text())
    assert fleet("speaker", "--quiet").output.startswith("tasks.jsonl:1: not JSON")


@pytest.mark.parametrize(
    ("agent", "fault"),
    [
        ("nowhere:agent", "no module 'nowhere'"),
        ("tests.actors.cli.agents:nobody", "the agents there are: seer"),
        ("not_an_agent", "is no Agent"),
        ("agents:", "write MODULE:NAME"),
        ("plain", "needs an async loop"),
        ("tests.actors.cli.broken:agent", "ZeroDivisionError"),
        ("tests.actors.cli.lacking:agent", "no module named 'surely_not'"),
    ],
)
def test_an_agent_that_is_none_is_a_fault_of_usage_and_nothing_is_made(
    agent: str, fault: str
) -> None:
    tasks("one")
    done = fleet(agent)
    assert done.exit_code == 2
    assert fault.lower() in " ".join(done.output.split()).lower()
    assert not Path("runs.db").exists()
    assert not Path("results.jsonl").exists()


@pytest.mark.parametrize(
    ("text", "options", "fault"),
    [
        ("\n", (), "no task in 'tasks.jsonl'"),
        ("oops\n", (), "no task in 'tasks.jsonl'"),
        ('{"id":"a","prompt":"p"}\n', ("--base-url", "http://x"), "give both"),
        ('{"id":"a","prompt":"p"}\n', ("--model", "unheard-of"), "names no model"),
        ('{"id":"a","prompt":"p"}\n', ("--timeout-s", "0"), "--timeout-s"),
        *(
            ('{"id":"a","prompt":"p"}\n', (option, number), option)
            for option in ("--timeout-s", "--deadline-s", "--max-cost")
            for number in ("nan", "inf", "-inf", "-1")
        ),
        ('{"id":"a","prompt":"p"}\n', ("--max-requests", "-1"), "--max-requests"),
        ('{"id":"a","prompt":"p"}\n', ("--max-tokens", "nan"), "--max-tokens"),
        ('{"id":"a","prompt":"p"}\n', ("--max-running", "0"), "--max-running"),
        ('{"id":"a","prompt":"p"}\n', ("--store", "tasks.jsonl"), "over TASKS"),
        ('{"id":"a","prompt":"p"}\n', ("--store", "notes.txt"), "StoreDamaged"),
        ('{"id":"a","prompt":"p"}\n', ("--out", "tasks.jsonl"), "over TASKS"),
        ('{"id":"a","prompt":"p"}\n', ("--out", "./runs.db"), "over --store"),
        ('{"id":"a","prompt":"p"}\n', ("--report", "results.jsonl"), "over --out"),
        ('{"id":"a","prompt":"p"}\n', ("--report", "notes.txt"), "which is none"),
        ('{"id":"a","prompt":"p"}\n', ("--store", "gone/x.db"), "no folder 'gone'"),
        ('{"id":"a","prompt":"p"}\n', ("--out", "gone/o.jsonl"), "no folder 'gone'"),
        ('{"id":"a","prompt":"p"}\n', ("--report", "gone/r.html"), "no folder 'gone'"),
    ],
)
def test_what_cannot_begin_is_a_fault_of_usage(
    text: str, options: tuple[str, ...], fault: str
) -> None:
    Path("tasks.jsonl").write_text(text)
    Path("notes.txt").write_text("mine\n")
    done = fleet("speaker", *options)
    assert done.exit_code == 2
    assert fault in " ".join(done.output.split())
    assert not Path("results.jsonl").exists()
    assert Path("tasks.jsonl").read_text() == text
    assert Path("notes.txt").read_text() == "mine\n"


def test_a_bound_on_cost_needs_to_know_what_the_model_costs() -> None:
    tasks("one")
    refused = fleet("unpriced", "--max-cost", 1)
    assert refused.exit_code == 2
    said = " ".join(refused.output.split())
    assert "no price is known for 'server/m'" in said
    assert "price=Price(input, output)" in said
    assert "--max-tokens" in said
    assert not Path("runs.db").exists()
    assert fleet("priced", "--max-cost", 1).exit_code == 0


def test_a_cost_that_is_unknown_is_told_with_the_reason() -> None:
    tasks("one")
    done = fleet("unpriced")
    assert done.exit_code == 0
    said = " ".join(done.output.split())
    assert "cost unknown" in said
    assert "no price is known for 'server/m'" in said
    assert results()[0]["usage"]["cost"] is None
    known = fleet("priced", "--out", "p.jsonl", "--store", "p.db")
    assert "no price" not in known.output


def test_of_many_bad_lines_the_first_are_named() -> None:
    Path("tasks.jsonl").write_text("oops\n" * 30 + '{"id":"a","prompt":"p"}\n')
    done = fleet("speaker")
    assert done.output.count("not JSON") == 20
    assert "and 10 more bad lines" in done.output


def test_results_that_cannot_be_written_are_an_error_and_can_be_had_later() -> None:
    tasks("one")
    done = fleet("speaker", "--out", "longer than any file system allows" * 10)
    assert done.exit_code == 1
    assert "OSError" in done.output
    again = fleet("speaker")
    assert again.exit_code == 0
    assert "1 done (1 before)" in again.output


def test_another_model_takes_the_place_of_the_agents_own() -> None:
    tasks("one")
    server = ("--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    assert fleet("speaker", *server, "--timeout-s", 0.05).exit_code == 1
    with SQLiteStore("runs.db") as store:
        requests = [e for e in store.load("t0").history if e.kind == "model_request"]
    assert requests[0].content.endswith("/m")


def test_a_report_is_written_when_it_is_asked_for() -> None:
    tasks("one", "two")
    assert fleet("seer", "--report", "seen.html").exit_code == 0
    assert "All seen." not in Path("seen.html").read_text(), "histories are packed"
    assert '"id":"t1"' in Path("seen.html").read_text()


def test_two_fleets_do_not_work_on_one_store_at_a_time() -> None:
    from actors.cli._alone import alone_on

    tasks("one")
    with alone_on(Path("runs.db")):
        done = fleet("speaker")
    assert done.exit_code == 2
    assert "another fleet is at work on 'runs.db'" in " ".join(done.output.split())
    assert fleet("speaker").exit_code == 0
