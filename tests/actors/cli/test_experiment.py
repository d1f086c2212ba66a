import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from actors.cli import main

MODULE = "tests.actors.cli.experiments"
ROOT = Path(__file__).parent.parent.parent.parent


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def experiment(scenario: str, *options: object) -> Result:
    name = scenario if ":" in scenario else f"{MODULE}:{scenario}"
    return CliRunner().invoke(main, ["experiment", name, *map(str, options)])


def own(name: str) -> str:
    return f"{MODULE}:{name}"


def test_a_scenario_that_holds_ends_with_0_and_a_page() -> None:
    done = experiment("waits", "--seeds", 2)
    assert done.exit_code == 0, done.output
    assert "waits: 10 runs of up to 3 steps in 2 orders" in done.output
    assert "nothing broke: 9 invariants held" in done.output
    assert "page: experiment.html" in done.output
    assert f"{MODULE}:waits" in Path("experiment.html").read_text()


def test_what_breaks_is_told_with_its_line_and_ends_with_1() -> None:
    done = experiment("orders", "--seeds", 3, "--invariant", own("is_whole"))
    assert done.exit_code == 1
    assert "broke 1 of 10 invariants" in done.output
    assert f"{MODULE}.is_whole: in " in done.output
    assert "AssertionError: assert shop[" in done.output
    assert re.search(
        r"(\d+) of \1 runs cancelled with tool 'order' at experiments.py:\d+ order",
        done.output,
    )


def test_the_command_that_is_told_repeats_that_one_run_with_all_of_it() -> None:
    found = experiment("orders", "--seeds", 2, "--invariant", own("is_whole"))
    (line,) = re.findall(r"again: callboard (.*)", found.output)
    page = Path("experiment.html").read_text()
    again = CliRunner().invoke(main, shlex.split(line))
    assert again.exit_code == 1
    assert "1 run in 1 order" in again.output
    assert "in is_whole" in again.output, "the traceback"
    assert "when it was cancelled:" in again.output
    assert "open: tool 'order'" in again.output
    assert "again:" not in again.output
    assert Path("experiment.html").read_text() == page, "the page of all stays"


def test_an_error_that_leaves_the_scenario_is_told_by_its_leaves() -> None:
    done = experiment("fails", "--seeds", 1)
    assert done.exit_code == 1
    assert "no error leaves the scenario: in" in done.output
    assert "ValueError: no luck" in done.output


def test_a_run_that_hangs_breaks_its_time_and_the_next_one_is_tried() -> None:
    done = experiment("hangs", "--seeds", 1, "--timeout-s", 0.02)
    assert done.exit_code == 1
    assert "it ends in time: in 3 runs" in done.output
    assert "--timeout-s 0.02 --seed 0 --steps none" in done.output


@pytest.mark.parametrize(
    ("steps", "runs"),
    [("2", 1), ("1:2", 2), ("2:", 3), (":1", 2), ("none", 1), ("2:900", 3)],
)
def test_only_the_steps_that_were_asked_for_are_tried(steps: str, runs: int) -> None:
    done = experiment("waits", "--seed", 5, "--steps", steps)
    assert done.exit_code == 0, done.output
    assert f"waits: {runs} run" in done.output


def test_steps_that_no_run_comes_to_are_told() -> None:
    done = experiment("waits", "--seeds", 2, "--steps", "900")
    assert "no run was cancelled: all of them ended before these" in done.output
    for steps in ("none", "2:900"):
        assert "no run" not in experiment("waits", "--steps", steps).output


def test_an_agent_is_asked_its_prompt_and_begins_its_script_each_time() -> None:
    done = experiment("agent", "--prompt", "Look around.", "--seeds", 2)
    assert done.exit_code == 0, done.output
    assert "nothing broke" in done.output
    steps = re.search(r"of up to (\d+) steps", done.output)
    assert steps is not None
    assert int(steps[1]) > 3


def test_the_prompt_is_part_of_the_command_that_repeats() -> None:
    done = experiment(
        "agent", "--prompt", "It's so", "--seed", 0, "--invariant", own("is_whole")
    )
    assert done.exit_code == 0, done.output
    page = Path("experiment.html").read_text()
    command = f"callboard experiment {MODULE}:agent --invariant {own('is_whole')}"
    assert f"""{command} --prompt 'It'\\"'\\"'s so'""" in page


