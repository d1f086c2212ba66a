"""One cell: a peer does a row once, in a process of its own with a time limit."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from ._rows import Row


@attrs.frozen(kw_only=True)
class Measured:
    """What a unit of work came to."""

    each: float
    """Microseconds or bytes for one unit."""
    count: int
    """Units that were done."""
    note: str = ""
    """What the program says about how it was done."""


@attrs.frozen(kw_only=True)
class Missing:
    """Why there is no figure."""

    text: str
    """What stands in the cell."""
    why: str = ""
    failed: bool = False
    """Whether the program is at fault: it ended badly."""


Outcome: TypeAlias = Measured | Missing


def over(limit_s: float) -> Missing:
    """What did not end in time."""
    return Missing(text=f"over {limit_s:g} s")


def absent(why: str) -> Missing:
    """What a peer lacks."""
    return Missing(text="absent", why=why)


def measure(
    command: Sequence[str], row: Row, count: int, limit_s: float, env: Mapping[str, str]
) -> Outcome:
    """Run a program for one row.

    It is ended, with all that it started, when it takes more than `limit_s` seconds,
    its own start included.
    """
    try:
        done = run([*command, row.id, str(count)], limit_s, env)
    except subprocess.TimeoutExpired:
        return over(limit_s)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        return Missing(text="failed", why=said[-1], failed=True)
    return outcome(row, json.loads(done.stdout.splitlines()[-1]))


def version_of(command: Sequence[str], limit_s: float, env: Mapping[str, str]) -> str:
    """What a program says it runs on, or "" when it cannot."""
    try:
        done = run([*command, "version", "0"], limit_s, env)
    except subprocess.TimeoutExpired:
        return ""
    return "" if done.returncode else str(json.loads(done.stdout)["version"])


def outcome(row: Row, told: Mapping[str, Any]) -> Outcome:
    """What the line that a program printed says of a row."""
    if "absent" in told:
        return absent(told["absent"])
    sums = {
        "cpu": told["cpu_s"] * 1e6,
        "wall": told["seconds"] * 1e6,
        "memory": told["bytes"],
    }
    each = sums[row.measure] / told["count"]
    return Measured(each=each, count=told["count"], note=told["note"])


def run(
    command: Sequence[str], limit_s: float, env: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a command in a session of its own, so that all of it can be ended.

    Raises:
        subprocess.TimeoutExpired: it took too long, and was killed.
    """
    with subprocess.Popen(
        command,
        cwd=Path(__file__).parents[2],
        env=dict(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=limit_s)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)
