"""The arguments of a tool: from a function's signature to a JSON schema and back.

1. What the schema allows is what `bind` accepts: both are made of the same types.
2. Parameters named `state` and `call` are the runtime's: the model never sees them.
3. Defaults stay with the function: an argument that was not given is not passed.
"""

import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MethodType, SimpleNamespace
from typing import Any

import attrs
import msgspec

from actors._faults import faults_in, listed, unknown
from actors._typed import convert, json_schema, json_schemas, readable
from actors._words import in_words
from protocol import FrozenDict, ToolInputError
from protocol._json import freeze, thaw

HIDDEN = frozenset({"state", "call"})
"""Parameters that get the State and the call, and that no model gives."""

_PLAIN = frozenset({str, int, float, bool, type(None)})
_FOR_MODELS = (str, int, float, bool, "str", "int", "float", "bool")

_EMPTY = inspect.Parameter.empty


@attrs.frozen
class Arguments:
    """What the model gives to a tool; make one with `arguments_of`."""

    tool: str
    """The tool's name, for errors."""
    schema: FrozenDict[str, Any]
    """JSON schema of the arguments: an object that has these and no others."""
    hidden: frozenset[str]
    """Which of `HIDDEN` the function takes."""
    is_method: bool
    """Whether the function still wants an object first, as it stands in a class."""
    types: dict[str, Any]
    """The type of each argument, as msgspec reads it."""
    required: frozenset[str]
    """Which of them must be given."""
    struct: Any
    """The Struct that msgspec reads them as."""

    def bind(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Give the arguments as the function takes them, those that were given.

        Nothing of `given` is shared with the result but strings and numbers.

        Args:
            given: Arguments by name as the model wrote them: JSON, frozen or not.

        Raises:
            ToolInputError: They cannot be used; the text lists all faults.
        """
        try:
            # A tool may change what it gets; the call in the history may not change.
            if not _PLAIN.issuperset(map(type, given.values())):
                given = thaw(given)
            read = convert(given, self.struct)
        except msgspec.ValidationError as error:
            problem = self._problem(given, str(error))
        else:
            return {name: getattr(read, name) for name in given}
        raise ToolInputError(problem)

    def _problem(self, given: Mapping[str, Any], first: str) -> str:
        faults: list[str] = []
        for name, declared in self.types.items():
            if name in given:
                faults += faults_in(given[name], declared, name)
            elif name in self.required:
                wanted = in_words(msgspec.inspect.type_info(declared))
                faults.append(f"{name} is missing: give {wanted}")
        faults += unknown(given, tuple(self.types))
        return listed(f"cannot call {self.tool!r}", faults or [first])


def arguments_of(
    fn: Callable[..., Any], *, tool: str, texts: Mapping[str, str]
) -> Arguments:
    """Read the signature of a function.

    Args:
        fn: The function, or anything else that can be called.
        tool: The tool's name, for errors.
        texts: What the docstring says about each argument.

    Raises:
        TypeError: A model cannot give one of its parameters, by name and as JSON.
    """
    parameters = list(_signature(fn, tool).parameters.values())
    is_method = fn is function_of(fn) and _begins_with_object(parameters)
    parameters = parameters[is_method:]
    for parameter in parameters:
        _check(parameter, tool)
    given = [each for each in parameters if each.name not in HIDDEN]
    types = {each.name: _type_of(fn, each, tool) for each in given}
    return Arguments(
        tool=tool,
        schema=freeze(_schema(given, types, texts, tool), f"the schema of {tool!r}"),
        hidden=frozenset(each.name for each in parameters if each.name in HIDDEN),
        is_method=is_method,
        types=types,
        required=frozenset(each.name for each in given if each.default is _EMPTY),
        struct=msgspec.defstruct(
            "Arguments",
            [_field(each, types[each.name]) for each in given],
            kw_only=True,
            forbid_unknown_fields=True,
        ),
    )


def function_of(fn: Any) -> Any:
    """Give the plain function behind a partial, a method or an object with a call."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if isinstance(fn, MethodType):
        return fn.__func__
    return fn if inspect.isroutine(fn) else type(fn).__call__


def _signature(fn: Callable[..., Any], tool: str) -> inspect.Signature:
    try:
        return inspect.signature(fn)
    except ValueError:
        raise TypeError(
            f"cannot read the parameters of {tool!r}: wrap it in a function of yours"
            " with annotated parameters"
        ) from None


def _begins_with_object(parameters: Sequence[inspect.Parameter]) -> bool:
    return bool(parameters) and parameters[0].name in {"self", "cls"}


def _check(parameter: inspect.Parameter, tool: str) -> None:
    """Refuse what a model cannot give."""
    name = parameter.name
    match parameter.kind:
        case parameter.VAR_POSITIONAL:
            way = f"*{name}, a model gives each by its name: take one {name}: list[str]"
        case parameter.VAR_KEYWORD:
            way = f"**{name}, a model has to know the names: take one {name}: dict"
        case parameter.POSITIONAL_ONLY:
            way = f"{name!r} by position only: leave out the / in the signature"
        case _ if name in HIDDEN and parameter.annotation in _FOR_MODELS:
            what = "the State" if name == "state" else "the call"
            way = (
                f"{name!r} from the model, it gets {what} there: give the parameter"
                " another name"
            )
        case _:
            return
    raise TypeError(f"tool {tool!r} cannot take {way}")


def _type_of(fn: Any, parameter: inspect.Parameter, tool: str) -> Any:
    """Give the type of a parameter; any JSON where it has no annotation."""
    if parameter.annotation is _EMPTY:
        return Any
    function = inspect.unwrap(function_of(fn))
    holder = SimpleNamespace(__annotations__={"it": parameter.annotation})
    names = getattr(function, "__globals__", {})
    try:
        hints = typing.get_type_hints(holder, globalns=names, include_extras=True)
        return readable(hints["it"])
    except (NameError, SyntaxError, TypeError) as error:
        raise TypeError(
            f"cannot read the annotation of {parameter.name!r} in tool {tool!r},"
            f" {parameter.annotation!r}: {error}; use a type of its module's top level"
        ) from error


def _field(parameter: inspect.Parameter, declared: Any) -> tuple[Any, ...]:
    if parameter.default is _EMPTY:
        return (parameter.name, declared)
    # Never read: `bind` gives what was given only.
    return (parameter.name, declared, msgspec.UNSET)


def _schema(
    given: Iterable[inspect.Parameter],
    types: Mapping[str, Any],
    texts: Mapping[str, str],
    tool: str,
) -> dict[str, Any]:
    schemas, defs = _schemas(types, tool)
    for parameter, schema in zip(given, schemas, strict=True):
        if "description" not in schema and parameter.name in texts:
            schema["description"] = texts[parameter.name]
        if parameter.default is not _EMPTY:
            schema.update(_default(parameter.default, types[parameter.name]))
    made: dict[str, Any] = {
        "type": "object",
        "properties": dict(zip(types, schemas, strict=True)),
        "additionalProperties": False,
    }
    if required := [each.name for each in given if each.default is _EMPTY]:
        made["required"] = required
    return made | {"$defs": defs} if defs else made


def _schemas(
    types: Mapping[str, Any], tool: str
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    try:
        return json_schemas(tuple(types.values()))
    except (TypeError, NameError):
        for name, declared in types.items():
            _check_alone(name, declared, tool)
        raise


def _check_alone(name: str, declared: Any, tool: str) -> None:
    try:
        json_schema(declared)
    except (TypeError, NameError) as error:
        raise TypeError(f"parameter {name!r} of tool {tool!r}: {error}") from error


def _default(default: Any, declared: Any) -> dict[str, Any]:
    """Give the default as the model would write it; nothing if it cannot."""
    try:
        written = freeze(msgspec.to_builtins(default, str_keys=True))
        convert(thaw(written), declared)
    except (TypeError, ValueError, msgspec.ValidationError):
        return {}
    return {"default": written}
