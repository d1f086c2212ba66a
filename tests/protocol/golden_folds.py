"""Histories in which rare things happen, and what each of them means for ever.

Files of a released version are never written again: `python -m
tests.protocol.golden_folds NAME` writes a new one, of sequences of tests/model that
together reach every rare case. A line is a history with its digest.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from protocol import HistoryEntry, UnknownEntry
from protocol._codec import from_json, to_json
from tests.model.generate import run_seed
from tests.model.rare import CASES, reached

from .golden import DATA
from .test_codec import digest

SEEDS = 20_000


class Story(msgspec.Struct):
    """A history, and what it means."""

    digest: str
    entries: list[Any]

    def history(self) -> list[HistoryEntry | UnknownEntry]:
        return [from_json(json.dumps(entry)) for entry in self.entries]


def stories(name: str) -> list[Story]:
    lines = (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [msgspec.json.decode(line, type=Story) for line in lines]


def told() -> Iterator[Story]:
    """Stories until every rare case is in one."""
    missing = set(CASES)
    for seed in range(SEEDS):
        for pair in run_seed(seed).pairs:
            found = missing & reached(pair.expected)
            if found:
                missing -= found
                history = pair.state.history
                entries = [json.loads(to_json(entry)) for entry in history]
                yield Story(digest(list(history)), entries)
    assert not missing, f"never reached: {missing}"


if __name__ == "__main__":
    with (DATA / f"{sys.argv[1]}.jsonl").open("xb") as file:
        file.writelines(msgspec.json.encode(story) + b"\n" for story in told())
