import os
import signal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner, Result

from actors.cli import main


def survey(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["survey", *map(str, arguments)])


def test_the_survey_shows_a_row_for_each_file_and_the_sums(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def short():\n    pass\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "b.py").write_text("def longer():\n    x = 1\n    return x\n")
    result = survey(tmp_path)
    assert result.exit_code == 0
    rows = [line.split() for line in result.output.splitlines()]
    assert ["inner/b.py", "3", "1", "0", "1", "longer", "3"] in rows
    assert ["a.py", "2", "1", "0", "1", "short", "2"] in rows
    assert "2 files, 5 lines, 2 functions, 0 classes" in result.output


def test_the_longest_function_comes_first_and_twenty_rows_are_shown(
    tmp_path: Path,
) -> None:
    for number in range(25):
        body = "    pass\n" * (number + 1)
        (tmp_path / f"m{number:02}.py").write_text(f"def f():\n{body}")
    lines = survey(tmp_path).output.splitlines()
    shown = [line.split()[0] for line in lines if line.lstrip().startswith("m")]
    assert shown == [f"m{number:02}.py" for number in range(24, 4, -1)]


def test_a_file_that_is_not_python_is_named_and_the_rest_is_surveyed(
    tmp_path: Path,
) -> None:
    (tmp_path / "bad[red].py").write_text("def :")
    (tmp_path / "good.py").write_text("x = 1\n")
    result = survey(tmp_path)
    assert result.exit_code == 0
    assert "1 files, 1 lines" in result.output
    assert "bad[red].py: not Python: invalid syntax at line 1" in result.output


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "loop.py").symlink_to(tmp_path / "gone.py")
    (tmp_path / "good.py").write_text("x = 1\n")
    os.mkfifo(tmp_path / "pipe.py")
    result = survey(tmp_path)
    assert result.exit_code == 0
    assert "loop.py: not readable: No such file or directory" in result.output
    assert "pipe.py: not readable: not a regular file" in result.output


def test_a_file_name_that_is_not_utf_8_is_shown_all_the_same(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py")).write_text("x = 1\n")
    result = survey(tmp_path)
    assert result.exit_code == 0
    assert "\ufffd.py" in result.output


def test_other_peoples_packages_are_not_surveyed(tmp_path: Path) -> None:
    for name in ("site-packages", "__pycache__", ".hidden"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.py").write_text("x = 1\n")
    assert survey(tmp_path).exit_code == 2


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing", "does not exist"),
        ("file.txt", "is a file"),
        ("empty", "no Python file below"),
    ],
)
def test_a_folder_that_cannot_be_surveyed_is_a_fault_of_usage(
    tmp_path: Path, name: str, reason: str
) -> None:
    (tmp_path / "file.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    result = survey(tmp_path / name)
    assert result.exit_code == 2
    assert reason in result.output.replace("\n", " ")


@pytest.mark.slow
def test_without_a_folder_the_standard_library_is_surveyed() -> None:
    result = survey()
    assert result.exit_code == 0
    assert "Longest functions below" in result.output


def test_the_survey_says_what_its_tree_came_to(tmp_path: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text("x = 1\n")
    assert "1 lead, 3 surveyors: 9 requests" in survey(tmp_path).output


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--base-url", "http://localhost:1/v1"), "give both"),
        (("--model", "unheard-of"), "names no model"),
    ],
)
def test_a_model_that_cannot_be_meant_is_a_fault_of_usage(
    tmp_path: Path, options: tuple[str, ...], reason: str
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    result = survey(tmp_path, *options)
    assert result.exit_code == 2
    assert reason in " ".join(result.output.split())


def test_a_model_that_fails_ends_the_survey_with_1_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "a.py").write_text("x = 1\n")
    result = survey(tmp_path, "--model", "gpt-5")
    assert result.exit_code == 1
    assert "OPENAI_API_KEY" in result.output


def test_at_a_terminal_it_shows_how_many_surveyors_are_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    (tmp_path / "a.py").write_text("x = 1\n")
    result = survey(tmp_path)
    assert result.exit_code == 0
    assert "Surveying" in result.output


class Presser(BaseHTTPRequestHandler):
    """A provider at whose first request somebody presses Ctrl+C."""

    def do_POST(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_ctrl_c_ends_the_survey_with_a_line_and_130(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    with HTTPServer(("127.0.0.1", 0), Presser) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/v1"
        done = survey(tmp_path, "--model", "m", "--base-url", address)
        server.shutdown()
    assert done.exit_code == 130
    assert done.output == "stopped: Ctrl+C was pressed\n"
