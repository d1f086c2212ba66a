"""The fields of a state class: what each holds, starts as, and how it merges.

1. What a field holds is valid and read-only, whichever way it came in.
2. A reducer gets the update as it was given; the field's type checks what it returns.
3. The three core fields are the runtime's: nodes write `context` and its summary only.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import attrs
import msgspec

from ._exec_meta import ExecMeta
from ._json import freeze
from ._message import Message
from ._reducers import Reducer, add_messages
from ._sealed import SealedList
from ._shape import Shape, shape_of

MISSING: Any = attrs.NOTHING
"""The default of a field that has none."""


@attrs.frozen(kw_only=True)
class Field:
    """One field of a state class."""

    name: str
    """Its name, which starts every path in an error."""
    shape: Shape
    """What it accepts."""
    default: Any = MISSING
    """What a new state has in it, frozen; or MISSING."""
    reducer: Reducer | None = None
    """How an update merges; None lets the update take the value's place."""
    core: bool = False
    """Whether it is one of the three that every AgentState has."""

    def check(self, value: object) -> Any:
        """Return the value valid and read-only; raises as `Shape.check`."""
        return self.shape.check(value, self.name)

    def merge(self, left: Any, update: object) -> Any:
        """Return what the field holds after an update, valid and read-only.

        Raises:
            TypeError: The reducer or the check of its result raised that.
            ValueError: The reducer raised anything else, or the result is not allowed.
        """
        if self.reducer is None:
            return self.check(update)
        try:
            merged = self.reducer(left, update)
        except Exception as error:  # a user's reducer may raise anything
            kind = TypeError if isinstance(error, TypeError) else ValueError
            name = getattr(self.reducer, "__name__", repr(self.reducer))
            raise kind(
                f"{self.name}: {name} could not merge the update:"
                f" {type(error).__name__}: {error}"
            ) from error
        return self.check(merged)

    def to_json(self, value: Any) -> Any:
        """Return a value that `check` or `merge` returned as frozen JSON."""
        return self.shape.to_json(value)

    def from_json(self, data: Any) -> Any:
        """Return the value that `to_json` made this of; raises as `check`."""
        return self.shape.from_json(data, self.name)


class _MetaShape(Shape):
    """The shape of `execution_meta`, which only the runtime and loading set."""

    def check(self, value: object, path: str) -> ExecMeta:
        if not isinstance(value, ExecMeta):
            raise TypeError(f"{path} must be an ExecMeta, got {value!r}")
        return value

    def to_json(self, value: Any) -> Any:
        return freeze(msgspec.to_builtins(value))

    def from_json(self, data: Any, path: str) -> ExecMeta:
        try:
            return msgspec.convert(data, ExecMeta)
        except msgspec.ValidationError as error:
            raise ValueError(f"{path} cannot be read: {error}") from None


def _core_fields() -> dict[str, Field]:
    text = shape_of(str | None)
    context = Field(
        name="context",
        shape=shape_of(list[Message]),
        default=SealedList[Message](),
        reducer=add_messages,
        core=True,
    )
    summary = Field(name="context_summary", shape=text, default=None, core=True)
    meta = Field(
        name="execution_meta",
        shape=_MetaShape(ExecMeta, "typed"),
        default=ExecMeta(),
        core=True,
    )
    return {field.name: field for field in (context, summary, meta)}


CORE: Mapping[str, Field] = MappingProxyType(_core_fields())
"""The fields of AgentState itself."""
