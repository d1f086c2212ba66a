"""How a State stands, as its history and its parent's say."""

from actors import State
from protocol import HistoryEntry
from protocol._lines import said

from ._timeline import cancelled_by

_CALLS = {
    "error": "failed",
    "aborted": "failed",
    "cancelled": "cancelled",
    "interrupted": "cancelled",
}
"""What the end of a call says of the State that it concerns."""


def status_of(state: State, outcome: str | None) -> tuple[str, str]:
    """One of done, failed, stopped, cancelled and cut off; and why, in words.

    Args:
        state: The State.
        outcome: How the call that started it ended; None for a root, or an open call.
    """
    stopped = state.stopped
    if stopped is not None:
        short = stopped.kind not in ("until", "finish")
        return ("stopped" if short else "done"), f"stopped by {stopped.kind}"
    noted = _noted(state.history[-1:])
    if noted is not None:
        return noted
    if state.phase != "idle":
        return "cut off", f"it was {state.phase} when its process ended"
    if outcome is not None:
        return _CALLS.get(outcome, "done"), f"its call ended {outcome}"
    return "cut off", "its process ended between two turns"


def _noted(last: tuple[HistoryEntry, ...]) -> tuple[str, str] | None:
    """What the last entry says by itself."""
    for entry in last:
        match entry.kind:
            case "graph_end":
                ended = entry.content.status
                status = "done" if ended == "completed" else "failed"
                return status, f"{ended} {entry.content.text}"
            case "model_event" if "status" in entry.content.data:
                return str(entry.content.data["status"]), entry.content.message
            case "error":
                how = "cancelled" if cancelled_by(entry.content) else "failed"
                return how, entry.content
            case "tool_result" if entry.outcome in _CALLS:
                return _CALLS[entry.outcome], said(entry)
            case _:
                pass
    return None
