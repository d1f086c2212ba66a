"""The agents of a survey: a lead that lists a folder, and a surveyor for each file.

1. The lead asks for the list, sends one surveyor to each file, and joins what they say.
2. A surveyor examines its file with a tool, and answers with what it found.
3. Without a model these rules take its place; with one, the same agents and tools.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from actors import (
    Agent,
    FunctionModel,
    Model,
    Request,
    State,
    ToolCall,
    ToolError,
    ToolResultBlock,
    ToolResultEntry,
    tool,
)
from protocol._ids import new_id

from ._rule import Finding, examine

ERRAND = "Survey the Python file "
"""What a surveyor is sent with, before the name."""

_TEXT_CHARACTERS_MAX = 40_000
"""Of a file's text for a model: about ten thousand tokens."""

# Other people's files, and what Python makes of ours.
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})

_LEAD = f"""You lead a survey of the Python files in a folder.
First call list_files. Then call surveyor once for each file, all in one turn, each with
the prompt '{ERRAND}NAME'. When all have answered, say in a few sentences what the
folder holds, and what needs attention first."""

_SURVEYOR = """You survey one Python file.
Call examine with its name; call read_file if you want to see the text. Then say in at
most three sentences what the file is for, and what in it needs attention."""


class Folder:
    """The Python files below a folder, by the names that agents know them by."""

    def __init__(self, root: Path) -> None:
        self.files: dict[str, Path] = {}
        for path in sorted(_python_files(root)):
            name = printable(path.relative_to(root))
            while name in self.files:  # two that differ in what cannot be printed
                name += "'"
            self.files[name] = path

    @tool(read_only=True)
    def list_files(self) -> list[str]:
        """List the Python files of the folder by name."""
        return list(self.files)

    @tool(read_only=True)
    def examine(self, file: str) -> Finding:
        """Count what stands in a file: lines, functions, classes, docstrings.

        Args:
            file: The name, as list_files gives it.
        """
        return _examined(self._path(file))

    @tool(read_only=True)
    def read_file(self, file: str) -> str:
        """Read the text of a file.

        Args:
            file: The name, as list_files gives it.
        """
        path = self._path(file)
        try:
            text = path.read_text("utf-8", "replace")
        except OSError as error:
            raise ToolError(f"{file!r} is not readable: {error.strerror}") from error
        return text[:_TEXT_CHARACTERS_MAX]

    def _path(self, file: str) -> Path:
        path = self.files.get(file)
        if path is None:
            raise ToolError(f"there is no file {file!r}: list_files names all")
        return path


def _python_files(root: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(root):
        inner[:] = [
            name
            for name in inner
            if name not in _SKIPPED_FOLDERS and not name.startswith(".")
        ]
        yield from (Path(folder, name) for name in names if name.endswith(".py"))


def printable(path: Path) -> str:
    """A name that is not UTF-8 has lone surrogates, which no record may hold."""
    return os.fsencode(path).decode("utf-8", "replace")


def _examined(path: Path) -> Finding:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            # Reading a pipe that is named like a module would wait for ever.
            return Finding(fault="not readable: not a regular file")
        source = path.read_bytes()
    except OSError as error:
        return Finding(fault=f"not readable: {error.strerror}")
    return examine(source)


def lead_of(folder: Folder, model: Model | str | None, base_url: str | None) -> Agent:
    """The lead of a survey, with its surveyor.

    Args:
        folder: What they survey.
        model: Who thinks for them; None for the rules of this file.
        base_url: Where the model is.

    Raises:
        ValueError: ``model`` names none.
    """
    surveyor = Agent(
        model or FunctionModel(_survey, name="function/surveyor"),
        system=_SURVEYOR,
        tools=[folder.examine, folder.read_file],
        name="surveyor",
        description="Surveys the one Python file that the prompt names.",
        base_url=base_url if model else None,
        on_error="result",
    )
    return Agent(
        model or FunctionModel(_lead, name="function/lead"),
        system=_LEAD,
        tools=[folder.list_files, surveyor],
        name="lead",
        base_url=base_url if model else None,
        reporter=None,
        human=None,
    )


def _lead(request: Request) -> str | list[ToolCall]:
    """The rule of the lead: list, send, join."""
    said = _results(request)
    if not said:
        return [ToolCall(id=new_id(), name="list_files")]
    if len(said) == 1:
        names = msgspec.json.decode(said[0], type=list[str])
        return [
            ToolCall(id=new_id(), name="surveyor", args={"prompt": ERRAND + name})
            for name in names
        ]
    return f"{len(said) - 1:,} files are surveyed."


def _survey(request: Request) -> str | ToolCall:
    """The rule of a surveyor: examine, and say what was found."""
    said = _results(request)
    if said:
        return said[-1]
    name = request.messages[0].text().removeprefix(ERRAND)
    return ToolCall(id=new_id(), name="examine", args={"file": name})


def _results(request: Request) -> list[str]:
    """The results of all calls so far, as text."""
    return [
        block.output
        for message in request.messages
        for block in message.content
        if isinstance(block, ToolResultBlock) and isinstance(block.output, str)
    ]


def findings(lead: State) -> list[tuple[str, Finding]]:
    """Each file that a surveyor was sent to, and what its tool said of it; by name."""
    found: list[tuple[str, Finding]] = []
    for entry in lead.history:
        if entry.kind == "tool_result" and entry.call.name == "surveyor":
            name = str(entry.call.args["prompt"]).removeprefix(ERRAND)
            found.append((name, _finding(lead, entry)))
    return sorted(found, key=lambda row: row[0])


def _finding(lead: State, entry: ToolResultEntry) -> Finding:
    for child_id in entry.child_ids:
        for said in lead.child(child_id).history:
            if said.kind != "tool_result" or said.call.name != "examine":
                continue
            if said.outcome == "done":
                return msgspec.json.decode(str(said.content), type=Finding)
    return Finding(fault=f"not examined: {entry.content!s:.200}")
