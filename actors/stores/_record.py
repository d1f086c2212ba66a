"""What a store gives back: a State's record, and a line of its list."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import attrs

Info: TypeAlias = Mapping[str, Any]
"""What is known of a saved State beside its entries, in JSON form.

`actors.stores._info` says what stands in it; a store keeps it as it is.
"""


@attrs.frozen
class Record:
    """One saved State: all its entries, and what was told of it with the last write."""

    entries: Sequence[bytes]
    """The entries in order, each as the bytes it was written as."""
    info: Info
    """The info of the last write."""


@attrs.frozen
class Saved:
    """One line of a store's list."""

    id: str
    """The State's id."""
    info: Info
    """The info of the last write; empty when it cannot be read."""
    damage: str | None = None
    """What is wrong with the State, as far as listing it shows; None for nothing."""

    @property
    def updated(self) -> float:
        """When the latest entry was recorded, in POSIX seconds; 0.0 when unknown."""
        return float(self.info.get("updated", 0.0))
