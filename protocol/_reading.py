"""What a State and its snapshots are read by."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ._content import ToolCallBlock
from ._entries import HistoryEntry
from ._entry import NO_USAGE
from ._json import FrozenDict
from ._message import Message
from ._stops import Question, Stopped
from ._usage import Usage
from ._value import PhaseName, Value


class Reading:
    """The values of a conversation at one moment; each a pure function of history.

    Reading one takes less than a microsecond at any length, and waits for nobody.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # each kind of reading has a value of its own

        def _now(self) -> Value: ...

    @property
    def pending_calls(self) -> tuple[ToolCallBlock, ...]:
        """The calls of the open turn that have no result yet, in request order."""
        return self._now().pending

    @property
    def held_messages(self) -> tuple[Message, ...]:
        """Messages that were added in the middle of a turn and go in when it ends."""
        return self._now().held.read()

    @property
    def questions(self) -> tuple[Question, ...]:
        """What waits for an answer, in the order it was asked."""
        return self._now().facts.questions

    @property
    def phase(self) -> PhaseName:
        """``idle``, ``thinking`` (a request waits on the model) or ``calling``."""
        return self._now().phase

    @property
    def turn(self) -> int:
        """Completed replies, plus one while a request waits on the model."""
        return self._now().turn

    @property
    def usage(self) -> Usage:
        """What every think, ask and compact cost, and the children of closed calls.

        It never goes down: a restore does not give tokens back.
        """
        return self._now().usage

    @property
    def extra_data(self) -> FrozenDict[str, Any]:
        """Your own values, read-only; change them with ``state.edit_extra_data()``."""
        return self._now().facts.extra_data

    @property
    def finished(self) -> bool:
        """Whether ``finish`` was called, and not taken back by a restore.

        A finished State cannot run again.
        """
        return self._now().facts.finished

    @property
    def answer(self) -> Any:
        """The last finish answer that was not None, else the last reply's text.

        In JSON form: a dataclass given to ``finish`` comes back as a read-only dict.
        """
        return self._now().answer

    @property
    def stopped(self) -> Stopped | None:
        """Why the current or last run is set to stop, or None; a new run clears it."""
        return self._now().facts.stopped

    @property
    def parent_id(self) -> str | None:
        """The State whose call started this one as a subagent, or None."""
        parent = self._now().facts.parent
        return None if parent is None else parent[0]

    @property
    def parent_call_id(self) -> str | None:
        """The id of that call, or None."""
        parent = self._now().facts.parent
        return None if parent is None else parent[1]

    @property
    def created_at(self) -> datetime | None:
        """When the first entry was recorded, in UTC; None without a history."""
        value = self._now()
        return value.history.at(0).at if value.size else None

    @property
    def updated_at(self) -> datetime | None:
        """When the latest entry was recorded, in UTC; None without a history."""
        value = self._now()
        return value.history.at(value.size - 1).at if value.size else None


def own_usage(history: Iterable[HistoryEntry]) -> Usage:
    """What the requests that these entries record used; that of children left out."""
    total = NO_USAGE
    for entry in history:
        match entry.kind:
            case "model_reply" | "context_change":
                total += entry.content.usage
            case "ask":
                total += entry.usage
            case _:
                pass
    return total
