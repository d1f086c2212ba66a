"""The arguments of a call, from the JSON text that a model wrote."""

from collections.abc import Mapping
from typing import Any

import msgspec

UNREADABLE = "arguments that are no JSON object"
"""Stands as the only argument of a call whose arguments cannot be read. No tool has an
argument of that name, so the call is answered with an error that says it to the
model, which can then write them again."""


def arguments(text: str | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return arguments by name; no text means none.

    What is not the JSON of an object comes back under `UNREADABLE`: a slip of the
    model is the model's to mend, and no failure of its provider.
    """
    if text is None or isinstance(text, Mapping):
        return text or {}
    if not text.strip():
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return {UNREADABLE: text}
