"""The sheet of a sweep, and its page in a real browser."""

import base64
import json
import re
import subprocess
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import trio

from actors.report._experiment import About, write_experiment
from actors.report._sheet import NOT_KEPT, NOWHERE, TEXTS_MAX, UNHANDLED, Sheet
from actors.testing import Trial
from actors.testing._sweep import Tried, tries
from actors.testing._trial import Bench
from actors.testing._where import Frame, Scene, Spot

from .test_page import BROWSER, CHROMIUM


async def sends(trial: Trial) -> None:
    trial.notes["sent"] = trial.notes["counted"] = 0
    await trio.lowlevel.checkpoint()
    trial.notes["sent"] += 1
    await trio.lowlevel.checkpoint()
    trial.notes["counted"] += 1


def all_is_counted(trial: Trial) -> None:
    assert trial.notes["sent"] == trial.notes["counted"]


def sheet_of(scenario: Any, *invariants: Any, seeds: int = 2) -> Sheet:
    bench = Bench(scenario, invariants)
    sheet = Sheet(bench.name)
    for seed in range(seeds):
        for tried in tries(bench, seed, within_s=20):
            sheet.take(tried)
    return sheet


def about(**changes: Any) -> About:
    settings: dict[str, Any] = {
        "title": "shop:sends",
        "command": "callboard experiment shop:sends",
        "checked": [UNHANDLED, f"{__name__}.all_is_counted"],
        "seconds": 1.5,
        "left": None,
    }
    return About(**(settings | changes))


def tables(page: Path) -> dict[str, Any]:
    (chunk,) = re.findall(r'id="h0">(.*?)</script>', page.read_text("utf-8"))
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(chunk)))
    return found


def test_a_row_has_what_came_of_each_step_and_of_the_whole_run() -> None:
    sheet = sheet_of(sends, all_is_counted)
    assert (sheet.runs, sheet.steps, sheet.broken) == (8, 2, 2)
    row = sheet.rows[1]
    assert (row.seed, row.first, len(row.outcomes)) == (1, 0, 3)
    ends = [sheet.outcomes.values[number] for number in (row.whole, *row.outcomes)]
    assert [end.ending for end in ends] == ["left alone", *["cancelled"] * 3]
    assert [len(end.faults) for end in ends] == [0, 0, 0, 1]


def test_what_broke_is_counted_and_the_line_is_suspected_that_always_breaks() -> None:
    sheet = sheet_of(sends, all_is_counted)
    (breach,) = sheet.breaches.values()
    assert (breach.runs, breach.seed, breach.step) == (2, 0, 2)
    assert breach.fault.text.startswith("AssertionError: assert")
    assert breach.fault.frame is not None
    assert breach.fault.frame.function == "all_is_counted"
    (suspect,) = sheet.suspects(breach)
    assert (suspect.broken, suspect.runs) == (2, 2)
    assert suspect.frame.line == sends.__code__.co_firstlineno + 4


def test_a_run_that_ended_before_its_step_or_in_spite_of_it_is_told_so() -> None:
    async def deaf() -> None:
        with trio.CancelScope(shield=True):
            await trio.lowlevel.checkpoint()

    bench = Bench(deaf, [])
    sheet = Sheet(bench.name)
    for tried in tries(bench, 0, [1, 2], within_s=20):
        sheet.take(tried)
    outcomes = [sheet.outcomes.values[n].ending for n in sheet.rows[0].outcomes]
    assert outcomes == ["finished", "not reached"]
    assert sheet.rows[0].scenes == [0, NOWHERE]
    assert sheet.rows[0].first == 1


def test_an_error_in_a_group_is_told_by_what_it_holds() -> None:
    async def fails() -> None:
        async with trio.open_nursery():
            raise ExceptionGroup(
                "", [ValueError("a"), ExceptionGroup("", [KeyError()])]
            )

    (breach,) = sheet_of(fails, seeds=1).breaches.values()
    assert breach.invariant == UNHANDLED
    assert breach.fault.text == "ValueError: a; KeyError"


