import functools
from typing import Any

import pytest

from actors import Tool, tool
from actors.tools._tool import as_tool
from protocol import FrozenDict, ToolInputError


def search(query: str, limit: int = 5) -> str:
    """Search the catalogue.

    Args:
        query: What to look for.
        limit: How many at most.
    """
    return f"{limit} of {query}"


async def asearch(query: str) -> str:
    """Search, and wait for it."""
    return query


class Shop:
    def __init__(self, city: str) -> None:
        self.city = city

    @tool
    def price(self, item: str) -> str:
        """Tell what an item costs."""
        return f"{item} in {self.city}"

    @tool(name="stock")
    async def count(self, item: str, state: Any) -> int:
        return len(item)

    @staticmethod
    @tool
    def hours(day: str) -> str:
        return day

    @classmethod
    @tool
    def kind(cls, item: str) -> str:
        return f"{cls.__name__}: {item}"

    def close(self, reason: str = "late") -> str:
        return f"{self.city}: {reason}"


class Caller:
    """Calls somebody."""

    def __call__(self, number: str) -> str:
        """Call a number."""
        return number


def test_a_function_becomes_a_tool_by_its_name_docstring_and_signature() -> None:
    made = tool(search)
    assert isinstance(made, Tool)
    assert made.name == "search"
    assert made.description == "Search the catalogue."
    assert made.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for."},
            "limit": {
                "type": "integer",
                "description": "How many at most.",
                "default": 5,
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    assert isinstance(made.parameters, FrozenDict)
    assert (made.spec.name, made.spec.description) == (made.name, made.description)
    assert made.spec.parameters is made.parameters
    assert not made.is_async


def test_a_tool_has_settings_with_defaults_that_promise_nothing() -> None:
    made = tool(search)
    assert (made.parallel, made.timeout_s, made.retries) == (True, None, 0)
    assert made.on_error is None
    assert not made.asyncio
    hints = (made.read_only, made.destructive, made.idempotent, made.open_world)
    assert hints == (None, None, None, None)
    assert made.hidden == frozenset()


def test_settings_are_kept_as_they_were_given() -> None:
    made = tool(
        name="find",
        description="Find it.",
        parallel=False,
        timeout_s=2.5,
        retries=3,
        on_error="result",
        read_only=True,
        destructive=False,
        idempotent=True,
        open_world=False,
        asyncio=True,
    )(asearch)
    assert (made.name, made.description) == ("find", "Find it.")
    assert made.spec.name == "find"
    assert (made.parallel, made.timeout_s, made.retries) == (False, 2.5, 3)
    assert (made.on_error, made.asyncio, made.is_async) == ("result", True, True)
    hints = (made.read_only, made.destructive, made.idempotent, made.open_world)
    assert hints == (True, False, True, False)


def test_one_decorator_makes_any_number_of_tools() -> None:
    decorate = tool(description="Look.")
    assert (decorate(search).name, decorate(asearch).name) == ("search", "asearch")
    assert decorate(search).description == "Look."


def test_calling_a_tool_calls_its_function() -> None:
    assert tool(search)("hats", limit=2) == "2 of hats"


async def test_calling_an_async_tool_gives_an_awaitable() -> None:
    assert await tool(asearch)("hats") == "hats"


def test_a_tool_cannot_change() -> None:
    made: Any = tool(search)
    with pytest.raises(AttributeError):
        made.retries = 3
    assert made.retries == 0


def test_a_tool_is_not_made_by_its_class() -> None:
    maker: Any = Tool
    with pytest.raises(TypeError, match=r"write @tool, or as_tool\(fn\)"):
        maker(name="x", fn=search)


def test_its_repr_is_short_enough_to_read() -> None:
    shown = repr(tool(search))
    assert shown.startswith("Tool(name='search', is_async=False, ")
    assert "Search the catalogue" not in shown
    assert "query" not in shown


def test_the_arguments_of_a_call_are_bound_for_the_function() -> None:
    made = tool(search)
    args = FrozenDict({"query": "hats"})
    assert made.bind(args) == {"query": "hats"}
    assert made(**made.bind(args)) == "5 of hats"
    with pytest.raises(ToolInputError, match="'search': query is missing"):
        made.bind({})


# Methods


def test_a_method_is_a_tool_of_each_object() -> None:
    made = Shop("Rome").price
    assert made.parameters["required"] == ["item"]
    assert list(made.parameters["properties"]) == ["item"]
    assert made(**made.bind({"item": "hat"})) == "hat in Rome"
    assert as_tool(made) is made
    assert Shop("Oslo").price("hat") == "hat in Oslo"


def test_a_method_keeps_its_settings() -> None:
    made = Shop("Rome").count
    assert (made.name, made.is_async, made.hidden) == ("stock", True, {"state"})
    assert (made.spec.name, made.parallel, made.description) == ("stock", True, "")


def test_a_method_without_its_object_is_refused() -> None:
    with pytest.raises(TypeError, match="'price' is a method without its object"):
        as_tool(Shop.price)


def test_static_and_class_methods_are_tools() -> None:
    shop = Shop("Rome")
    assert as_tool(shop.hours)("monday") == "monday"
    assert as_tool(Shop.hours).parameters["required"] == ["day"]
    kind = as_tool(Shop.kind)
    assert list(kind.parameters["properties"]) == ["item"]
    assert kind(**kind.bind({"item": "hat"})) == "Shop: hat"


def test_a_bound_function_hides_its_tool_from_nobody() -> None:
    # What a classmethod gives from Python 3.13 on.
    bound: Any = type(Shop("Rome").close)(Shop.price, Shop("Oslo"))
    assert as_tool(bound)("hat") == "hat in Oslo"


def test_a_plain_method_becomes_a_tool_when_it_is_given() -> None:
    made = as_tool(Shop("Rome").close)
    assert made.name == "close"
    assert list(made.parameters["properties"]) == ["reason"]
    assert made() == "Rome: late"


# What else can be called


def test_as_tool_gives_a_tool_as_it_is() -> None:
    made = tool(search)
    assert as_tool(made) is made
    assert as_tool(search).parameters == made.parameters


def test_a_partial_is_a_tool_without_what_it_fixes() -> None:
    made = as_tool(functools.partial(search, limit=3))
    assert (made.name, made.description) == ("search", "Search the catalogue.")
    assert made.parameters["required"] == ["query"]
    assert made("hats") == "3 of hats"
    assert as_tool(functools.partial(functools.partial(asearch), "x")).is_async


def test_an_object_with_a_call_is_a_tool_by_the_name_of_its_class() -> None:
    made = as_tool(Caller())
    assert (made.name, made.description) == ("Caller", "Call a number.")
    assert made(**made.bind({"number": "1"})) == "1"


def test_a_wrapped_function_is_read_through_its_wrapper() -> None:
    @functools.wraps(search)
    def logged(*args: Any, **kwargs: Any) -> str:
        return search(*args, **kwargs)

    made = tool(logged)
    assert (made.name, list(made.parameters["properties"])) == (
        "search",
        ["query", "limit"],
    )
    assert made("hats") == "5 of hats"


# Wrong ones


@pytest.mark.parametrize("name", ["", "a b", "größe", "a.b", "x" * 65, "<lambda>"])
def test_a_name_that_no_provider_takes_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"cannot be named .* write @tool\(name="):
        tool(name=name)(search)


