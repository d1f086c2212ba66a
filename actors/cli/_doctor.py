"""`callboard doctor`: is what runs here really callboard, whole and alone?

The names `actors` and `protocol` are older than this project: other distributions
install packages of the same names, and pip lets the last one win in silence.
"""

import base64
import csv
import hashlib
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path

import attrs
import click

import protocol

_DISTRIBUTION = "callboard"
_PACKAGES = ("actors", "protocol")
_REINSTALL = f"pip install --force-reinstall --no-deps {_DISTRIBUTION}"


@attrs.frozen
class Check:
    """One line of the doctor's report."""

    text: str
    """What was found."""

    advice: str | None = None
    """What to do about it; None when all is well."""


@click.command()
def doctor() -> None:
    """Check versions, and that no other packages are in the way."""
    checks = examine(sys.path)
    for check in checks:
        click.echo(f"{'ok ' if check.advice is None else 'BAD'} {check.text}")
        if check.advice is not None:
            click.echo(f"    {check.advice}")
    if any(check.advice is not None for check in checks):
        raise SystemExit(1)


def examine(path: Sequence[str]) -> list[Check]:
    """Look at the Python that runs, its libraries, and everything on the path.

    Args:
        path: Folders in the order in which Python looks for packages.

    Returns:
        One check for each thing looked at; those with an `advice` are wrong.
    """
    home = Path(protocol.__file__).parent.parent
    found = metadata.distributions(path=list(path))
    installed = [each for each in found if _has_name(each)]
    own = [each for each in installed if each.name == _DISTRIBUTION]
    return [
        Check(f"Python {platform.python_version()} ({sys.executable})"),
        *_libraries(own, installed),
        *_rivals(installed),
        *_copies(path, home),
        *_changed_files(own, home),
    ]


def _has_name(distribution: metadata.Distribution) -> bool:
    """Folders that pip left half removed have no metadata and so no name."""
    return "Name" in distribution.metadata


def _libraries(
    own: Sequence[metadata.Distribution], installed: Sequence[metadata.Distribution]
) -> Iterator[Check]:
    if not own:
        yield Check(f"{_DISTRIBUTION} runs from its source tree, not installed")
        return
    # The first one on the path is the one that Python imports.
    versions = {each.name.lower(): each.version for each in reversed(installed)}
    yield Check(f"{_DISTRIBUTION} {own[0].version}")
    for requirement in own[0].requires or ():
        name, least = _parse(requirement)
        if "extra ==" in requirement:
            continue
        version = versions.get(name.lower())
        if version is None:
            yield Check(f"{name} is missing", f"pip install '{requirement}'")
        elif _numbers(version) < _numbers(least):
            advice = f"pip install --upgrade '{requirement}'"
            yield Check(f"{name} {version} is older than {least}", advice)
        else:
            yield Check(f"{name} {version}")


def _parse(requirement: str) -> tuple[str, str]:
    """Name and least version of a requirement in the form of our pyproject.toml."""
    match = re.match(r"([\w.-]+)(?:>=([\d.]+))?", requirement)
    assert match is not None, f"a requirement starts with a name: {requirement!r}"
    return match[1], match[2] or "0"


def _numbers(version: str) -> tuple[int, ...]:
    """The release of a version; suffixes such as `rc1` count as the release itself."""
    match = re.match(r"[\d.]*\d", version)
    return tuple(map(int, match[0].split("."))) if match else ()


def _rivals(installed: Iterable[metadata.Distribution]) -> Iterator[Check]:
    """Other distributions that say that they install a package of our names."""
    for each in installed:
        tops = {file.parts[0].removesuffix(".py") for file in each.files or ()}
        for name in sorted(tops.intersection(_PACKAGES)):
            if each.name != _DISTRIBUTION:
                yield Check(
                    f"{each.name} {each.version} installs a package {name!r} too",
                    f"pip uninstall {each.name} && {_REINSTALL}",
                )


def _copies(path: Sequence[str], home: Path) -> Iterator[Check]:
    """Modules of our names in any folder of the path other than our own."""
    yield Check(f"{' and '.join(_PACKAGES)} are loaded from {home}")
    seen = {home.resolve()}
    for entry in path:
        folder = Path(entry).resolve()
        if folder in seen:
            continue
        seen.add(folder)
        for name in _PACKAGES:
            if (folder / name / "__init__.py").exists() or (
                folder / f"{name}.py"
            ).exists():
                yield Check(
                    f"another {name!r} lies on the path in {folder}",
                    "rename or remove it, or take that folder off the path",
                )


def _changed_files(own: Sequence[metadata.Distribution], home: Path) -> Iterator[Check]:
    """Files of ours that are not as pip wrote them."""
    files = [row for each in own[:1] for row in _recorded_files(each)]
    changed = [name for name, place, digest in files if _digest(place) != digest]
    if changed:
        text = f"{len(changed)} files differ from the installed ones: {changed[0]!r}"
        yield Check(text, f"{_REINSTALL}, after removing what overwrote them")
    elif files:
        yield Check(f"{len(files)} files are as they were installed")
    else:
        yield Check(f"nothing to compare: {home} is no installed copy")


def _recorded_files(own: metadata.Distribution) -> Iterator[tuple[str, Path, str]]:
    """Name, place and digest of each file of our packages that pip wrote.

    Read from RECORD itself, for `Distribution.files` leaves out what is missing.
    """
    for name, digest, _ in csv.reader((own.read_text("RECORD") or "").splitlines()):
        if name.partition("/")[0] in _PACKAGES and digest:
            yield name, Path(str(own.locate_file(name))), digest


def _digest(place: Path) -> str | None:
    """The digest of a file as RECORD writes it, None when it cannot be read."""
    try:
        content = hashlib.sha256(place.read_bytes()).digest()
    except OSError:
        return None
    return "sha256=" + base64.urlsafe_b64encode(content).rstrip(b"=").decode()
