import enum
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict
from uuid import UUID

import attrs
import msgspec
import pydantic
import pytest
from annotated_types import Ge, Interval, Len
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta
from typing_extensions import Doc

from actors import tool
from protocol import FrozenDict, ToolInputError
from protocol._json import freeze, same, thaw


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


@dataclass
class Point:
    """A place on the map."""

    x: Annotated[int, Meta(ge=0)]
    y: int = 0
    tags: list[str] = field(default_factory=list)
    seen: int = field(init=False, default=0)


@attrs.define
class Size:
    width: int = attrs.field(validator=attrs.validators.gt(0))


class Options(TypedDict):
    deep: bool
    colour: NotRequired[Colour]


class Circle(msgspec.Struct, tag="circle", forbid_unknown_fields=True):
    radius: float


class Square(msgspec.Struct, tag="square"):
    side: float


class Node(msgspec.Struct):
    value: int
    children: list["Node"] = []


class Row(msgspec.Struct, array_like=True):
    value: int


class Pair(NamedTuple):
    left: int
    right: str


@dataclass
class Key:
    name: str

    def __post_init__(self) -> None:
        {}[self.name]


class Lock(pydantic.BaseModel):
    name: str

    @pydantic.field_validator("name")
    @classmethod
    def must_be_known(cls, name: str) -> str:
        return {}[name]


class Address(pydantic.BaseModel):
    street: str
    number: int = pydantic.Field(ge=1)


class Person(pydantic.BaseModel):
    name: str
    homes: list[Address] = []


def schema_of(fn: Any) -> Any:
    return thaw(tool(fn).parameters)


def bound(fn: Any, **args: Any) -> Any:
    return tool(fn).bind(freeze(args))


def problem(fn: Any, /, **args: Any) -> str:
    """The text of the error; it must leave what it was given as it was."""
    given, before = freeze(args), thaw(freeze(args))
    with pytest.raises(ToolInputError) as caught:
        tool(name="f")(fn).bind(given)
    assert same(given, before)
    return str(caught.value)


# From the signature to the schema


def test_plain_types_and_defaults_are_in_the_schema() -> None:
    def f(a: str, b: int, c: float = 1.5, d: bool = False, e: str | None = None): ...

    assert schema_of(f) == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer"},
            "c": {"type": "number", "default": 1.5},
            "d": {"type": "boolean", "default": False},
            "e": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    }


def test_a_tool_without_arguments_has_an_object_without_properties() -> None:
    def f(): ...

    assert schema_of(f) == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    assert bound(f) == {}
    assert problem(f, x=1) == "cannot call 'f': x is unknown: there are none"


def test_a_parameter_without_annotation_takes_any_json() -> None:
    def f(a, b: Any, c: object = None): ...

    properties = schema_of(f)["properties"]
    assert properties == {"a": {}, "b": {}, "c": {"default": None}}
    given = {"a": [1, {"x": None}], "b": "text", "c": {"y": 2}}
    assert bound(f, **given) == given


def test_keyword_only_parameters_are_arguments_like_others() -> None:
    def f(a: int, *, b: int): ...

    assert schema_of(f)["required"] == ["a", "b"]


def test_constraints_in_annotated_are_in_the_schema() -> None:
    def f(
        a: Annotated[int, Meta(ge=1, le=10)],
        b: Annotated[str, Meta(min_length=1, pattern="^x")],
        c: list[Annotated[int, Meta(multiple_of=5)]],
    ): ...

    assert schema_of(f)["properties"] == {
        "a": {"type": "integer", "minimum": 1, "maximum": 10},
        "b": {"type": "string", "minLength": 1, "pattern": "^x"},
        "c": {"type": "array", "items": {"type": "integer", "multipleOf": 5}},
    }


