"""What README and docs say is run, and what they name is there."""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner

import actors
import protocol
from actors import aio, otel, testing
from actors.cli import main
from protocol._phases import COLUMNS, TABLE

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "pages").rglob("*.md"))]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w-]+)(?: title=\"(?P<title>[\w.]+)\")?\n"
    r"(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#]+)")


@attrs.frozen
class Block:
    """A fenced block of a page."""

    line: int
    """The line of the page that its code begins on."""
    language: str
    title: str | None
    """The name of the file that it shows, if it shows one."""
    code: str


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text("utf-8")
    for match in FENCE.finditer(text):
        indent = len(match["indent"])
        code = "".join(f"{row[indent:]}\n" for row in match["code"].splitlines())
        line = text.count("\n", 0, match.start()) + 2
        yield Block(line, match["language"], match["title"], code)


def names(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def readme_commands() -> list[str]:
    page = ROOT / "README.md"
    return [each.code.strip() for each in blocks(page) if each.language == "sh"]


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_the_blocks_of_a_page_run_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The blocks of a page build on one another, as a reader types them.
    monkeypatch.chdir(tmp_path)
    # A command puts the folder on the path, and imports what stands in it.
    monkeypatch.setattr(sys, "path", sys.path[:])
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.title is not None:
            Path(block.title).write_text(block.code, "utf-8")
            monkeypatch.delitem(sys.modules, Path(block.title).stem, raising=False)
        elif block.language == "python":
            # Empty lines in front make a traceback point into the page.
            code = "\n" * (block.line - 1) + block.code
            exec(compile(code, str(page), "exec"), namespace)
        elif block.code.startswith("callboard "):
            run_commands(block.code)


def run_commands(code: str) -> None:
    """Run each line of a shell block, as one whose command must succeed."""
    for line in code.splitlines():
        done = CliRunner().invoke(main, shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}"


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_a_page_links_only_to_files_that_exist(page: Path) -> None:
    targets = LINK.findall(page.read_text("utf-8"))
    assert not [each for each in targets if not (page.parent / each).exists()]


def test_the_readme_sets_up_in_exactly_two_commands() -> None:
    survey, tests = readme_commands()
    for command in (survey, tests):
        assert "\n" not in command
        assert command.startswith(
            "python3 -m venv .venv && .venv/bin/pip install -q -e"
        )
    assert survey.endswith("&& .venv/bin/callboard survey")
    assert tests.endswith("&& .venv/bin/pytest")


def test_the_ci_runs_the_readme_command_and_not_a_copy_of_it() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "README.md" in script.read_text("utf-8")
    assert readme_commands()[1] not in script.read_text("utf-8")


def test_every_command_that_the_docs_name_exists() -> None:
    named = {
        shlex.split(match)[1]
        for page in PAGES
        for match in re.findall(r"callboard [a-z]+", page.read_text("utf-8"))
        if f"`{match}" in page.read_text("utf-8")
    }
    assert {"survey", "doctor"} <= named
    assert named <= set(main.commands)
    for name in named:
        assert CliRunner().invoke(main, [name, "--help"]).exit_code == 0


PROMISES = (ROOT / "docs" / "pages" / "promises.md").read_text("utf-8")


def test_every_test_that_the_promises_name_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PROMISES))
    existing = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)\(", path.read_text("utf-8"))
    }
    assert named
    assert named <= existing


def test_each_of_the_promises_names_a_test() -> None:
    sections = re.split(r"^### P(\d+) ", PROMISES, flags=re.MULTILINE)[1:]
    assert [int(number) for number in sections[::2]] == list(range(1, 15))
    assert all("`test_" in section for section in sections[1::2])


def test_the_phase_table_of_the_docs_is_the_one_that_the_code_runs_on() -> None:
    design = (ROOT / "docs" / "pages" / "design.md").read_text("utf-8")
    head = f"| command | sent by | {' | '.join(COLUMNS)} |"
    rows = re.findall(r"^\| `([A-Z]\w+)` \| [^|]+ \| (.+) \|$", design, re.MULTILINE)
    assert head in design
    assert rows == [(kind.__name__, " | ".join(row)) for kind, row in TABLE.items()]


def test_each_public_name_stands_on_one_page_of_the_reference() -> None:
    reference = ROOT / "docs" / "pages" / "reference"
    told = [
        name
        for page in sorted(reference.glob("*.md"))
        for name in re.findall(r"^::: ([\w.]+)$", page.read_text("utf-8"), re.MULTILINE)
    ]
    names = {name.rpartition(".")[2] for name in told}
    public = {*actors.__all__, *protocol.__all__}
    public |= {*aio.__all__, *otel.__all__, *testing.__all__}
    assert public == names
    assert len(told) == len(names)


def members_told(name: str) -> set[str]:
    """The members of a class that its page of the reference lists."""
    reference = ROOT / "docs" / "pages" / "reference"
    listed = re.compile(
        rf"^::: actors.{name}\n    options:\n      members:\n(.*?)\n\n",
        re.MULTILINE | re.DOTALL,
    )
    found = (listed.search(each.read_text("utf-8")) for each in reference.glob("*.md"))
    (block,) = [match[1] for match in found if match is not None]
    return set(re.findall(r"- (\w+)", block))


async def test_what_runs_agents_shows_what_the_reference_tells_and_nothing_else() -> (
    None
):
    settings = {each.name for each in attrs.fields(actors.Agent)}
    methods = {name for name in vars(actors.Agent) if not name.startswith("_")}
    assert methods - settings == members_told("Agent") - settings
    async with actors.open_supervisor() as supervisor:
        shown = {name for name in dir(supervisor) if not name.startswith("_")}
    assert shown == members_told("Supervisor")
