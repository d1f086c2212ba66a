"""The side-by-side run: its cells, ratios, table, pictures and page."""

import sys
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from benchmarks.compare.__main__ import has_failed, main, pick
from benchmarks.compare._cells import Measured, Missing, Outcome, measure, version_of
from benchmarks.compare._chart import chart
from benchmarks.compare._contest import Cell, Cells, Results, cells_of, contest
from benchmarks.compare._page import Setting, setting_of, write
from benchmarks.compare._peers import NotInstalledError, Peer, installed, surroundings
from benchmarks.compare._rows import Measure, Row
from benchmarks.compare._table import show
from benchmarks.compare._words import ahead, figure, notes, said, verdict

SVG = "{http://www.w3.org/2000/svg}"
LIGHT = Row(id="light", title="Light", each="a turn", what="A few.", count=100, smoke=1)
HEAVY = Row(
    id="heavy",
    title="Heavy",
    each="a turn",
    what="Many.",
    count=1_000,
    smoke=1,
    fewer={"trio": 10},
    harder_than="light",
)
OURS = Peer(name="callboard", module="callboard_", what="ours")
TRIO = Peer(name="trio", module="trio_", what="by hand", by_hand=True)
SLOW = Peer(name="pydantic-ai", module="pydantic_ai_", what="agents")


def measured(each: float, note: str = "") -> Measured:
    return Measured(each=each, count=10, note=note)


def cell(each: float, ratio: float | None = None, note: str = "") -> Cell:
    return Cell(each=each, ratio=ratio, count=100, note=note)


LACKING = Cell(missing=Missing(text="absent", why="it has none"))


# Cells


def program(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def ran(row: Row, code: str, limit_s: float = 30) -> Outcome:
    return measure(program(code), row, 7, limit_s, surroundings())


PRINTS = """
import json, sys
row, count = sys.argv[1:]
print("something else")
print(json.dumps({"count": int(count), "seconds": 0.7, "cpu_s": 0.0007, "bytes": 70,
                  "note": row}))
"""


EACH: list[tuple[Measure, float]] = [("cpu", 100), ("wall", 1e5), ("memory", 10)]


@pytest.mark.parametrize(("kind", "each"), EACH)
def test_a_cell_is_what_the_last_line_says_for_each_unit(
    kind: Measure, each: float
) -> None:
    row = Row(id="x", title="", each="", what="", count=1, smoke=1, measure=kind)
    outcome = ran(row, PRINTS)
    assert isinstance(outcome, Measured)
    assert outcome.each == pytest.approx(each)
    assert (outcome.count, outcome.note) == (7, "x")


def test_a_program_that_fails_is_told_with_its_last_words() -> None:
    outcome = ran(LIGHT, "raise SystemExit('it is broken')")
    assert outcome == Missing(text="failed", why="it is broken", failed=True)


def test_a_program_that_takes_too_long_is_ended_with_what_it_started() -> None:
    # Its child keeps the pipe open: only killing both lets this return.
    forks = "import os, time; os.fork(); time.sleep(600)"
    assert ran(LIGHT, forks, limit_s=0.1) == Missing(text="over 0.1 s")


def test_a_version_that_cannot_be_told_is_left_out() -> None:
    env = surroundings()
    assert version_of(program('print(\'{"version": "trio 1"}\')'), 30, env) == "trio 1"
    assert not version_of(program("raise SystemExit(1)"), 30, env)
    assert not version_of(program("import time; time.sleep(600)"), 0.1, env)


# The contest


def test_peers_do_a_row_one_after_the_other_in_every_round() -> None:
    seen: list[str] = []

    def run(row: Row, peer: Peer) -> Outcome:
        seen.append(f"{row.id} {peer.name}")
        return measured(1)

    contest([LIGHT, HEAVY], [OURS, TRIO], 2, run)
    once = ["light callboard", "light trio", "heavy callboard", "heavy trio"]
    assert seen == once * 2


def test_a_ratio_is_the_median_of_those_within_a_round() -> None:
    # Load doubles both in the second round: the ratio does not see it, and a figure
    # is what the ratio makes of bare trio's median.
    times = {"callboard": iter([1, 2, 3]), "trio": iter([2, 4, 2])}
    results = contest(
        [LIGHT], [OURS, TRIO], 3, lambda row, peer: measured(next(times[peer.name]))
    )
    found = results.cell(LIGHT, "callboard")
    assert (found.each, found.ratio) == (1, 0.5)
    assert results.cell(LIGHT, "trio") == Cell(each=2, ratio=1, count=10)


def test_without_bare_trio_there_is_no_ratio() -> None:
    results = contest([LIGHT], [OURS], 1, lambda row, peer: measured(1))
    assert results.cell(LIGHT, "callboard") == Cell(each=1, count=10)


def test_what_is_missing_is_not_tried_again_nor_is_more_of_it() -> None:
    seen: list[str] = []

    def run(row: Row, peer: Peer) -> Outcome:
        seen.append(row.id)
        return Missing(text="over 1 s")

    results = contest([LIGHT, HEAVY], [SLOW], 3, run)
    assert seen == ["light"]
    assert results.cell(HEAVY, SLOW.name).missing == Missing(text="over 1 s")


def test_what_took_long_is_measured_once() -> None:
    results = Results()
    results.add(LIGHT, "trio", 0, measured(1), took_s=3)
    results.add(HEAVY, "trio", 0, measured(1), took_s=5)
    assert not results.settled(LIGHT, "trio")
    assert results.settled(HEAVY, "trio")


def test_a_peer_does_what_is_set_for_it_at_the_scale_that_is_asked_for() -> None:
    assert HEAVY.count_of("callboard", 1) == 1_000
    assert HEAVY.count_of("trio", 0.5) == 5
    assert HEAVY.count_of("trio", 0.001) == 1


# Words


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.50"), (9.996, "10.0"), (12.34, "12.3"), (1234.5, "1,234")],
)
def test_a_figure_has_three_digits(value: float, text: str) -> None:
    assert figure(value) == text


