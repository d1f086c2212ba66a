import base64
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from actors.cli import main
from actors.cli._doctor import Check, examine

ROOT = Path(__file__).parents[3]


def install(
    folder: Path, name: str, files: dict[str, str], *, requires: str = ""
) -> None:
    """Lay out a distribution as pip does, hashes and all."""
    rows: list[str] = []
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
        rows.append(f"{path},sha256={digest.rstrip(b'=').decode()},{len(text)}\n")
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir()
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.2\n{needs}")
    (info / "RECORD").write_text("".join(rows))


def faults(path: Path) -> list[Check]:
    return [each for each in examine([str(path)]) if each.advice is not None]


def test_a_whole_and_lonely_installation_has_no_fault(tmp_path: Path) -> None:
    install(tmp_path, "click", {"click/__init__.py": ""})
    install(tmp_path, "callboard", {"callboard.pth": ""}, requires="click>=1.0")
    texts = [each.text for each in examine([str(tmp_path)])]
    assert not faults(tmp_path)
    assert "callboard 1.2" in texts
    assert "click 1.2" in texts


@pytest.mark.parametrize("name", ["actors", "protocol"])
def test_another_distribution_of_our_name_is_reported_with_the_way_out(
    tmp_path: Path, name: str
) -> None:
    install(tmp_path, "rival", {f"{name}/__init__.py": ""})
    rival, copy = faults(tmp_path)
    assert rival.text == f"rival 1.2 installs a package {name!r} too"
    assert rival.advice is not None
    assert rival.advice.startswith("pip uninstall rival && pip install")
    assert copy.text == f"another {name!r} lies on the path in {tmp_path}"


def test_a_lone_module_of_our_name_on_the_path_is_reported(tmp_path: Path) -> None:
    (tmp_path / "protocol.py").write_text("")
    (fault,) = faults(tmp_path)
    assert fault.text == f"another 'protocol' lies on the path in {tmp_path}"


def test_files_that_were_overwritten_or_lost_are_reported(tmp_path: Path) -> None:
    files = {"protocol/_a.py": "1", "protocol/_b.py": "2", "actors/_c.py": "3"}
    install(tmp_path, "callboard", files)
    assert not faults(tmp_path)
    (tmp_path / "protocol" / "_a.py").write_text("other")
    (tmp_path / "actors" / "_c.py").unlink()
    (fault,) = faults(tmp_path)
    assert fault.text == "2 files differ from the installed ones: 'protocol/_a.py'"


def test_a_missing_or_old_library_is_reported_with_its_requirement(
    tmp_path: Path,
) -> None:
    install(tmp_path, "click", {"click/__init__.py": ""})
    install(tmp_path, "callboard", {}, requires="click>=1.10")
    (fault,) = faults(tmp_path)
    assert fault == Check(
        "click 1.2 is older than 1.10", "pip install --upgrade 'click>=1.10'"
    )
    (tmp_path / "click-1.2.dist-info" / "METADATA").unlink()
    (fault,) = faults(tmp_path)
    assert fault == Check("click is missing", "pip install 'click>=1.10'")


def test_a_library_of_an_extra_may_be_absent(tmp_path: Path) -> None:
    install(tmp_path, "callboard", {}, requires='psycopg>=3.2; extra == "postgres"')
    assert not faults(tmp_path)


def test_the_command_ends_with_1_and_the_advice_when_something_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy = CliRunner().invoke(main, ["doctor"])
    assert healthy.exit_code == 0, healthy.output
    assert "BAD" not in healthy.output
    (tmp_path / "actors").mkdir()
    (tmp_path / "actors" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 1
    assert f"BAD another 'actors' lies on the path in {tmp_path}\n    " in result.output


def test_importing_actors_beside_a_foreign_protocol_names_it_and_the_way_out(
    tmp_path: Path,
) -> None:
    foreign = tmp_path / "protocol" / "__init__.py"
    foreign.parent.mkdir()
    foreign.write_text("VERSION = 1")
    done = subprocess.run(
        [sys.executable, "-c", "import actors"],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )
    assert done.returncode != 0
    assert f"the package 'protocol' in {str(foreign)!r} is not" in done.stderr
    assert "pip uninstall protocol" in done.stderr
