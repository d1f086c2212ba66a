"""What a State says to those who hold it wrong: the way that works instead."""

from collections.abc import Mapping, Sequence

_RENAMED = {
    "task": "messages=[Message.user(...)]",
    "context": "messages=[...]",
    "data": "extra_data={...}",
}

_INSTEAD = {
    "answer": "state.finish(answer)",
    "finished": "state.finish(answer)",
    "stopped": "state.finish(answer)",
    "messages": "state.add_message(message) or state.compact(summary)",
    "extra_data": "with state.edit_extra_data() as data: ...",
    "history": "State(history=...) for a new State",
    "id": "State(id=...) for a new State",
}


def misuse(args: Sequence[object], kwargs: Mapping[str, object]) -> TypeError:
    """The error for arguments that ``State(...)`` does not take."""
    for name, instead in _RENAMED.items():
        if name in kwargs:
            return TypeError(
                f"State() takes no {name}=, the word of an older version: write "
                f"State({instead})"
            )
    if args:
        return TypeError(
            f"State() takes keywords only, not {args[0]!r} by position: write "
            f"State(messages=[Message.user(...)])"
        )
    names = ", ".join(f"{name}=" for name in kwargs)
    return TypeError(
        f"State() takes id=, messages=, extra_data=, history= and repair=, not {names}"
    )


def cannot_set(name: str) -> str:
    """Why an attribute of a State cannot be assigned or deleted, and what to do."""
    instead = _INSTEAD.get(
        name, "its methods (add_message, finish, compact, edit_extra_data, restore)"
    )
    return f"cannot set {name!r} of a State: it changes by messages only; use {instead}"