def test_a_cell_says_its_ratio_or_why_it_is_empty() -> None:
    assert said("callboard", cell(5, 0.25)) == "5.00 (× 0.25)"
    assert said("trio", cell(20, 1)) == "20.0"
    assert said("callboard", cell(5)) == "5.00"
    assert said("pykka", LACKING) == "absent"


def test_a_row_says_plainly_who_takes_less() -> None:
    ours = {"callboard": cell(10)}
    assert verdict({**ours, "pykka": cell(20), "langgraph": LACKING}) == (
        "callboard leads."
    )
    by_hand = {**ours, "trio": cell(8), "asyncio": cell(5)}
    assert ahead(by_hand) == ["asyncio", "trio"]
    assert verdict(by_hand) == (
        "callboard leads but for what is by hand: asyncio takes 0.50, trio 0.80 of its "
        "cost."
    )
    assert verdict({**ours, "openai-agents": cell(1)}) == (
        "callboard does not lead: openai-agents takes 0.10 of its cost."
    )
    assert verdict({"callboard": LACKING, "trio": cell(1)}) == (
        "callboard was not measured."
    )
    assert ahead({"trio": cell(1)}) == []


def test_a_note_tells_a_smaller_count_and_why_a_cell_is_empty() -> None:
    few = Cell(each=1, count=5, note="a thread each")
    cells = {"callboard": cell(1), "pykka": few, "langgraph": LACKING}
    assert notes(LIGHT, cells) == {
        "pykka": "a thread each; measured at 5",
        "langgraph": "absent: it has none",
    }


# Table, pictures, page


def both() -> Cells:
    late = Cell(missing=Missing(text="over 120 s"))
    row = {"callboard": cell(30, 1.5), "trio": cell(20, 1), "pydantic-ai": late}
    return {"light": row, "heavy": {**row, "callboard": cell(10, 0.5)}}


def test_the_table_shows_every_cell_and_where_ours_does_not_lead() -> None:
    console = Console(width=200, record=True, file=StringIO())
    show(both(), [LIGHT, HEAVY], [OURS, TRIO, SLOW], console)
    shown = console.export_text()
    assert "30.0 (× 1.50)" in shown
    assert "over 120 s" in shown
    assert "Light: callboard leads but for what is by hand: trio takes 0.67" in shown
    assert "Heavy: " not in shown


def bars(picture: str) -> dict[str, float]:
    """The width of each bar, by the name in front of it, from top to bottom."""
    root = ET.fromstring(picture)
    names = {
        text.get("y"): text.text or ""
        for text in root.iter(f"{SVG}text")
        if text.get("text-anchor") == "end"
    }
    return {
        names[str(int(rect.get("y", "")) + 12)]: float(rect.get("width", ""))
        for rect in root.iter(f"{SVG}rect")
        if rect.get("class") in {"bar", "ours"}
    }