def test_of_very_many_texts_some_are_kept() -> None:
    sheet = Sheet("x")
    for step in range(TEXTS_MAX + 5):
        error = ValueError(f"call {step}")
        sheet.take(Tried(Trial(seed=0, step=step), [("whole", error)], None))
    texts = [fault.text for fault in sheet.faults.values]
    assert len(texts) == TEXTS_MAX + 1
    assert texts[-1] == NOT_KEPT
    assert sheet.breaches["whole"].runs == TEXTS_MAX + 5


def test_the_page_holds_each_word_once_and_the_source_around_the_users_lines(
    tmp_path: Path,
) -> None:
    page = tmp_path / "x.html"
    write_experiment(sheet_of(sends, all_is_counted), about(), page)
    found = tables(page)
    assert len(set(found["words"])) == len(found["words"])
    sources = [line for lines in found["sources"] for line in lines[1:]]
    assert '    trial.notes["sent"] += 1' in sources
    files = {found["words"][file] for file, _, _ in found["frames"]}
    assert all("actors" not in name or "tests" in name for name in files)


def test_frames_of_the_runtime_are_named_by_package_and_without_source(
    tmp_path: Path,
) -> None:
    import actors

    place = Frame(f"{Path(actors.__file__).parent}/_gate.py", 3, "respond")
    spot = Spot(kind="run", who="a run", stack=(), runtime=place, waits_in="")
    scene = Scene(spot=spot, others=(), open=())
    sheet = Sheet("x")
    sheet.take(Tried(Trial(seed=0, step=0), [], scene))
    write_experiment(sheet, about(), tmp_path / "x.html")
    found = tables(tmp_path / "x.html")
    assert found["words"][found["frames"][0][0]] == "actors/_gate.py"
    assert found["sources"] == [[]]


def seen(page: Path, chosen: str = "") -> str:
    """The elements of the page once its script has run."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, *BROWSER, "--dump-dom", f"file://{quote(str(page))}#{chosen}"],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.partition("</noscript>")[0]


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
def test_the_page_says_what_broke_and_a_chosen_run_shows_all_of_it(
    tmp_path: Path,
) -> None:
    page = tmp_path / "x.html"
    settings = about(title="A <b>sweep</b>", left="stopped: Ctrl+C was pressed")
    write_experiment(sheet_of(sends, all_is_counted), settings, page)
    shown = seen(page)
    assert "A &lt;b&gt;sweep&lt;/b&gt;" in shown
    assert "broke in 2 runs" in shown
    assert "2 of 2 broken" in shown
    assert "stopped: Ctrl+C was pressed" in shown
    assert "cancelled after step 2" not in shown
    chosen = seen(page, "1/2")
    assert "seed 1, cancelled after step 2" in chosen
    assert "callboard experiment shop:sends --seed 1 --steps 2" in chosen
    assert "where it stood" in chosen
    whole = seen(page, "0/none")
    assert "seed 0, not cancelled" in whole
    assert "--seed 0 --steps none" in whole


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
def test_a_page_of_5_000_steps_in_20_orders_is_small_and_draws(tmp_path: Path) -> None:
    sheet = Sheet("x")
    for seed in range(20):
        for step in range(5_000):
            spot = Spot(
                kind="tool" if step % 7 else "request",
                who=f"tool 't{step % 50}'",
                stack=(Frame(__file__, 1 + step % 50, "t"),),
                runtime=None,
                waits_in="trio checkpoint",
            )
            scene = Scene(spot=spot, others=(), open=(spot.who,))
            broken = [("whole", ValueError("half"))] if step % 97 == seed else []
            trial = Trial(seed=seed, step=step, steps=step, cancelled=True)
            sheet.take(Tried(trial, broken, scene))
    page = tmp_path / "x.html"
    write_experiment(sheet, about(), page)
    assert page.stat().st_size < 3_000_000
    shown = seen(page, "7/4960")
    assert "100,000" in shown
    assert "seed 7, cancelled after step 4960" in shown
    assert shown.count('class="item') < 200
