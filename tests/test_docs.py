"""What README and docs say is run, and what they name is there."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from actors.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "pages").rglob("*.md"))]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w-]+)[^\n]*\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#]+)")


def blocks(page: Path, language: str) -> Iterator[tuple[int, str]]:
    """Line number and text of each fenced block in the language."""
    text = page.read_text("utf-8")
    for match in FENCE.finditer(text):
        if match["language"] == language:
            indent = len(match["indent"])
            lines = [line[indent:] for line in match["code"].splitlines()]
            yield text.count("\n", 0, match.start()) + 2, "\n".join(lines) + "\n"


def names(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def readme_commands() -> list[str]:
    return [code.strip() for _, code in blocks(ROOT / "README.md", "sh")]


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_the_python_blocks_of_a_page_run_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The blocks of a page build on one another, as a reader types them.
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, code in blocks(page, "python"):
        # Empty lines in front make a traceback point into the page.
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)


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


def test_every_test_that_the_promises_name_exists() -> None:
    promises = (ROOT / "docs" / "pages" / "promises.md").read_text("utf-8")
    named = set(re.findall(r"`(test_\w+)`", promises))
    existing = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)\(", path.read_text("utf-8"))
    }
    assert named
    assert named <= existing