def test_a_picture_has_a_bar_for_each_figure_ten_times_as_much_a_step_more() -> None:
    cells = {"callboard": cell(1), "trio": cell(100), "pykka": cell(10), "x": LACKING}
    found = bars(chart(LIGHT, cells))
    assert list(found) == ["callboard", "pykka", "trio"]
    steps = found["pykka"] - found["callboard"], found["trio"] - found["pykka"]
    assert steps[0] == pytest.approx(steps[1], abs=0.2) != 0


def test_a_picture_tells_what_has_no_bar_and_can_be_read_light_and_dark() -> None:
    cells = {"callboard": cell(-5), "trio": LACKING, "<b>": cell(1_000)}
    picture = chart(LIGHT, cells)
    assert list(bars(picture)) == ["<b>"]
    assert ">absent<" in picture
    assert ">-5.00<" in picture
    assert "prefers-color-scheme: dark" in picture
    assert list(bars(chart(LIGHT, {"trio": LACKING}))) == []


SETTING = Setting(
    command="python -m benchmarks.compare --write",
    machine="2 × a processor",
    versions={"callboard": "callboard 1", "trio": "trio 1"},
    rounds=3,
    limit_s=120,
    on="2025-01-02",
)


def test_the_page_tells_the_command_the_machine_the_versions_and_the_rows(
    tmp_path: Path,
) -> None:
    page = write(both(), [LIGHT, HEAVY], [OURS, TRIO, SLOW], SETTING, tmp_path)
    text = page.read_text("utf-8")
    for part in (
        SETTING.command, SETTING.machine, SETTING.on, "3 rounds", "120 s", "trio 1",
        "| [Light](#light) | 30.0<br>(×\u202f1.50) | 20.0 | over 120 s |",
        "- Light: trio",
        "![Light: the figures of the table above](benchmarks/light.svg)",
    ):  # fmt: skip
        assert part in text
    assert (tmp_path / "benchmarks" / "light.svg").read_text("utf-8").startswith("<svg")


def test_a_page_that_is_written_again_keeps_no_picture_of_a_row_that_is_gone(
    tmp_path: Path,
) -> None:
    write(both(), [LIGHT, HEAVY], [OURS, TRIO], SETTING, tmp_path)
    page = write(both(), [HEAVY], [OURS, TRIO], SETTING, tmp_path)
    assert [each.name for each in (tmp_path / "benchmarks").iterdir()] == ["heavy.svg"]
    assert "callboard leads all rows." in page.read_text("utf-8")


def test_the_setting_of_a_run_names_this_machine_and_day() -> None:
    setting = setting_of("python", {}, 1, 2)
    assert " × " in setting.machine
    assert len(setting.on) == len("2025-01-02")


# The command


def test_rows_and_peers_are_picked_by_name_in_their_own_order() -> None:
    some = {"a": 1, "b": 2, "c": 3}
    assert pick(some, "c, a", "row") == [1, 3]
    assert pick(some, None, "row") == [1, 2, 3]
    with pytest.raises(click.BadParameter, match="no row 'd': there are a, b, c"):
        pick(some, "a,d", "row")


def test_an_environment_that_was_made_is_taken_as_it_is(tmp_path: Path) -> None:
    peer = Peer(name="made", module="made_", packages=("one", "two"), what="")
    folder = tmp_path / f"made-{sys.version_info[0]}.{sys.version_info[1]}"
    folder.mkdir()
    (folder / "installed.txt").write_text("one\ntwo")
    command = installed(peer, tmp_path)
    assert command == [
        f"{folder}/bin/python", "-m", "benchmarks.compare.peers.made_"
    ]  # fmt: skip


@pytest.mark.slow
def test_an_environment_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    peer = Peer(name="broken", module="x", packages=("--no-such-option",), what="")
    with pytest.raises(NotInstalledError, match=r"could not be installed: .*option"):
        installed(peer, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_only_a_program_that_failed_makes_the_run_fail() -> None:
    failed = Cell(missing=Missing(text="failed", why="broken", failed=True))
    results = Results()
    results.add(LIGHT, "trio", 0, Missing(text="absent"), 0)
    cells = cells_of(results, [LIGHT], [TRIO])
    assert has_failed(cells) == []
    assert has_failed({"light": {"trio": failed}}) == ["light, trio: broken"]


@pytest.mark.slow
def test_the_smoke_run_measures_ours_and_trio_as_they_are_here() -> None:
    done = CliRunner().invoke(main, ["--smoke", "--rows", "ask,tree"])
    assert done.exit_code == 0, done.output
    assert "callboard" in done.output
    assert "trio" in done.output
    assert "pykka" not in done.output
