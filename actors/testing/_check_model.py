"""`check_model`: what every Model must keep, the conformance kit."""

from collections.abc import Awaitable, Callable

import trio

from actors.models import Model, close_clients, hold_clients

from ._maker import check_maker
from ._model_checks import CHECKS


def check_model(
    make_model: Callable[[], Model], *, timeout_s: float = 60.0
) -> tuple[str, ...]:
    """Try a model out with conversations of every shape that a run may send it.

    Call it from plain code: it makes trio runs of its own. Some fifty requests are
    sent, most of them at once and through no gate, so give a real provider's model a
    cheap name, and a scripted one enough to say.

    Args:
        make_model: Called without arguments, once for each check, for a model that
            answers whatever it is asked, with text or with calls of the tools offered.
        timeout_s: Seconds that one check may take.

    Returns:
        The names of the checks that were made.

    Raises:
        AssertionError: some failed; the text has a line for each, and the first
            failure is its cause.
        TypeError: ``make_model`` makes nothing.
    """
    check_maker("check_model", make_model)
    failures: list[tuple[str, Exception]] = []
    for check in CHECKS:
        try:
            trio.run(_made, check, make_model, timeout_s)
        except Exception as error:  # noqa: BLE001 - each failure is reported
            failures.append((check.__name__, _innermost(error)))
    if failures:
        lines = "\n".join(f"{name}: {error!r}" for name, error in failures)
        raise AssertionError(
            f"{len(failures)} of {len(CHECKS)} checks failed:\n{lines}"
        ) from failures[0][1]
    return tuple(check.__name__ for check in CHECKS)


async def _made(
    check: Callable[[Model], Awaitable[None]],
    make_model: Callable[[], Model],
    timeout_s: float,
) -> None:
    hold_clients()
    try:
        with trio.fail_after(timeout_s):
            model = make_model()
            await check(model)
            await model.aclose()
    finally:
        await close_clients()


def _innermost(error: Exception) -> Exception:
    """Return the one error that groups of nurseries were put around."""
    while True:
        inside: tuple[Exception, ...] = getattr(error, "exceptions", ())
        if len(inside) != 1:
            return error
        error = inside[0]
