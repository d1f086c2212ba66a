"""What is different about a State's first run after it was loaded."""

import warnings

from protocol import AgentInfo, ResumeWarning

from ._inside import library_of, mailbox, origin_of
from ._state import State


def goes_on(state: State) -> bool:
    """Whether this is the first run of a State since a store gave it back.

    A fork goes on with nothing: what its original left under way is not its own.
    """
    box = mailbox(state)
    ran = box.value.facts.ran
    if ran is None or ran[0] >= box.born:
        return False
    return library_of(state) is not None and origin_of(state) is None


def warn_of_changes(state: State, info: AgentInfo) -> None:
    """Warn when another agent goes on with a State that a store gave back.

    Once: the start of this run is recorded next, and later runs compare with it.
    """
    ran = mailbox(state).value.facts.ran
    if ran is None or not goes_on(state):
        return
    changes = {
        name: (getattr(ran[1], name), getattr(info, name))
        for name in AgentInfo.__struct_fields__
        if getattr(ran[1], name) != getattr(info, name)
    }
    if changes:
        warnings.warn(ResumeWarning(changes), stacklevel=2)
