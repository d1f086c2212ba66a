"""Why a value is not JSON, told with its path and with what to do instead."""

from __future__ import annotations

DEPTH_MAX = 128
"""Levels that a value may nest. json, pickle, repr and the codecs recurse up to
four frames for each, and have to get by within Python's limit of 1,000."""

_PATH_MAX = 200  # characters of a path in an error; a deep one loses its middle


class NotJSON(Exception):
    """Why a value is not JSON, and the steps from there up to the value."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.trail: list[tuple[str | int, object]] = []

    def told(self, path: str) -> str:
        """Return the whole sentence for a value that is called `path`."""
        seen: dict[int, str] = {}
        for step, container in reversed(self.trail):
            if id(container) in seen:
                return (
                    f"{path} is {seen[id(container)]} again, and JSON cannot hold a"
                    " cycle; leave it out, or refer to it by a name"
                )
            seen[id(container)] = path
            named = isinstance(step, str) and step.isidentifier()
            path += f".{step}" if named else f"[{step!r}]"
        if len(path) > _PATH_MAX:
            path = f"{path[: _PATH_MAX // 2]}...{path[-_PATH_MAX // 2 :]}"
        return f"{path} {self.args[0]}"


_WAYS_OUT = {
    "Enum": "its value",
    "str": "str() of it",
    "generic": "its item()",  # numpy's scalars, some of which are floats
    "ndarray": "its tolist()",
    "int": "int() of it",
    "float": "float() of it",
    "tuple": "list() of it, or its _asdict()",
    "bytes": "base64 text of it",
    "bytearray": "base64 text of it",
    "set": "a sorted list of it",
    "frozenset": "a sorted list of it",
    "date": "its isoformat()",
    "time": "its isoformat()",
    "timedelta": "its total_seconds()",
    "PurePath": "str() of it",
    "Decimal": "str() of it",
    "UUID": "str() of it",
    "BaseException": "repr() of it",
}
"""What to record instead, by the name of a class; the first that fits counts."""


def not_json(value: object) -> NotJSON:
    names = {base.__name__ for base in type(value).__mro__}
    ways = (way for name, way in _WAYS_OUT.items() if name in names)
    way = next(ways, "dict, list, str, int, float, bool and None instead")
    return NotJSON(f"is {a_kind(value)}, which JSON cannot hold; use {way}")


def a_kind(value: object) -> str:
    """Return the name of a value's type with its article, as in `an int`."""
    return with_article(type(value).__name__)


def with_article(name: str) -> str:
    """Return the name of a type with its article, by its first letter."""
    return f"an {name}" if name[0] in "AEIOaeio" else f"a {name}"


def too_deep() -> NotJSON:
    return NotJSON(f"nests more than {DEPTH_MAX} levels; make it flatter")
