"""The rule that reads a Python file in place of a model."""

import ast
import warnings
from collections import deque
from collections.abc import Iterator

import attrs

# The fields that hold statements. Looking into expressions too, as `ast.walk` does,
# would double the time of a survey and find no more definitions.
_STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")


@attrs.frozen(kw_only=True)
class Finding:
    """What the rule says about one file."""

    lines: int = 0
    """Lines of the file, empty ones too."""

    functions: int = 0
    """Functions and methods, nested ones too."""

    classes: int = 0
    """Classes, nested ones too."""

    undocumented: int = 0
    """Public functions and classes without a docstring."""

    longest: str | None = None
    """Name of the longest function, the first of them; None when there is none."""

    longest_lines: int = 0
    """Lines of the longest function, 0 when there is none."""

    fault: str | None = None
    """Why there are no counts; None when there are."""


def examine(source: bytes) -> Finding:
    """Count what stands in the source of one file.

    Args:
        source: The bytes of the file; its coding line is obeyed.

    Returns:
        The counts, or a finding with nothing but `fault` when Python cannot parse it.
        It never raises for what the bytes are.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the file's warnings are not the survey's
            tree = ast.parse(source)
    except SyntaxError as error:
        return Finding(fault=f"not Python: {error.msg} at line {error.lineno}")
    except (ValueError, RecursionError, MemoryError) as error:
        return Finding(fault=f"not Python: {error}")
    return _count(tree, source.count(b"\n") + (source[-1:] not in {b"", b"\n"}))


def _count(tree: ast.Module, lines: int) -> Finding:
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    classes: list[ast.ClassDef] = []
    for node in _blocks(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append(node)
        elif isinstance(node, ast.ClassDef):
            classes.append(node)
    longest = max(functions, key=_length, default=None)
    return Finding(
        lines=lines,
        functions=len(functions),
        classes=len(classes),
        undocumented=sum(_is_undocumented(node) for node in [*functions, *classes]),
        longest=None if longest is None else longest.name,
        longest_lines=0 if longest is None else _length(longest),
    )


def _blocks(tree: ast.Module) -> Iterator[ast.AST]:
    """Each statement and each clause, the outer ones first."""
    waiting: deque[ast.AST] = deque([tree])
    while waiting:
        node = waiting.popleft()
        yield node
        for field in _STATEMENTS:
            waiting.extend(getattr(node, field, ()))


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _is_undocumented(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
) -> bool:
    return (
        not node.name.startswith("_") and ast.get_docstring(node, clean=False) is None
    )
