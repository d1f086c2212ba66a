"""A kit that tries out whether a store keeps what `Store` promises."""

from collections.abc import Callable

from actors.stores._store import Store
from protocol._ids import new_id

from ._maker import check_maker
from ._store_bench import Bench
from ._store_checks import CHECKS
from ._store_crowds import CROWDS


def check_store(make_store: Callable[[], Store]) -> tuple[str, ...]:
    """Try out a store from plain code, from tasks, and from several openings at once.

    Call it from plain code: it makes trio runs of its own. It takes some seconds,
    writes States with new ids, and removes most of them again; what else is in the
    store is not touched.

    Args:
        make_store: Opens the store; each call opens the same place again, as another
            process would. For a store that lives in memory it returns the same object.

    Returns:
        The names of the checks that were made.

    Raises:
        AssertionError: some failed; the text has a line for each, and the first
            failure is its cause.
        TypeError: ``make_store`` makes nothing.
    """
    check_maker("check_store", make_store)
    works_plain = _works_plain(make_store)
    failures: list[tuple[str, Exception]] = []
    names: list[str] = []
    for tasks in (False, True) if works_plain else (True,):
        for check in (*CHECKS, *(CROWDS if tasks else ())):
            name = f"{check.__name__} ({'tasks' if tasks else 'plain code'})"
            names.append(name)
            try:
                check(Bench(make_store, tasks=tasks))
            except Exception as error:  # noqa: BLE001 - each failure is reported
                failures.append((name, error))
    if failures:
        lines = [f"{name}: {type(error).__name__}: {error}" for name, error in failures]
        raise AssertionError(
            f"{len(failures)} of {len(names)} checks of the store failed:\n"
            + "\n".join(lines)
        ) from failures[0][1]
    return tuple(names)


def _works_plain(make_store: Callable[[], Store]) -> bool:
    with make_store() as store:
        try:
            store.read(new_id())
        except TypeError:
            return False
    return True
