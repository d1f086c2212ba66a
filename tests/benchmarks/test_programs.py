"""The programs of the side-by-side run that need nothing but what is installed here."""

import json
import sys

import pytest

from benchmarks.compare._rows import ROWS, Row
from benchmarks.compare.peers import asyncio_, callboard_, trio_
from benchmarks.compare.peers._script import Watch, answer

# The model of the fleet takes its time.
SOME_SLOW = [
    pytest.param(row, marks=[pytest.mark.slow] if row.id == "fleet" else [])
    for row in ROWS
]
IDS = [row.id for row in ROWS]
PROGRAMS = {"ours": callboard_.ROWS, "trio": trio_.ROWS, "asyncio": asyncio_.ROWS}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_has_every_row(program: str) -> None:
    assert list(PROGRAMS[program]) == IDS


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("row", SOME_SLOW, ids=IDS)
def test_a_row_measures_its_work_once(program: str, row: Row) -> None:
    watch = Watch(row.smoke)
    PROGRAMS[program][row.id](row.smoke, watch)
    # Begun and ended once each: one of them alone leaves a clock's reading.
    assert 0 < watch.seconds < 60
    assert 0 <= watch.cpu_s < 60
    assert watch.count >= row.smoke


def test_a_tree_tells_the_agents_that_it_has() -> None:
    watch = Watch(2)
    trio_.ROWS["tree"](2, watch)
    assert watch.count == 2 + 4 + 8


def asked(
    row: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, object]:
    def made(count: int, watch: Watch) -> None:
        watch.note = f"{count}"

    monkeypatch.setattr(sys, "argv", ["program", row, "7"])
    answer({"made": made}, "trio 1", {"lacked": "why"})
    told: dict[str, object] = json.loads(capsys.readouterr().out)
    return told


def test_a_program_prints_what_it_measured_lacks_or_runs_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked("made", monkeypatch, capsys)["note"] == "7"
    assert asked("lacked", monkeypatch, capsys) == {"absent": "why"}
    assert asked("unheard_of", monkeypatch, capsys) == {"absent": ""}
    assert asked("version", monkeypatch, capsys) == {"version": "trio 1"}
