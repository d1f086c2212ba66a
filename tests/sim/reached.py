"""Rare paths: each is marked where it happens, and has to happen now and then.

A simulation that finds nothing has proven something only about what it reached.
"""

from collections import Counter

STORE = (
    "a full disk refused a write",
    "a broken disk failed a write",
    "a disk took only a part of a write",
    "a write was stored and not acknowledged",
    "a write was neither stored nor acknowledged",
    "a write arrived twice",
    "a write was cancelled",
    "a torn tail was cut",
    "a process died",
    "a process died in the middle of a write",
    "the power was lost",
    "two processes lived at once",
    "a copy was fenced off",
    "a damaged log was refused",
)

RESUME = (
    "a State was loaded in the middle of a request",
    "a State was loaded with open calls",
    "a call's outcome was unknown",
    "an idempotent call ran again",
    "a child went on in another process",
    "a child in the background was seen to by another process",
)

CALLS = (
    "a value came late",
    "a thread's value came late",
    "a call did not stop within its grace",
    "a clean-up was cut",
    "a tool timed out",
    "a sibling's failure cancelled a call",
    "a call never began",
    "a call was not started for a limit",
    "a call was denied",
    "a plain function waited for a thread",
)

MODELS = (
    "a request was tried again",
    "a request waited for another's Retry-After",
    "a request was taken back",
    "a reply was cut off",
    "a reply came for a run that was given up",
    "a call's id was taken",
)

RUNS = (
    "a run waited for its place",
    "a run was rejected, for another was under way",
    "a run waited for another's end",
    "a run was taken over",
    "a run began again",
    "a run was cancelled",
    "a run was given up",
    "a run was stopped by its limit on requests",
    "a run was stopped by its limit on tokens",
    "a run was stopped by its limit on seconds",
    "a limit further up stopped a child",
    "a stream was left early",
    "a stream's run waited for its reader",
    "a fan was settled early",
    "a child in the background outlived its turn",
    "a child in the background went up to another owner",
)

STATES = (
    "a message was held",
    "a message was added twice",
    "a think waited in the mailbox",
    "a State was closed while it ran",
    "a State was closed while thinks waited",
    "a State went back",
    "a State was forked with calls open",
    "a State was compacted",
    "a question was left open",
    "a question was answered for another process",
    "an answer was given twice",
    "a question was closed without an answer",
)

PATHS = frozenset((*STORE, *RESUME, *CALLS, *MODELS, *RUNS, *STATES))

counts: Counter[str] = Counter()
"""How often each was reached so far in this process."""


def reached(name: str) -> None:
    """Mark that a rare path was taken."""
    assert name in PATHS, f"{name!r} is no path that is counted"
    counts[name] += 1
