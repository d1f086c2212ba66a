"""What every entry of a history has.

``==`` ignores ``at`` and exception objects: two clocks, one conversation.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec

from ._content import ContentBlock
from ._json import FrozenDict
from ._usage import NOTHING

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of an entry that nobody gave a time: this layer reads no clock."""

Content: TypeAlias = str | tuple[ContentBlock, ...]
"""Text, or blocks where there is more than text."""

NO_USAGE = NOTHING

NO_DATA: FrozenDict[str, Any] = FrozenDict()

_NOT_COMPARED = frozenset({"at", "error"})


class Entry(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="entry"
):
    """What every entry has: a turn and a time."""

    turn: int = 0
    """The State's turn when this was recorded; for readers, the fold recounts."""
    at: datetime = EPOCH
    """When this was recorded, in UTC."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        key = _key(type(self))
        return bool(key(self) == key(other))

    def __hash__(self) -> int:
        return hash((type(self), _key(type(self))(self)))


_KEYS: dict[type[Entry], Callable[[object], Any]] = {}


def _key(kind: type[Entry]) -> Callable[[object], Any]:
    key = _KEYS.get(kind)
    if key is None:
        names = [n for n in kind.__struct_fields__ if n not in _NOT_COMPARED]
        key = _KEYS[kind] = attrgetter(*names)
    return key