def test_a_name_may_have_64_letters_digits_and_both_dashes() -> None:
    name = "a-Z_9" + "x" * 59
    assert tool(name=name)(search).name == name


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ValueError, match="cannot be named '<lambda>'"):
        as_tool(lambda query: query)
    assert tool(name="same")(lambda query: query)("x") == "x"


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"name": 5}, TypeError, "the name of a tool must be text, got 5"),
        ({"description": 5}, TypeError, "description .* must be text or None, got 5"),
        ({"parallel": 1}, TypeError, "parallel of tool 'search' must be True or False"),
        ({"asyncio": None}, TypeError, "asyncio .* must be True or False, got None"),
        (
            {"read_only": "yes"},
            TypeError,
            "True, False or None, got 'yes'",
        ),
        ({"timeout_s": "5"}, TypeError, "timeout_s .* a number of seconds or None"),
        ({"timeout_s": True}, TypeError, "timeout_s .* a number of seconds or None"),
        (
            {"timeout_s": 0},
            ValueError,
            "than 0 seconds, got 0: None is no timeout",
        ),
        ({"timeout_s": float("nan")}, ValueError, "more than 0 seconds, got nan"),
        ({"timeout_s": float("inf")}, ValueError, "more than 0 seconds, got inf"),
        ({"retries": 1.5}, TypeError, "retries .* must be an int, got 1.5"),
        ({"retries": True}, TypeError, "retries .* must be an int, got True"),
        ({"retries": -1}, ValueError, "retries .* must be 0 or more, got -1"),
        ({"on_error": "stop"}, ValueError, "'raise', 'result' or None .* got 'stop'"),
        (
            {"read_only": True, "destructive": True},
            ValueError,
            "cannot be read_only and destructive: leave out one",
        ),
        ({"asyncio": True}, TypeError, "has asyncio=True: write it with async def"),
    ],
)
def test_a_wrong_setting_is_refused_when_the_tool_is_made(
    settings: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        tool(**settings)(search)


def rows(query: str) -> Any:
    yield query


async def arows(query: str) -> Any:
    yield query


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("search", "a tool must be a function, got 'search'"),
        (None, "a tool must be a function, got None"),
        (Shop, "a tool must be a function, got <class"),
        (rows, "'rows' gives its values one by one"),
        (arows, "'arows' gives its values one by one"),
        (staticmethod(search), "write @staticmethod above @tool, not below it"),
        (classmethod(lambda cls: None), "write @classmethod above @tool"),
    ],
)
def test_what_is_no_function_is_refused(wrong: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        as_tool(wrong)


def test_a_tool_of_a_tool_is_refused() -> None:
    with pytest.raises(TypeError, match="'search' is a tool already"):
        tool(tool(search))


def test_a_tool_keeps_the_very_function() -> None:
    assert tool(search).fn is search
