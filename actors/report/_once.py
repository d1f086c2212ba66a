"""Values by number, so that each stands in a page once."""

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Once(Generic[T]):
    """Gives each value a number, the same one each time."""

    def __init__(self) -> None:
        self._numbers: dict[T, int] = {}

    def number(self, value: T) -> int:
        """The number of a value; a new one when it is new."""
        return self._numbers.setdefault(value, len(self._numbers))

    @property
    def values(self) -> list[T]:
        """All values, in the order of their numbers."""
        return list(self._numbers)