def test_constraints_of_other_libraries_count_too_also_inside_containers() -> None:
    def f(
        a: Annotated[int, Ge(1)],
        b: Annotated[float, Interval(gt=0, lt=1)],
        c: Annotated[list[str], Len(1, 3)],
        d: dict[str, Annotated[int, pydantic.Field(ge=2, description="Two or more.")]],
        e: Annotated[str, pydantic.Field(pattern="^y", max_length=4)] | None,
    ): ...

    assert schema_of(f)["properties"] == {
        "a": {"type": "integer", "minimum": 1},
        "b": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "c": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 3,
        },
        "d": {
            "type": "object",
            "additionalProperties": {
                "type": "integer",
                "minimum": 2,
                "description": "Two or more.",
            },
        },
        "e": {
            "anyOf": [
                {"type": "string", "maxLength": 4, "pattern": "^y"},
                {"type": "null"},
            ]
        },
    }
    assert problem(f, a=0, b=0.5, c=["x"], d={"k": 1}, e=None) == (
        "cannot call 'f', 2 faults:"
        "\n- a must be an integer, at least 1, got 0"
        "\n- d.k must be an integer, at least 2, got 1"
    )


def test_descriptions_in_annotated_win_over_the_docstring() -> None:
    def f(
        a: Annotated[int, "From a text."], b: Annotated[int, Doc("From Doc.")], c: int
    ):
        """Do it.

        Args:
            a: From the docstring.
            c: From the docstring.
            d: No such argument.
        """

    texts = {k: v["description"] for k, v in schema_of(f)["properties"].items()}
    assert texts == {"a": "From a text.", "b": "From Doc.", "c": "From the docstring."}


def test_choices_are_in_the_schema() -> None:
    def f(a: Literal["x", "y"], b: Colour = Colour.RED): ...

    schema = schema_of(f)
    assert schema["properties"]["a"] == {"enum": ["x", "y"]}
    assert schema["properties"]["b"] == {"$ref": "#/$defs/Colour", "default": "red"}
    assert schema["$defs"]["Colour"]["enum"] == ["green", "red"]


def test_classes_of_all_kinds_are_described_and_read() -> None:
    def f(
        *,
        point: Point,
        size: Size,
        options: Options,
        shape: Circle | Square,
        node: Node,
        pair: Pair,
        person: Person,
    ): ...

    schema = schema_of(f)
    assert schema["$defs"]["Point"]["description"] == "A place on the map."
    assert schema["$defs"]["Point"]["required"] == ["x"]
    assert schema["$defs"]["Options"]["required"] == ["deep"]
    assert schema["properties"]["person"]["properties"]["homes"]["items"] == {
        "$ref": "#/$defs/Address"
    }
    assert schema["$defs"]["Address"]["properties"]["number"]["minimum"] == 1
    assert bound(
        f,
        point={"x": 1, "tags": ["a"]},
        size={"width": 2},
        options={"deep": True, "colour": "red"},
        shape={"type": "square", "side": 1.5},
        node={"value": 1, "children": [{"value": 2}]},
        pair=[1, "b"],
        person={"name": "Ann", "homes": [{"street": "Low", "number": 3}]},
    ) == {
        "point": Point(1, 0, ["a"]),
        "size": Size(2),
        "options": {"deep": True, "colour": Colour.RED},
        "shape": Square(1.5),
        "node": Node(1, [Node(2)]),
        "pair": Pair(1, "b"),
        "person": Person(name="Ann", homes=[Address(street="Low", number=3)]),
    }


def test_values_that_json_writes_as_text_are_read_back() -> None:
    def f(
        *, a: datetime, b: date, c: Decimal, d: UUID, e: bytes, g: Path, h: set[int]
    ): ...

    uuid = "12345678-1234-5678-1234-567812345678"
    assert bound(
        f, a="2024-01-31T12:00:00Z", b="2024-01-31", c="1.50", d=uuid, e="YQ==",
        g="a/b.txt", h=[2, 1, 2],
    ) == {
        "a": datetime(2024, 1, 31, 12, tzinfo=UTC), "b": date(2024, 1, 31),
        "c": Decimal("1.50"), "d": UUID(uuid), "e": b"a", "g": Path("a/b.txt"),
        "h": {1, 2},
    }  # fmt: skip
    assert schema_of(f)["properties"]["g"] == {"type": "string", "format": "path"}


def test_a_default_that_json_cannot_hold_is_left_out_of_the_schema() -> None:
    def f(a: float = float("nan"), b: Any = Ellipsis, c: int = "x", d: Any = b"a"): ...

    properties = schema_of(f)["properties"]
    assert [list(each) for each in properties.values()][:3] == [["type"], [], ["type"]]
    assert "required" not in schema_of(f)
    assert bound(f) == {}