@pytest.mark.parametrize(
    ("scenario", "options", "fault"),
    [
        ("waits:", (), "names no scenario: write MODULE:NAME"),
        ("nowhere:x", (), "no module 'nowhere'"),
        (own("nothing"), (), "its own functions and agents are orders, is_whole"),
        ("not_a_function", (), "is no function but"),
        ("is_whole", (), "is no async function: write it with 'async def'"),
        ("agent", (), "say what it is asked with --prompt"),
        ("agent", ("--prompt", "x", "--model", "unheard-of"), "names no model"),
        ("agent", ("--prompt", "x", "--base-url", "http://x"), "give both"),
        ("waits", ("--prompt", "x"), "--prompt is for an Agent"),
        ("waits", ("--model", "gpt-5"), "--model is for an Agent"),
        ("waits", ("--invariant", own("nothing")), "no 'nothing' in module"),
        ("waits", ("--invariant", own("not_a_function")), "is no function"),
        ("waits", ("--seeds", 3, "--seed", 1), "give one of the two"),
        ("waits", ("--seeds", 0), "--seeds"),
        ("waits", ("--steps", "x"), "'x' names no steps"),
        ("waits", ("--steps", ":"), "':' names no steps"),
        ("waits", ("--steps", "5:2"), "ends before it begins"),
        ("waits", ("--timeout-s", "nan"), "is no number"),
        ("waits", ("--timeout-s", "0"), "--timeout-s"),
        ("waits", ("--out", "nowhere/x.html"), "there is no folder 'nowhere'"),
        ("tests.actors.cli.broken:x", (), "ZeroDivisionError"),
    ],
)
def test_what_cannot_be_meant_is_a_fault_of_usage_and_nothing_is_written(
    scenario: str, options: tuple[object, ...], fault: str
) -> None:
    done = experiment(scenario, *options)
    assert done.exit_code == 2, done.output
    assert fault in " ".join(done.output.split())
    assert not list(Path.cwd().iterdir())


def test_quiet_shows_nothing_and_writes_the_page_where_it_is_wanted() -> None:
    done = experiment("fails", "--seed", 0, "--quiet", "--out", "x.html")
    assert (done.exit_code, done.output) == (1, "")
    assert Path("x.html").exists()


def test_a_page_is_not_written_over_what_is_none() -> None:
    Path("shop.py").write_text("mine = 1\n")
    done = experiment("waits", "--seeds", 1, "--out", "shop.py")
    assert done.exit_code == 2
    assert "over 'shop.py', which is none" in " ".join(done.output.split())
    assert Path("shop.py").read_text() == "mine = 1\n"
    for _ in range(2):
        assert experiment("waits", "--seeds", 1, "--out", "x.html").exit_code == 0


def test_a_page_that_cannot_be_written_is_an_error() -> None:
    Path("x.html").mkdir()
    done = experiment("waits", "--seeds", 1, "--out", ".x.html.new/x.html")
    assert done.exit_code == 2
    Path(".y.html.new").mkdir()
    done = experiment("waits", "--seeds", 1, "--out", "y.html")
    assert done.exit_code == 1
    assert "IsADirectoryError" in done.output


def test_ctrl_c_ends_with_the_run_that_is_under_way_and_writes_what_was_found() -> None:
    before = signal.getsignal(signal.SIGINT)
    done = experiment("presses", "--seeds", 5)
    assert done.exit_code == 130
    assert "stopping after this run; Ctrl+C again stops now" in done.output
    assert "presses: 7 runs" in done.output
    assert "stopped: Ctrl+C was pressed: the rest was not tried" in done.output
    assert "stopped: Ctrl+C was pressed" in Path("experiment.html").read_text()
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_in_the_last_run_stops_nothing() -> None:
    assert experiment("presses_at_last", "--seeds", 1).exit_code == 0


STUCK = """
import os, signal, time
async def stuck():
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""


@pytest.mark.slow
def test_ctrl_c_twice_leaves_a_run_behind_that_does_not_stop() -> None:
    Path("stuck.py").write_text(STUCK)
    done = subprocess.run(
        [sys.executable, "-m", "actors", "experiment", "stuck:stuck"],
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        timeout=30,
    )
    assert done.returncode == 130
    assert "left behind: the run after the beginning" in done.stderr
    assert "Ctrl+C was pressed twice" in Path("experiment.html").read_text()


def test_at_a_terminal_it_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = experiment("fails", "--seeds", 1)
    assert done.exit_code == 1
    assert "runs/s" in done.output


def test_elsewhere_it_says_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    from actors.cli import _sweeper

    monkeypatch.setattr(_sweeper, "LINE_EVERY_S", 0.0)
    done = experiment("waits", "--seeds", 2)
    assert "order 1 of 2  step 2 of 5  runs 2  broken 0" in done.output
    assert "order 2 of 2  step 5 of 5  runs 10" in done.output
