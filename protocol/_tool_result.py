"""What a tool returns when it also changes the state."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ._json import EMPTY_DICT
from ._sealed import SealedDict


class ToolResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool's result, and with it an update of the state.

    Raises:
        TypeError: `state` is not a dict.
    """

    message: Any = None
    """What the model sees: anything that a tool may return."""
    state: Mapping[str, Any] = EMPTY_DICT
    """Fields of the graph's state, or keys of `extra_data`, to their updates."""
    is_error: bool = False
    """Whether the call failed."""

    def __post_init__(self) -> None:
        state: Any = self.state
        if not issubclass(type(state), Mapping):
            raise TypeError(
                f"the state of a ToolResult must be a dict of updates, got {state!r}:"
                " write state={'field': value}"
            )
        if state is not EMPTY_DICT:
            msgspec.structs.force_setattr(self, "state", SealedDict(state))
