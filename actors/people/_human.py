"""`Human`: somebody who is asked; `Inbox`: a human who answers when there is time."""

import math
from typing import Any

import trio

from protocol import Question


class Human:
    """Answers questions: derive from it and override `ask` or `aask`.

    While a question is open it can also be answered with ``state.answer_question``;
    whichever answer comes first counts, and the other one is cancelled or refused.
    """

    wait_s: float | None = None
    """Seconds a question stays open; then the run stops with `StoppedByQuestion` and
    can go on later. None: as long as it takes."""

    def ask(self, question: Question) -> Any:
        """Return the answer; may block. `aask` calls this in a worker thread.

        Raises:
            NoHumanError: nobody is there to answer.
        """
        raise NotImplementedError(
            f"{type(self).__name__!r} answers no questions: override ask or aask"
        )

    async def aask(self, question: Question) -> Any:
        """Return the answer. Several questions may wait at once.

        Cancelled, the question is closed at once; a thread that `ask` blocks goes on
        and its answer is dropped.

        Raises:
            NoHumanError: nobody is there to answer.
        """
        # A limiter of its own: questions that wait for days take no tool's thread.
        return await trio.to_thread.run_sync(
            self.ask, question, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1)
        )


class Inbox(Human):
    """A human who answers with ``state.answer_question(id, value)`` and nothing else.

    Args:
        wait_s: Seconds a question stays open before the run stops with
            `StoppedByQuestion`: None for as long as it takes, 0 to stop at once.

    Raises:
        ValueError: ``wait_s`` is not a number >= 0.
    """

    def __init__(self, wait_s: float | None = None) -> None:
        if wait_s is not None and not 0 <= wait_s < math.inf:
            raise ValueError(
                f"wait_s is a number of seconds >= 0, or None for as long as it takes, "
                f"not {wait_s!r}"
            )
        self.wait_s = wait_s

    def ask(self, question: Question) -> Any:
        """Raise: an Inbox has nobody to turn to.

        Raises:
            TypeError: always; the text names the way out.
        """
        raise TypeError(
            f"an Inbox is not asked: answer with "
            f"state.answer_question({question.id!r}, value)"
        )

    async def aask(self, question: Question) -> Any:
        """Wait until cancelled: the answer comes through the State."""
        await trio.sleep_forever()

    def __repr__(self) -> str:
        return f"Inbox(wait_s={self.wait_s!r})"
