"""What the programs share: the script that all play, the watch, and what is printed."""

import gc
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter, process_time
from types import TracebackType
from typing import Any, TypeAlias

QUESTION = "Where is the bug? Look at the tests first, then at the module."
FOUND = "found"
ANSWER = "It is in the second line of the module, where the index starts at one."
KEY = "bug"

LATENCY_S = 0.1
"""How long the model of a conversation among many takes."""
FLEET_TURNS = 2
"""Tool calls of each of them; then it answers."""
AT_ONCE = 50
"""Conversations that are stored at once."""
LONG = 1_000
"""Messages of a conversation that is copied."""


class Watch:
    """Measures what is done inside ``with watch:``, once.

    Wall time, the CPU time of all threads of this process, and by how much its
    resident set grew. The garbage collector runs as it does for a user.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        """Units of work that were done; a row sets it when it is not what was asked."""
        self.note = ""
        """What a reader has to know about how it was done here."""
        self.seconds = self.cpu_s = 0.0
        self.bytes = 0

    def start(self) -> None:
        """From here on."""
        gc.collect()
        self.bytes -= _resident()
        self.cpu_s -= process_time()
        self.seconds -= perf_counter()

    def stop(self) -> None:
        """Up to here."""
        self.seconds += perf_counter()
        self.cpu_s += process_time()
        self.bytes += _resident()

    def __enter__(self) -> "Watch":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.stop()

    def told(self) -> dict[str, Any]:
        """What is printed."""
        names = ("count", "seconds", "cpu_s", "bytes", "note")
        return {name: getattr(self, name) for name in names}


def _resident() -> int:
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


Rows: TypeAlias = Mapping[str, Callable[[int, Watch], object]]


def answer(rows: Rows, version: str, absent: Mapping[str, str] | None = None) -> None:
    """Do what the command line asks for and print one line of JSON.

    Args:
        rows: How each row is done.
        version: What ``version`` in place of a row prints.
        absent: Why a row that is not in `rows` cannot be done.
    """
    row, count = sys.argv[1], int(sys.argv[2])
    if row == "version":
        told: Mapping[str, Any] = {"version": version}
    elif row not in rows:
        told = {"absent": (absent or {}).get(row, "")}
    else:
        rows[row](1, Watch(1))  # what the first one alone needs is nobody's cost
        watch = Watch(count)
        rows[row](count, watch)
        told = watch.told()
    print(json.dumps(told))
