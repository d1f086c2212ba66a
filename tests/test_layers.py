"""The direction of the arrows: who may import whom."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Each module of `protocol` imports only from those before it.
# fmt: off
PROTOCOL_ORDER = (
    "_errors", "_not_json", "_json", "_ids", "_usage",
    "_media", "_content", "_raw_calls", "_files", "_message", "_recorded", "_pairs",
    "_entry", "_stops", "_work_entries", "_exec_meta", "_graph_entries", "_entries",
    "_log", "_graph_value", "_history", "_value",
    "_context", "_reading", "_snapshot", "_lines", "_commands", "_phases",
    "_graph_fold", "_turns", "_fold", "_turn_rules", "_rules", "_graph_rules",
    "_decide",
    "_sealed", "_shape", "_tool_result", "_reducers", "_fields",
    "_declared", "_agent_state", "_state_updates", "_graph_state",
    "_codec", "_records", "_lazy", "_publish",
)
# fmt: on

# Each unit of `actors` (a module at the top, or a package) imports only from its own
# level and from those before it; within a level the modules form no circle.
ACTORS_LEVELS = (
    {"_neighbour"},
    {
        "_checks",
        "_mailbox",
        "_edits",
        "_events",
        "_misuse",
        "_statistics",
        "_tracebacks",
        "_typed",
    },
    {"_words", "_faults"},
    {"_beginning"},
    {"_state", "_family", "_inside"},
    {"models", "_gate", "_pace", "_slots", "_delay"},
    {
        "_closing",
        "_deadline",
        "_limits",
        "_node",
        "_grace",
        "_restart",
        "_threads",
        "_calls",
        "_run",
        "_run_node",
        "_starting",
        "_supervisor",
        "_saving",
        "_telling",
        "_tracing",
    },
    {"people", "stores", "tools", "_structured", "_asking"},
    {
        "_think",
        "_changes",
        "_drive",
        "_agent",
        "_background",
        "_resuming",
        "_loop",
        "_step",
        "_stream",
        "_sync",
        "_ask",
        "_tokens",
        "_settings",
        "_fan_out",
    },
    {"graph"},
    {"report", "cli", "testing", "aio", "otel", "__main__"},
)

# typing_extensions comes with cattrs.
THIRD_PARTY_OF_PROTOCOL = {
    "attr", "attrs", "cattr", "cattrs", "msgspec", "typing_extensions",
}  # fmt: skip
IMPORT_MEGABYTES_MAX = 35
# What a user of `import actors` pays for only when he uses it.
LAZY = {
    "click", "httpx2", "opentelemetry", "psycopg", "rich", "sqlite3", "trio_asyncio",
}  # fmt: skip


def modules_loaded_by(statement: str) -> set[str]:
    """The top-level names that the statement adds in a fresh interpreter."""
    program = (
        "import json, sys\n"
        "before = set(sys.modules)\n"
        f"{statement}\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


def nodes_of(path: Path, *, annotations: bool) -> Iterator[ast.AST]:
    """All nodes of the file, those for annotations only if asked for."""
    waiting: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.body if annotations else []
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def imported_names(path: Path, *, annotations: bool = True) -> Iterator[str]:
    """The absolute dotted name of each module that the file imports, anywhere in it."""
    package = list(path.relative_to(ROOT).with_suffix("").parts)[:-1]
    for node in nodes_of(path, annotations=annotations):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            for alias in node.names:
                name = f"{source}.{alias.name}"
                yield name if is_module(name) else source


def is_module(name: str) -> bool:
    place = ROOT.joinpath(*name.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def own_modules(package: str) -> dict[str, Path]:
    """Dotted name of each module and each package below the package."""
    found: dict[str, Path] = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        found[".".join(parts)] = path
    del found[package]
    return found


def arrows(package: str, *, annotations: bool = True) -> dict[str, set[str]]:
    modules = own_modules(package)
    return {
        name: modules.keys() & set(imported_names(path, annotations=annotations))
        for name, path in modules.items()
    }


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    """The modules that are left when all that import nothing left are taken away."""
    left = dict(graph)
    while ready := [name for name, targets in left.items() if not targets & set(left)]:
        for name in ready:
            del left[name]
    return sorted(left)


def level_of(name: str, levels: Iterable[set[str]]) -> int:
    unit = name.split(".")[1]
    for number, units in enumerate(levels):
        if unit in units:
            return number
    pytest.fail(f"{name} stands on no level: name its unit in the table of this file")


def test_importing_protocol_loads_values_and_rules_only() -> None:
    loaded = modules_loaded_by("import protocol")
    strangers = loaded - set(sys.stdlib_module_names) - THIRD_PARTY_OF_PROTOCOL
    assert strangers == {"protocol"}
    assert not loaded & {"asyncio", "socket", "sqlite3", "subprocess"}


def test_importing_actors_leaves_heavy_libraries_for_their_first_use() -> None:
    assert not modules_loaded_by("import actors") & LAZY


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux counts it")
def test_importing_actors_stays_within_its_memory() -> None:
    program = "import actors; print(open('/proc/self/status').read())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", done.stdout)
    assert int(peak) <= IMPORT_MEGABYTES_MAX * 1024


def test_a_module_of_protocol_imports_only_those_before_it() -> None:
    wrong: list[str] = []
    for name, targets in arrows("protocol").items():
        module = name.split(".")[1]
        assert module in PROTOCOL_ORDER, f"{name} has no place in PROTOCOL_ORDER"
        place = PROTOCOL_ORDER.index(module)
        allowed = {f"protocol.{earlier}" for earlier in PROTOCOL_ORDER[:place]}
        wrong += [f"{name} -> {target}" for target in targets - allowed]
    assert not wrong


def test_protocol_does_not_know_the_runtime() -> None:
    known = set(sys.stdlib_module_names) | THIRD_PARTY_OF_PROTOCOL | {"protocol"}
    for path in sorted((ROOT / "protocol").rglob("*.py")):
        tops = {name.partition(".")[0] for name in imported_names(path)}
        assert tops <= known, f"{path.name} imports {sorted(tops - known)!r}"


def test_the_units_of_actors_import_in_one_direction() -> None:
    wrong = [
        f"{name} -> {target}"
        for name, targets in arrows("actors").items()
        for target in targets
        if level_of(target, ACTORS_LEVELS) > level_of(name, ACTORS_LEVELS)
    ]
    assert not wrong


def test_no_modules_of_actors_import_each_other_in_a_circle() -> None:
    # What only annotations need is never loaded; the levels hold for it all the same.
    assert circle_in(arrows("actors", annotations=False)) == []


def test_the_core_names_modules_and_never_the_package_it_belongs_to() -> None:
    # Through the package's own __init__ every arrow would be hidden, and most circular.
    outermost = len(ACTORS_LEVELS) - 1
    inner = own_modules("protocol") | {
        name: path
        for name, path in own_modules("actors").items()
        if level_of(name, ACTORS_LEVELS) < outermost
    }
    assert not [
        name
        for name, path in inner.items()
        if name.partition(".")[0] in set(imported_names(path))
    ]
