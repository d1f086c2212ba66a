"""The house style, as far as a machine can measure it.

1. Sizes: a source file < 400 lines, a function < 50 (its docstring not counted),
   nesting < 4, a line <= 88.
2. Every suppression carries its reason on its line.
3. What is public is exported once, in sorted order, under its public path, with a
   docstring.
"""

import ast
import importlib
import inspect
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

ROOT = Path(__file__).parent.parent
FILE_LINES_MAX = 399
FUNCTION_LINES_MAX = 49
NESTING_MAX = 3
LINE_CHARACTERS_MAX = 88
REASON_LETTERS_MIN = 10

SUPPRESSION = re.compile(
    r"#\s*(?:type:\s*ignore(?:\[[\w\-, ]*\])?"
    r"|noqa(?::\s*[A-Z]+[0-9]+(?:[, ]+[A-Z]+[0-9]+)*)?"
    r"|pyright:\s*ignore(?:\[[\w\-, ]*\])?"
    r"|pragma:\s*no\s*(?:cover|branch))"
)
# A whole file is never let off; formatting may be switched off around a table.
FILE_WIDE = re.compile(r"#\s*(?:ruff:\s*noqa|flake8:|mypy:|pyright:\s*(?!ignore))")
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")

NESTING = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try,
    ast.TryStar, ast.Match,
)  # fmt: skip
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def sources() -> dict[str, str]:
    return texts("protocol", "actors", "benchmarks")


@cache
def texts(*folders: str) -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


@cache
def everything() -> dict[str, str]:
    return sources() | texts("tests")


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for name, text in sources().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, FUNCTIONS):
                yield f"{name}:{node.lineno} {node.name}", node


def lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert node.end_lineno is not None
    lines = node.end_lineno - node.lineno + 1
    if ast.get_docstring(node, clean=False) is not None:
        text = node.body[0]
        assert text.end_lineno is not None
        lines -= text.end_lineno - text.lineno + 1
    return lines


def depth_of(node: ast.AST, depth: int = 0) -> int:
    """Depth of blocks in blocks; an `elif` is no deeper than its `if`."""
    deepest = depth
    for field, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        is_elif = field == "orelse" and isinstance(node, ast.If) and len(children) == 1
        for child in children:
            if not isinstance(child, ast.AST) or isinstance(child, FUNCTIONS):
                continue
            inside = depth + isinstance(child, NESTING)
            if is_elif and isinstance(child, ast.If):
                inside = depth
            deepest = max(deepest, depth_of(child, inside))
    return deepest


def comments() -> Iterator[tuple[str, str]]:
    for name, text in everything().items():
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield f"{name}:{token.start[0]}", token.string


def packages() -> list[str]:
    """Dotted names of `protocol`, `actors` and every package below them."""
    return sorted(
        name.removesuffix("/__init__.py").replace("/", ".")
        for name in sources()
        if name.endswith("/__init__.py") and not name.startswith("benchmarks")
    )


def public_names(package: ModuleType) -> dict[str, object]:
    return {name: getattr(package, name) for name in getattr(package, "__all__", ())}


def test_a_source_file_stays_under_400_lines() -> None:
    sizes = {name: text.count("\n") for name, text in sources().items()}
    assert not {name: n for name, n in sizes.items() if n > FILE_LINES_MAX}


def test_a_function_stays_under_50_lines() -> None:
    sizes = {name: lines_of(node) for name, node in functions()}
    assert not {name: n for name, n in sizes.items() if n > FUNCTION_LINES_MAX}


def test_blocks_nest_less_than_four_deep() -> None:
    depths = {name: depth_of(node) for name, node in functions()}
    assert not {name: n for name, n in depths.items() if n > NESTING_MAX}


def test_a_line_has_at_most_88_characters() -> None:
    assert not [
        f"{name}:{number}"
        for name, text in everything().items()
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > LINE_CHARACTERS_MAX
    ]


def test_a_suppression_carries_its_reason_on_its_line() -> None:
    assert not [
        f"{place} {comment}"
        for place, comment in comments()
        if SUPPRESSION.search(comment)
        and sum(map(str.isalpha, SUPPRESSION.sub("", comment))) < REASON_LETTERS_MIN
    ]


def test_no_file_is_let_off_as_a_whole() -> None:
    assert not [place for place, comment in comments() if FILE_WIDE.search(comment)]


def test_nothing_is_left_unfinished() -> None:
    assert not [
        f"{name}:{number}"
        for name, text in everything().items()
        for number, line in enumerate(text.splitlines(), 1)
        if UNFINISHED.search(line)
    ]


@pytest.mark.parametrize("name", packages())
def test_all_is_sorted_and_names_what_is_there(name: str) -> None:
    package = importlib.import_module(name)
    names = list(getattr(package, "__all__", ()))
    assert names == sorted(set(names))
    assert not [each for each in names if not hasattr(package, each)]


@pytest.mark.parametrize("name", packages())
def test_a_public_name_says_the_path_it_is_imported_from(name: str) -> None:
    # A value of `protocol` stays one of `protocol` when `actors` exports it too.
    package = importlib.import_module(name)
    assert not {
        each: value.__module__
        for each, value in public_names(package).items()
        if isinstance(value, (type, FunctionType))
        and value.__module__ not in set(packages()) & {*parents(name), "protocol"}
    }


def parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


@pytest.mark.parametrize("name", packages())
def test_a_public_name_has_a_docstring(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__doc__
    silent: list[str] = []
    for each, value in public_names(package).items():
        if isinstance(value, (type, FunctionType)):
            silent += [] if inspect.getdoc(value) else [each]
        if isinstance(value, type):
            silent += [f"{each}.{member}" for member in silent_members(value)]
    assert not silent


def silent_members(owner: type) -> list[str]:
    """Public methods and properties without a docstring.

    One that a base class has too is described there, a method of `dict` in Python's
    own documentation.
    """
    inherited = {name for base in owner.__mro__[1:] for name in vars(base)}
    return [
        name
        for name, value in vars(owner).items()
        if not name.startswith("_")
        and name not in inherited
        and isinstance(value, (FunctionType, classmethod, staticmethod, property))
        and not inspect.getdoc(getattr(owner, name))
    ]
