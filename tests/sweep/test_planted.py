"""A sweep that finds nothing proves something only if it finds what is wrong."""

import pytest

from actors._calls import CallNode
from actors.testing import cancel_sweep
from actors.tools import _execute

from .invariants import INVARIANTS
from .scenarios import Scenario
from .subagents import subagents_two_deep
from .tools import sync_tools


def found(scenario: Scenario, seeds: range) -> str:
    report = cancel_sweep(scenario, seeds=seeds, invariants=INVARIANTS)
    return str(report)


def test_a_sweep_finds_usage_that_is_told_to_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CallNode, "spent", lambda self, usage: None)
    assert "usage_is_what_was_delivered" in found(subagents_two_deep, range(1))


def test_a_sweep_finds_a_thread_that_delivers_to_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_execute, "late", lambda *args: None)
    assert "plain returned to nobody" in found(sync_tools, range(4))
