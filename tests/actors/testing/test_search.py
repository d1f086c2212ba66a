import trio

from actors.testing import Trial, search_schedules


async def lost_update(trial: Trial) -> None:
    """Two tasks read, wait, and write back."""
    trial.notes["value"] = 0

    async def add() -> None:
        value = trial.notes["value"]
        await trio.lowlevel.checkpoint()
        trial.notes["value"] = value + 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(add)
        nursery.start_soon(add)


async def far_behind(trial: Trial) -> None:
    """Wrong only when one task takes all of its steps while the other waits."""
    done: list[str] = []
    trial.notes["done"] = done

    async def work(name: str) -> None:
        for _ in range(2):
            await trio.lowlevel.checkpoint()
            done.append(name)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(work, "a")
        nursery.start_soon(work, "b")


def both_are_counted(trial: Trial) -> bool:
    return bool(trial.notes["value"] == 2)


def they_take_turns(trial: Trial) -> bool:
    return bool(trial.notes["done"][:2] != ["b", "b"])


def test_a_lost_update_is_found_with_the_choices_that_lead_to_it() -> None:
    report = search_schedules(lost_update, invariants=[both_are_counted])
    assert not report.complete
    (violation,) = report.violations
    again = eval(violation.repeat.replace(f"{__name__}.", ""), globals())
    assert again.runs == 1
    assert [each.repeat for each in again.violations] == [violation.repeat]


def test_a_race_that_needs_a_task_far_behind_is_found() -> None:
    assert search_schedules(far_behind, invariants=[they_take_turns]).violations


def test_every_order_is_tried_once_and_then_the_search_is_complete() -> None:
    orders: list[tuple[str, ...]] = []
    report = search_schedules(
        far_behind, invariants=[lambda trial: orders.append(tuple(trial.notes["done"]))]
    )
    assert report.complete
    assert report.runs == len(orders)
    assert len(set(orders)) == 6  # two steps of each, in any order


def test_a_bound_on_the_runs_is_kept_and_said() -> None:
    report = search_schedules(far_behind, runs_max=5)
    assert (report.runs, report.complete) == (5, False)
