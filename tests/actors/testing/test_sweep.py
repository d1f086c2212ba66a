import pytest
import trio
import trio.testing

from actors.testing import SweepReport, Trial, cancel_sweep, seeded


async def waits_once() -> str:
    await trio.lowlevel.checkpoint()
    return "done"


async def sums_late(trial: Trial) -> None:
    """Counts what it took after an await: a cancel in between loses it."""
    trial.notes["taken"] = trial.notes["counted"] = 0
    trial.notes["taken"] += 1
    await trio.lowlevel.checkpoint()
    trial.notes["counted"] += 1


def all_is_counted(trial: Trial) -> None:
    assert trial.notes.get("taken") == trial.notes.get("counted")


async def leaves_a_task() -> None:
    trio.lowlevel.spawn_system_task(trio.sleep, 60)
    await trio.testing.wait_all_tasks_blocked()


def test_a_program_is_cancelled_before_and_after_each_of_its_steps() -> None:
    seen: list[tuple[int | None, bool, object]] = []
    report = cancel_sweep(
        waits_once,
        seeds=[7],
        invariants=[
            lambda trial: seen.append((trial.step, trial.cancelled, trial.value))
        ],
    )
    assert report == SweepReport(runs=3, steps=1, violations=())
    assert seen == [
        (None, False, "done"),
        (0, True, None),
        (1, True, None),
    ]


def test_a_sum_made_after_a_wait_is_found_with_the_line_that_repeats_it() -> None:
    report = cancel_sweep(sums_late, seeds=[3], invariants=[all_is_counted])
    violation = report.violations[0]
    assert (violation.seed, violation.step) == (3, 0)
    assert violation.invariant.endswith("all_is_counted")
    assert violation.repeat in str(report)
    line = violation.repeat.replace(f"{__name__}.", "")
    again: SweepReport = eval(line, globals())
    assert again.runs == 1
    assert [each.repeat for each in again.violations] == [violation.repeat]


def test_a_task_that_a_run_leaves_behind_is_a_violation() -> None:
    (violation,) = cancel_sweep(leaves_a_task, seeds=[0], steps=[None]).violations
    assert violation.invariant == "nothing is left"
    assert str(violation.error) == "tasks: trio.sleep; a deadline that is still ahead"


def test_an_invariant_may_wait_and_is_broken_by_false_too() -> None:
    async def still_runs() -> bool:
        await trio.lowlevel.checkpoint()
        return False

    report = cancel_sweep(waits_once, seeds=[0], invariants=[still_runs])
    assert len(report.violations) == report.runs
    assert {str(each.error) for each in report.violations} == {"it returned False"}


def test_an_error_that_leaves_the_scenario_is_a_violation_and_the_cancel_is_none() -> (
    None
):
    async def fails_when_cancelled() -> None:
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled:
            raise ValueError("lost") from None

    report = cancel_sweep(fails_when_cancelled, seeds=[0])
    assert {repr(each.error) for each in report.violations} == {"ValueError('lost')"}
    assert all(each.step is not None for each in report.violations)


def test_a_sweep_stops_once_it_has_found_plenty() -> None:
    report = cancel_sweep(waits_once, seeds=range(1000), invariants=[lambda: False])
    assert 100 <= len(report.violations) < 200


def test_a_scenario_that_wants_more_is_refused_before_anything_runs() -> None:
    async def wants_more(one: object, other: object) -> None:
        raise AssertionError("never called")

    with pytest.raises(TypeError, match="called with the trial, or with nothing"):
        cancel_sweep(wants_more)
    with pytest.raises(TypeError, match="is no async function: write it with"):
        cancel_sweep(lambda: None)
    with pytest.raises(TypeError, match="not 3"):
        cancel_sweep(waits_once, invariants=[3])


async def trace(tasks: int, steps: int) -> list[tuple[int, int]]:
    seen: list[tuple[int, int]] = []

    async def work(number: int) -> None:
        for step in range(steps):
            seen.append((number, step))
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        for number in range(tasks):
            nursery.start_soon(work, number)
    return seen


async def four_by_four() -> list[tuple[int, int]]:
    return await trace(4, 4)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_the_same_seed_steps_tasks_in_the_same_order(seed: int) -> None:
    assert seeded(four_by_four, seed) == seeded(four_by_four, seed)


def test_seeds_differ_and_odd_ones_let_tasks_fall_behind() -> None:
    traces = {seed: seeded(four_by_four, seed) for seed in range(40)}
    assert len({tuple(each) for each in traces.values()}) > 30
    lockstep = [step for step in range(4) for _ in range(4)]
    for seed, seen in traces.items():
        assert seed % 2 or [step for _, step in seen] == lockstep
    assert any([step for _, step in seen] != lockstep for seen in traces.values())


def test_a_seed_decides_random_numbers_too_and_leaves_those_around_alone() -> None:
    import random

    async def draw() -> float:
        return random.random()

    random.seed(5)
    expected = random.random()
    random.seed(5)
    assert seeded(draw, 1) == seeded(draw, 1) != seeded(draw, 2)
    assert random.random() == expected


def test_a_seeded_run_raises_what_the_program_raises() -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        seeded(fail, 0)


def test_control_c_ends_a_sweep() -> None:
    async def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cancel_sweep(interrupted)
    with pytest.raises(KeyboardInterrupt):
        cancel_sweep(waits_once, invariants=[interrupted])


def test_a_seed_leaves_trio_runs_of_other_threads_alone() -> None:
    async def elsewhere() -> int:
        return await trio.to_thread.run_sync(lambda: len(trio.run(four_by_four)))

    assert seeded(elsewhere, 1) == 16
