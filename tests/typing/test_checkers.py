"""Type checkers see what a user of the library is promised that they see."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FILES = sorted(
    path.name for path in HERE.glob("*.py") if path.name != Path(__file__).name
)


def run(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", FILES)
def test_mypy_knows_the_types(name: str) -> None:
    pytest.importorskip("mypy")
    run("mypy", "--strict", "--warn-unused-ignores", str(HERE / name))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", FILES)
def test_pyright_knows_the_types(name: str) -> None:
    pytest.importorskip("pyright")
    run("pyright", "--pythonpath", sys.executable, str(HERE / name))