def test_the_state_and_the_call_are_hidden_from_the_model() -> None:
    def f(a: int, state: "NotDefined", call=None): ...  # noqa: F821 - it is not defined

    made = tool(f)
    assert made.hidden == {"state", "call"}
    assert list(made.parameters["properties"]) == ["a"]
    assert made.bind({"a": 1}) == {"a": 1}
    assert problem(f, a=1, state="x") == (
        "cannot call 'f': state is unknown: there are a"
    )


# Signatures that no model can call


def no_star(*rows: str) -> None: ...
def no_stars(**rows: str) -> None: ...
def by_position(a: int, /) -> None: ...
def state_as_text(state: str) -> None: ...
def call_as_text(call: "int") -> None: ...
def unknown_name(a: "Nowhere") -> None: ...  # noqa: F821 - it is not defined
def broken_text(a: "list[") -> None: ...  # noqa: F722 - it is no expression
def no_json(a: list[complex]) -> None: ...
def same_json(a: list[int] | set[int]) -> None: ...
def bad_limit(a: Annotated[str, Meta(ge=1)]) -> None: ...


class Lost(msgspec.Struct):
    at: "Nowhere"  # noqa: F821 - it is not defined


def no_such_field(a: int, b: Lost) -> None: ...


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (no_star, r"cannot take \*rows, .*: take one rows: list\[str\]"),
        (no_stars, r"cannot take \*\*rows, .*: take one rows: dict"),
        (by_position, "cannot take 'a' by position only: leave out the / in"),
        (state_as_text, "'state' from the model, it gets the State there: give"),
        (call_as_text, "'call' from the model, it gets the call there: give"),
        (unknown_name, "annotation of 'a' in tool 'f', 'Nowhere': name 'Nowhere'"),
        (broken_text, r"annotation of 'a' in tool 'f', 'list\['"),
        (no_json, "parameter 'a' of tool 'f': a complex has no JSON form .* dataclass"),
        (same_json, "parameter 'a' of tool 'f': Type unions may not contain more"),
        (bad_limit, "parameter 'a' of tool 'f': "),
        (no_such_field, "parameter 'b' of tool 'f': name 'Nowhere' is not defined"),
        (dict.fromkeys, "cannot take 'iterable' by position only"),
        (max, "cannot read the parameters of 'f': wrap it in a function of yours"),
    ],
)
def test_a_parameter_that_no_model_can_give_is_refused(fn: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        tool(name="f")(fn)


def test_two_classes_of_one_name_are_kept_apart_or_refused() -> None:
    def other() -> type:
        class Point(msgspec.Struct):
            z: int

        return Point

    def f(a, b): ...

    f.__annotations__ = {"a": Point, "b": other()}
    schema = schema_of(f)
    assert len(schema["$defs"]) == 2

    model = pydantic.create_model("Point", z=(int, ...))
    owner = pydantic.create_model("Owner", point=(model, ...))
    f.__annotations__ = {"a": Point, "b": owner}
    with pytest.raises(TypeError, match="two types are named 'Point'"):
        tool(f)


# Binding


def test_only_what_was_given_is_bound() -> None:
    def f(a: int, b: list[int] = []): ...  # noqa: B006 - the default is never touched

    assert bound(f, a=1) == {"a": 1}
    assert bound(f, a=1, b=[2]) == {"a": 1, "b": [2]}


def test_what_is_bound_can_change_and_the_call_cannot() -> None:
    def f(a: Any, b: dict[str, Any]): ...

    args = freeze({"a": [{"x": 1}], "b": {"y": [2]}})
    read = tool(f).bind(args)
    read["a"][0]["x"] = read["b"]["y"][0] = 9
    read["a"].append(3)
    assert args == {"a": [{"x": 1}], "b": {"y": [2]}}


def test_a_plain_dict_binds_as_well_and_shares_nothing() -> None:
    def f(a: Any): ...

    args = {"a": [1]}
    tool(f).bind(args)["a"].append(2)
    assert args == {"a": [1]}


def test_types_are_strict_except_for_whole_numbers_as_floats() -> None:
    def f(a: float, b: int = 0, c: str = "", d: bool = True): ...

    assert bound(f, a=1)["a"] == 1.0
    assert isinstance(bound(f, a=1)["a"], float)
    assert problem(f, a="1", b=True, c=5, d=1) == (
        "cannot call 'f', 4 faults:"
        '\n- a must be a number, got "1"'
        "\n- b must be an integer, got true"
        "\n- c must be text, got 5"
        "\n- d must be true or false, got 1"
    )


def test_ints_beyond_64_bits_are_bound() -> None:
    def f(a: int): ...

    assert bound(f, a=2**70) == {"a": 2**70}


# Faults


def test_all_faults_are_told_with_their_paths() -> None:
    def f(
        query: str,
        points: list[Point],
        colour: Colour = Colour.RED,
        by_name: dict[str, Options] | None = None,
    ): ...

    assert problem(
        f,
        points=[{"x": 1}, {"x": -1, "y": "2"}, {}, 7],
        colour="blue",
        by_name={"a": {"deep": 1}, "b c": {}},
        size=3,
    ) == (
        "cannot call 'f', 9 faults:"
        "\n- query is missing: give text"
        "\n- points[1].x must be an integer, at least 0, got -1"
        '\n- points[1].y must be an integer, got "2"'
        "\n- points[2].x is missing: give an integer, at least 0"
        "\n- points[3] must be an object with x, got 7"
        '\n- colour must be one of "red", "green", got "blue"'
        "\n- by_name.a.deep must be true or false, got 1"
        "\n- by_name['b c'].deep is missing: give true or false"
        "\n- size is unknown: there are query, points, colour, by_name"
    )


CASES: list[tuple[Any, Any, str]] = [
    (Literal["a", "b"], "c", 'a must be one of "a", "b", got "c"'),
    (Literal["a"], 5, 'a must be "a", got 5'),
    (int | None, "x", 'a must be an integer or null, got "x"'),
    (int | str, None, "a must be an integer or text, got null"),
    (list[int] | int, ["x"], 'a[0] must be an integer, got "x"'),
    (Point | None, {"x": "1"}, 'a.x must be an integer, at least 0, got "1"'),
    (tuple[int, str], [1], "a must be a list of 2: an integer, text, got [1]"),
    (tuple[int, str], [1, 2], "a[1] must be text, got 2"),
    (tuple[int, ...], [1, "2"], 'a[1] must be an integer, got "2"'),
    (set[int], "x", 'a must be a list without repeats, got "x"'),
    (dict[str, int], [], "a must be an object, got []"),
    (list[int], {}, "a must be a list, got {}"),
    (Options, 5, "a must be an object with deep, got 5"),
    (
        Annotated[list[int], Meta(min_length=2)],
        [1],
        "a must have 2 or more items, got 1",
    ),
    (Annotated[list[int], Meta(max_length=1)], [1, 2], "a must have at most 1 items"),
    (
        Annotated[dict[str, int], Meta(min_length=1, max_length=2)],
        {},
        "a must have 1 to 2 items, got 0",
    ),
    (
        Annotated[str, Meta(min_length=1, max_length=3, pattern="^x")],
        "yyyy",
        "a must be text, matching '^x', of 1 to 3 characters, got \"yyyy\"",
    ),
    (
        Annotated[float, Meta(gt=0, lt=1, multiple_of=0.5)],
        2,
        "a must be a number, more than 0, less than 1, a multiple of 0.5, got 2",
    ),
    (dict[int, str], {"x": "y"}, 'a has the key "x", which must be an integer'),
    (dict[int, str], {"1": 2}, "a['1'] must be text, got 2"),
    (datetime, "noon", 'a must be a date and time as in "2024-01-31T12:00:00Z", got'),
    (
        Annotated[datetime, Meta(tz=True)],
        "2024-01-31T12:00:00",
        'a must be a date and time as in "2024-01-31T12:00:00Z", with its time zone',
    ),
    (UUID, "x", 'a must be a UUID as text, got "x"'),
    (Path, 5, "a must be the text of a path, got 5"),
    (Pair, ["x", "y"], "a must be a list, got"),
    (Key, {"name": "x"}, "a: raised KeyError: 'x'"),
    (list[Lock], [{"name": "x"}], "a[0]: raised KeyError: 'x'"),
    (Row, ["x"], "a must be a list, got"),
    (Annotated[Point, "Where."] | None, {}, "a.x is missing: give an integer"),
    (Size, {"width": 0}, "a: 'width' must be > 0: 0"),
    (list[Size], [{"width": 1}, {"width": 0}], "a[1]: 'width' must be > 0: 0"),
    (Circle | Square, {"type": "dot"}, 'a.type must be one of "circle", "square", got'),
    (Circle | Square, {"side": 1}, 'a.type is missing: give one of "circle", "square"'),
    (Circle | Square, {"type": "square"}, "a.side is missing: give a number"),
    (
        Circle | Square,
        {"type": "circle", "radius": 1, "colour": 2},
        "a.colour is unknown: there are type, radius",
    ),
    (
        Node,
        {"value": 1, "children": [{"value": "2"}]},
        "a.children[0].value must be an",
    ),
    (Address, {"street": "Low", "number": 0}, "a.number: input should be greater than"),
    (Person | None, {}, "a.name: field required"),
    (Address, 5, "a: input should be a valid dictionary or instance of Address, got 5"),
    (str, 5, "a must be text, got 5"),
]


@pytest.mark.parametrize(("kind", "value", "told"), CASES)
def test_a_fault_says_where_what_belongs_there_and_what_is_there(
    kind: Any, value: Any, told: str
) -> None:
    def f(a): ...

    f.__annotations__ = {"a": kind}
    assert problem(f, a=value).startswith(f"cannot call 'f': {told}")


def test_what_is_missing_is_described_as_far_as_it_helps() -> None:
    def f(a: Annotated[int, "How many."] | None, b: tuple[int, str], c: Point): ...

    assert problem(f).splitlines()[1:] == [
        "- a is missing: give an integer or null",
        "- b is missing: give a list of 2: an integer, text",
        "- c is missing: give an object with x",
    ]


def test_a_pydantic_model_tells_all_its_faults() -> None:
    def f(person: Person): ...

    assert problem(f, person={"homes": [{"street": 5, "number": 0}]}).splitlines() == [
        "cannot call 'f', 3 faults:",
        "- person.name: field required",
        "- person.homes[0].street: input should be a valid string, got 5",
        "- person.homes[0].number: input should be greater than or equal to 1, got 0",
    ]


def test_a_model_without_fault_is_not_told() -> None:
    def f(a: Person, b: int): ...

    told = problem(f, a={"name": "Ann"}, b="x")
    assert told == "cannot call 'f': b must be an integer, got \"x\""


def test_a_long_value_is_shown_by_its_beginning() -> None:
    def f(a: int): ...

    told = problem(f, a="x" * 1000)
    assert told.endswith(f'got "{"x" * 59}... (1002 characters)')


def test_a_list_of_many_wrong_items_does_not_fill_the_context() -> None:
    def f(a: list[int]): ...

    lines = problem(f, a=["x"] * 1000).splitlines()
    assert lines[0] == "cannot call 'f', 1000 faults:"
    assert lines[-1] == "- 900 more of them"
    assert len(lines) == 102


def test_arguments_that_were_no_json_object_are_told() -> None:
    def f(a: int = 0): ...

    assert problem(f, **{"arguments that are no JSON object": "{'a'"}) == (
        "cannot call 'f': arguments that are no JSON object is unknown: there are a"
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "red", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["x", "y", "a", "deep", "type"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@tool
def anything(
    a: list[Point] | int | None = None,
    b: dict[str, Options] | str = "",
    c: Circle | Square | None = None,
    d: tuple[Colour, Annotated[int, Meta(ge=0)]] | None = None,
    e: Node | None = None,
) -> None: ...


@given(st.dictionaries(st.sampled_from("abcdex"), JSON, max_size=3))
def test_whatever_a_model_writes_is_bound_or_told(args: dict[str, Any]) -> None:
    frozen = FrozenDict(args)
    try:
        read = anything.bind(frozen)
    except ToolInputError as error:
        first, *more = str(error).split("\n- ")
        assert first.startswith("cannot call 'anything'")
        faults = more or [first.split(": ", 1)[1]]
        assert all(fault[0] in args for fault in faults)
        assert len(set(faults)) == len(faults)
    else:
        assert read.keys() == args.keys()
    assert same(frozen, args)
