"""Errors: they say what happened, keep their data, and survive pickling."""

import copy
import pickle
import warnings
from collections.abc import Callable

import pytest

from protocol import (
    ActorClosed,
    AuthError,
    BudgetExceeded,
    ContextTooLongError,
    CutOffError,
    GraphError,
    GraphRecursionError,
    NodeError,
    NoHumanError,
    OutputError,
    PermissionWarning,
    ProviderError,
    RateLimitError,
    ResumeWarning,
    RunCancelled,
    StoreConflict,
    StoreDamaged,
    StoreUnknown,
    ToolError,
    ToolInputError,
)

SAMPLES = [
    ActorClosed("cannot think: the State was closed", "over"),
    AuthError("no such key", status=401),
    BudgetExceeded("requests", "root-1"),
    ContextTooLongError("too long", status=400),
    CutOffError("cut off"),
    GraphError("no entry"),
    GraphError("no entry", "node 'a' is never reached"),
    GraphRecursionError(25),
    NoHumanError("nobody to ask"),
    NodeError("plan", "returned a set"),
    NodeError("plan", "is unknown", "citty"),
    OutputError("no answer of type int"),
    PermissionWarning("denied"),
    ProviderError("overloaded", status=529, transient=True),
    RateLimitError("slow down", status=429, retry_after_s=2.5, transient=True),
    ResumeWarning({"model": ("a", "b")}),
    RunCancelled("user went away"),
    RunCancelled(),
    StoreConflict("written by another"),
    StoreDamaged("record 3 is torn"),
    StoreUnknown("no acknowledgement"),
    ToolError("no such file"),
    ToolInputError("line: missing"),
]


def pickled(error: Exception) -> Exception:
    again: Exception = pickle.loads(pickle.dumps(error))
    return again


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("way", [pickled, copy.copy])
def test_an_error_survives_pickling_and_copying(
    error: Exception, way: Callable[[Exception], Exception]
) -> None:
    again = way(error)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_names_its_public_path(error: Exception) -> None:
    assert type(error).__module__ == "protocol"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ActorClosed("cannot think", "over"), "cannot think"),
        (RunCancelled(), "the run was cancelled"),
        (RunCancelled("too slow"), "the run was cancelled: too slow"),
        (
            BudgetExceeded("requests", "root-1"),
            "the limit on requests that the run of 'root-1' owns is reached",
        ),
        (
            ResumeWarning({"model": ("a", "b"), "tools": ((), ("x",))}),
            (
                "the State was recorded under other settings:"
                " model was 'a', is 'b'; tools was (), is ('x',)"
            ),
        ),
        (GraphError("no entry"), "no entry"),
        (
            GraphError("no entry", "no end"),
            "2 faults in this graph:\n- no entry\n- no end",
        ),
        (NodeError("plan", "returned a set"), "node 'plan': returned a set"),
        (NodeError("plan", "unknown", "citty"), "node 'plan', field 'citty': unknown"),
        (
            GraphRecursionError(25),
            (
                "the graph did not end within 25 steps; give its loop a way out,"
                ' or raise "recursion_limit" in the config'
            ),
        ),
    ],
)
def test_an_error_tells_what_happened(error: Exception, text: str) -> None:
    assert str(error) == text


def test_errors_keep_their_data() -> None:
    assert ActorClosed("cannot think", "over").reason == "over"
    assert RunCancelled("too slow").reason == "too slow"
    budget = BudgetExceeded("cost", "root-1")
    assert (budget.limit, budget.owner) == ("cost", "root-1")
    assert ResumeWarning({"model": ("a", "b")}).changes == {"model": ("a", "b")}
    assert GraphError("a", "b").faults == ("a", "b")
    node = NodeError("plan", "unknown", "citty")
    assert (node.node, node.field) == ("plan", "citty")
    assert GraphRecursionError(3).limit == 3
    refused = RateLimitError("no", status=429, retry_after_s=2.5, transient=True)
    assert (refused.status, refused.retry_after_s, refused.transient) == (
        429,
        2.5,
        True,
    )
    silent = ProviderError("no response")
    assert (silent.status, silent.retry_after_s, silent.transient) == (
        None,
        None,
        False,
    )


@pytest.mark.parametrize(
    ("child", "parent"),
    [
        (AuthError, ProviderError),
        (RateLimitError, ProviderError),
        (ContextTooLongError, ProviderError),
        (ToolInputError, ToolError),
        (NodeError, GraphError),
        (GraphRecursionError, GraphError),
        (PermissionWarning, UserWarning),
        (ResumeWarning, UserWarning),
    ],
)
def test_a_family_is_caught_by_its_first_name(
    child: type[Exception], parent: type[Exception]
) -> None:
    assert issubclass(child, parent)


def test_a_resume_warning_can_be_given_as_an_object() -> None:
    with pytest.warns(ResumeWarning, match="model was 'a', is 'b'") as seen:
        warnings.warn(ResumeWarning({"model": ("a", "b")}), stacklevel=1)
    (warned,) = seen
    assert isinstance(warned.message, ResumeWarning)
    assert warned.message.changes == {"model": ("a", "b")}
