"""A tool: a function, and what a model and the runtime have to know about it.

1. Everything wrong about a tool is said when it is made, never when it is called.
2. A Tool is a value: settings and a function. Running calls is the runtime's.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, overload

import attrs
import msgspec

from actors.models._model import ToolSpec
from protocol import FrozenDict

from ._asyncio import for_trio
from ._docstring import read_docstring
from ._schema import Arguments, arguments_of, function_of
from ._settings import OnError, check_name, check_settings

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, TypeVar

    P = ParamSpec("P", default=...)
    R = TypeVar("R", default=Any)
else:  # Python 3.11 has no defaults; for checkers a plain `Tool` is any tool
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")


@attrs.frozen(kw_only=True, init=False, eq=False)
class Tool(Generic[P, R]):
    """A function that a model may call. Make one with `@tool`.

    Calling a Tool calls its function, with nothing checked and nothing recorded. A
    Tool in a class is a method: `shop.price` is the tool of that object.
    """

    name: str
    """What the model calls it by; unique among an agent's tools."""
    description: str = attrs.field(repr=False)
    """What it does, for the model."""
    parameters: FrozenDict[str, Any] = attrs.field(repr=False)
    """JSON schema of the arguments that the model gives."""
    fn: Callable[P, R] = attrs.field(repr=False)
    """The function."""
    is_async: bool
    """Whether calling the function gives an awaitable."""
    parallel: bool
    """Whether it may run beside other calls of its turn."""
    timeout_s: float | None
    """Seconds after which a call ends with an error result; None: never."""
    retries: int
    """How often a call that raised `ToolError`, or took too long, is run again."""
    on_error: OnError | None
    """What an exception does that is no ToolError; None: what the agent says."""
    read_only: bool | None
    """Whether it changes nothing; None: not said."""
    destructive: bool | None
    """Whether what it does cannot be taken back; None: not said."""
    idempotent: bool | None
    """Whether a repeated call with its key does no more than one; None: not said."""
    open_world: bool | None
    """Whether it reaches things outside, such as the web; None: not said."""
    asyncio: bool
    """Whether the function is written for asyncio."""
    hidden: frozenset[str]
    """Which of `state` and `call` the function takes beside the arguments."""
    spec: ToolSpec = attrs.field(repr=False)
    """The tool as a model gets to know it."""
    is_method: bool = attrs.field(repr=False)
    """Whether an object is missing: this Tool was read from the class."""
    _arguments: Arguments = attrs.field(repr=False)

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        raise TypeError("a Tool is not made by Tool(...): write @tool, or as_tool(fn)")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.fn(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> "Tool[..., R]":
        if instance is None or not self.is_method:
            return self
        fields = {
            each.alias: getattr(self, each.name) for each in attrs.fields(type(self))
        }
        bound = MethodType(self.fn, instance)
        return _made(**fields | {"fn": bound, "is_method": False})

    def bind(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Give the arguments of a call as the function takes them.

        What was not given is left to the function's defaults; `state` and `call` are
        the runtime's to add.

        Args:
            args: Arguments by name as the model wrote them: JSON, frozen or not. It
                is left as it is, and the result shares nothing with it that can
                change.

        Raises:
            ToolInputError: They cannot be used. The text lists all faults, each with
                its path and what belongs there.
        """
        return self._arguments.bind(args)


def _made(**fields: Any) -> Tool[..., Any]:
    made: Any = object.__new__(Tool)
    made.__attrs_init__(**fields)
    return made  # type: ignore[no-any-return]  # checkers do not know attrs' own init


@overload
def tool(fn: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    parallel: bool = True,
    timeout_s: float | None = None,
    retries: int = 0,
    on_error: OnError | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    asyncio: bool = False,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parallel: bool = True,
    timeout_s: float | None = None,
    retries: int = 0,
    on_error: OnError | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    asyncio: bool = False,
) -> Tool[..., Any] | Callable[[Callable[..., Any]], Tool[..., Any]]:
    """Make a Tool of a function: `@tool`, or `@tool(...)` with settings.

    The schema comes from the signature and the docstring: types, constraints and
    texts in `Annotated[...]`, defaults, and what the docstring says about each
    argument (Google's form, numpydoc's, or `:param name:`). A parameter without an
    annotation takes any JSON. Parameters named `state` and `call` get the State and
    the call, and the model never sees them.

    Args:
        fn: The function, plain or async.
        name: What the model calls it by; the function's name when left out.
        description: What it does; the docstring's text when left out.
        parallel: Whether it may run beside other calls of its turn. True, since most
            tools only look something up.
        timeout_s: Seconds after which a call ends with an error result.
        retries: How often a call that raised `ToolError`, or took too long, is run
            again, but not while its thread still works. 0, since not every tool may run
            twice.
        on_error: `"result"` lets the model see any exception, `"raise"` stops the
            run; None is what the agent says.
        read_only: Whether it changes nothing.
        destructive: Whether what it does cannot be taken back.
        idempotent: Whether a repeated call with its `idempotency_key` does no more
            than one, so that it may run again after a crash.
        open_world: Whether it reaches things outside, such as the web.
        asyncio: Whether the function is written for asyncio rather than trio.

    Raises:
        TypeError: The function cannot be a tool, or a setting has the wrong type.
        ValueError: The name or a setting is not allowed.
    """
    settings = {
        "description": description, "parallel": parallel, "timeout_s": timeout_s,
        "retries": retries, "on_error": on_error, "read_only": read_only,
        "destructive": destructive, "idempotent": idempotent,
        "open_world": open_world, "asyncio": asyncio,
    }  # fmt: skip

    def decorate(fn: Callable[..., Any]) -> Tool[..., Any]:
        return _tool_of(fn, name, settings)

    return decorate if fn is None else decorate(fn)


def as_tool(fn: Callable[..., Any]) -> Tool[..., Any]:
    """Give a Tool as it is, and make one of a function with the default settings.

    Raises:
        TypeError: It cannot be a tool, or is a method's tool without its object.
        ValueError: Its name is not allowed.
    """
    function: Any = getattr(fn, "__func__", None)
    if is_tool(function):
        # From Python 3.13 on, a classmethod binds its function without asking it.
        return as_tool(function.__get__(getattr(fn, "__self__", None)))
    if not is_tool(fn):
        return tool()(fn)
    made: Any = fn
    if made.is_method:
        raise TypeError(
            f"tool {made.name!r} is a method without its object: read it from an"
            f" object of its class, as in thing.{made.name}"
        )
    return made  # type: ignore[no-any-return]  # narrowed by is_tool, not for checkers


def is_tool(value: object) -> bool:
    """Whether this is a Tool already."""
    return isinstance(value, Tool)


def _tool_of(
    fn: Callable[..., Any], name: str | None, settings: Mapping[str, Any]
) -> Tool[..., Any]:
    _check_function(fn)
    function = function_of(fn)
    called = _name_of(fn) if name is None else name
    check_name(called)
    check_settings(settings, called)
    is_async = inspect.iscoroutinefunction(function)
    if settings["asyncio"] and not is_async:
        raise TypeError(f"tool {called!r} has asyncio=True: write it with async def")
    doc = read_docstring(function.__doc__)
    arguments = arguments_of(fn, tool=called, texts=doc.arguments)
    text: str | None = settings["description"]
    spec = ToolSpec(
        name=called,
        description=doc.description if text is None else text,
        parameters=arguments.schema,
    )
    return _made(
        **dict(settings) | msgspec.structs.asdict(spec),
        fn=for_trio(fn) if settings["asyncio"] else fn,
        is_async=is_async,
        hidden=arguments.hidden,
        spec=spec,
        is_method=arguments.is_method,
        arguments=arguments,
    )


def _name_of(fn: Any) -> str:
    """The function's name; an object's is that of its class."""
    while issubclass(type(fn), functools.partial):
        fn = fn.func
    return getattr(fn, "__name__", type(fn).__name__)


def _check_function(fn: Any) -> None:
    if is_tool(fn):
        raise TypeError(f"{fn.name!r} is a tool already: write @tool once")
    if issubclass(type(fn), classmethod | staticmethod):
        raise TypeError(f"write @{type(fn).__name__} above @tool, not below it")
    if not callable(fn) or isinstance(fn, type):
        raise TypeError(f"a tool must be a function, got {fn!r}")
    function = function_of(fn)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(
            f"{function.__name__!r} gives its values one by one, and a tool gives one"
            " result: return a list"
        )
