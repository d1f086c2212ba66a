"""From a class statement to its table of fields.

1. A table is made once for each class, from its annotations and defaults; a later
   class of the MRO is overruled by an earlier one, as with any attribute.
2. A default is checked like any value and frozen, and leaves the class: nobody can
   reach, change or share an editable one.
3. `context` always holds messages; a subclass may only change its reducer and default.
"""

import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import attrs

from ._fields import CORE, MISSING, Field
from ._message import Message
from ._reducers import Reducer
from ._shape import shape_of

_DECLARED = "__agent_declared__"
_TABLE = "__agent_fields__"


@attrs.define
class Declared:
    """What one class statement says about fields, taken out of the class."""

    owner: str
    module: str
    annotations: dict[str, Any]
    defaults: dict[str, Any]
    fields: dict[str, Field] | None = None
    """What it adds and changes, once all names in its annotations are known."""

    def resolve(
        self, inherited: Mapping[str, Field], names: Mapping[str, Any] | None
    ) -> dict[str, Field]:
        """Return the fields this class adds or changes, made once.

        Args:
            inherited: The table of the classes before it.
            names: Names that annotations may use beside those of the module.

        Raises:
            NameError: An annotation names what is not defined yet.
            TypeError: A field cannot be, or its default is not of its type.
            ValueError: A default is of its type and not allowed.
        """
        if self.fields is None:
            members = {"__annotations__": self.annotations, "__module__": self.module}
            hints = typing.get_type_hints(
                type(self.owner, (), members), localns=names, include_extras=True
            )
            made = {n: self._field(n, hint, inherited) for n, hint in hints.items()}
            for name in self.defaults.keys() - made.keys():
                made[name] = self._with_default(inherited[name])
            self.fields = made
        return self.fields

    def _field(self, name: str, hint: Any, inherited: Mapping[str, Field]) -> Field:
        if name in CORE and name != "context":
            raise TypeError(f"{self.owner} cannot declare {name!r}: AgentState has it")
        declared, reducer = self._named(_split, hint, name)
        if name == "context":
            self._named(_check_context, declared, name)
            shape = CORE[name].shape
        else:
            shape = self._named(shape_of, declared, name)
        before = inherited.get(name)
        return self._with_default(
            Field(
                name=name,
                shape=shape,
                default=MISSING if before is None else before.default,
                reducer=reducer,
                core=name in CORE,
            )
        )

    def _with_default(self, field: Field) -> Field:
        if field.name not in self.defaults:
            return field
        default = self._named(field.check, self.defaults[field.name], field.name)
        return attrs.evolve(field, default=default)

    def _named(self, check: Callable[[Any], Any], value: Any, name: str) -> Any:
        """Call `check`, and name the class and the field in what it raises."""
        try:
            return check(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"field {name!r} of {self.owner}: {error}") from error


def declare(cls: type, base: type) -> None:
    """Take what a class statement says about fields out of a new class.

    Resolves its annotations with the names its statement sees; those that name what
    is not defined yet wait until the table is first asked for. To be called by
    `__init_subclass__` itself, whose caller's frame is that of the statement.

    Args:
        cls: The new class.
        base: The class whose attributes no field may hide.

    Raises:
        TypeError: A field would hide an attribute of ``base``, or as `fields_of`.
        ValueError: As `fields_of`.
    """
    own = inspect.get_annotations(cls)
    annotations = {n: h for n, h in own.items() if n[0] != "_" and not _is_class_var(h)}
    for name in annotations:
        if hasattr(base, name):
            raise TypeError(
                f"field {name!r} of {cls.__name__} would hide {base.__name__}.{name}:"
                " give it another name"
            )
    names = annotations.keys() | _inherited_names(cls)
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    for name in defaults:
        delattr(cls, name)
    declared = Declared(cls.__name__, cls.__module__, annotations, defaults)
    setattr(cls, _DECLARED, declared)
    # A class made in a function may name that function's locals, and under `from
    # __future__ import annotations` nothing but the frame still knows them.
    statement = sys._getframe(2)
    try:
        _make_table(cls, dict(statement.f_locals))
    except NameError:
        return


def fields_of(cls: type) -> Mapping[str, Field]:
    """Return the table of a state class: its fields by name, the core ones first.

    Raises:
        NameError: An annotation names what is not defined.
        TypeError: A field cannot be, or its default is not of its type.
        ValueError: A default is of its type and not allowed.
    """
    table = cls.__dict__.get(_TABLE)
    return _make_table(cls, None) if table is None else table


def _make_table(cls: type, names: Mapping[str, Any] | None) -> Mapping[str, Field]:
    table = dict(CORE)
    for base in reversed(cls.__mro__):
        declared: Declared | None = base.__dict__.get(_DECLARED)
        if declared is not None:
            table |= declared.resolve(table, names if base is cls else None)
    made = MappingProxyType(table)
    setattr(cls, _TABLE, made)
    return made


def _inherited_names(cls: type) -> set[str]:
    names = set(CORE)
    for base in cls.__mro__[1:]:
        declared: Declared | None = base.__dict__.get(_DECLARED)
        if declared is not None:
            names |= declared.annotations.keys()
    return names


def _split(hint: Any) -> tuple[Any, Reducer | None]:
    """Part `Annotated[T, reducer, ...]` into T with the rest, and the reducer."""
    if typing.get_origin(hint) is not Annotated:
        return hint, None
    declared, *notes = typing.get_args(hint)
    reducers = [note for note in notes if callable(note)]
    if len(reducers) > 1:
        raise TypeError(f"it can have one reducer, not {len(reducers)}: {reducers!r}")
    for note in notes:
        if not callable(note):
            declared = Annotated[declared, note]
    return declared, reducers[0] if reducers else None


def _check_context(declared: Any) -> None:
    origin, args = typing.get_origin(declared) or declared, typing.get_args(declared)
    if origin is not list or args not in {(), (Message,)}:
        raise TypeError(
            "it holds messages; declare it as Annotated[list[Message], reducer]"
        )


def _is_class_var(hint: Any) -> bool:
    if isinstance(hint, str):
        return hint.startswith(("ClassVar", "typing.ClassVar"))
    return hint is ClassVar or typing.get_origin(hint) is ClassVar
