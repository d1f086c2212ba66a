"""Who may do what: the kinds of permissions, and the rule that they add up to.

1. Denials of every level are asked first; the first one that speaks decides.
2. Then each level, the root's first, has to let the call through: the first of its
   other permissions that says something speaks for it; if nobody does, it denies.
3. The strictest word counts: denied before asked before allowed. So rights never widen
   on the way down: what a child may do, every level above allowed.
4. Below the root a list of nothing but denials takes from what is inherited; it does
   not have to allow the rest again.
"""

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, cast

import attrs

from protocol import ToolCall

from ._question import approval_prompt

if TYPE_CHECKING:
    from actors._state import State
    from actors.tools._tool import Tool

PermissionKind: TypeAlias = Literal["deny", "allow", "decide"]


@attrs.frozen
class Allowed:
    """The call may run."""


@attrs.frozen
class Denied:
    """The call must not run.

    Args:
        reason: What the model reads as the call's result.
        stop: Close the whole turn before any tool ran, and stop the run.
    """

    reason: str
    stop: bool = False


@attrs.frozen
class AskHuman:
    """A human decides whether the call may run.

    Args:
        prompt: The question, in words for a person.
    """

    prompt: str


Word: TypeAlias = Allowed | Denied | AskHuman
"""What a permission may say."""


class Permission(ABC):
    """Says whether a call may run, or says nothing.

    Derive from it, set ``kind``, and override `check`. A permission is a setting: it
    may be asked for any call of any run, from any thread.
    """

    __slots__ = ()

    kind: ClassVar[PermissionKind] = "decide"
    """``deny``: asked before all others, says `Denied` or nothing. ``allow``: in its
    turn, says `Allowed` or nothing. ``decide``: in its turn, says what it likes."""

    @property
    def name(self) -> str:
        """What `StoppedByPermission` calls it: the name of its class."""
        return type(self).__name__

    @abstractmethod
    def check(self, call: ToolCall, tool: "Tool", state: "State") -> Word | None:
        """Say what is to become of ``call``, or None to leave it to the next one.

        Must not wait. What it raises stops the run before any tool of the turn ran.
        """


@attrs.frozen(init=False)
class DenyByName(Permission):
    """Deny the tools of these names.

    Args:
        names: Names of tools.
        reason: What the model reads; a sentence that names the tool when left out.
        stop: Close the whole turn before any tool ran, and stop the run.

    Raises:
        TypeError: no name, or one that is no string.
    """

    kind: ClassVar[PermissionKind] = "deny"
    names: tuple[str, ...]
    reason: str | None
    stop: bool

    def __init__(
        self, *names: str, reason: str | None = None, stop: bool = False
    ) -> None:
        _set(self, "names", _checked_names("DenyByName", names))
        _set(self, "reason", reason)
        _set(self, "stop", stop)

    def check(self, call: ToolCall, tool: "Tool", state: "State") -> Denied | None:
        """Deny a tool of one of the names."""
        if call.name not in self.names:
            return None
        return Denied(self.reason or f"{call.name!r} is not allowed here", self.stop)


@attrs.frozen(init=False)
class AllowByName(Permission):
    """Allow the tools of these names.

    Args:
        names: Names of tools.

    Raises:
        TypeError: no name, or one that is no string.
    """

    kind: ClassVar[PermissionKind] = "allow"
    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        _set(self, "names", _checked_names("AllowByName", names))

    def check(self, call: ToolCall, tool: "Tool", state: "State") -> Allowed | None:
        """Allow a tool of one of the names."""
        return Allowed() if call.name in self.names else None


@attrs.frozen
class AllowByReadOnly(Permission):
    """Allow the tools that say of themselves that they are ``read_only``."""

    kind: ClassVar[PermissionKind] = "allow"

    def check(self, call: ToolCall, tool: "Tool", state: "State") -> Allowed | None:
        """Allow a tool that only reads."""
        return Allowed() if tool.read_only else None


@attrs.frozen
class AllowByDefault(Permission):
    """Allow whatever nobody said anything about; stands last in a list."""

    kind: ClassVar[PermissionKind] = "allow"

    def check(self, call: ToolCall, tool: "Tool", state: "State") -> Allowed:
        """Allow any tool."""
        return Allowed()


@attrs.frozen(init=False)
class DecideByHuman(Permission):
    """Ask a human about the tools of these names, or about every tool.

    The answer ``"yes"`` or True runs the call, ``"always"`` runs it and every later
    call of that tool in the tree, ``"no"`` or False denies it, and any other text
    denies it with that text as the reason that the model reads.

    Args:
        names: Names of tools; without any, all tools.

    Raises:
        TypeError: a name is no string.
    """

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        _set(self, "names", _checked_names("DecideByHuman", names) if names else ())

    def check(self, call: ToolCall, tool: "Tool", state: "State") -> AskHuman | None:
        """Have a human asked about a tool of one of the names."""
        if self.names and call.name not in self.names:
            return None
        return AskHuman(approval_prompt(call))


@attrs.frozen
class Verdict:
    """What all permissions together say of a call."""

    word: Word
    permission: str | None = None
    """The name of the permission that decided; None when permissions are not checked,
    or when nobody said anything."""

    @property
    def unsaid(self) -> bool:
        """Whether the call is denied because no permission said anything about it."""
        return self.permission is None and isinstance(self.word, Denied)


Levels: TypeAlias = Sequence[Sequence[Permission] | None]
"""The permissions of each agent on the way down, the root's first.

None where an agent has none of its own: it has its parent's, and the root all rights.
"""

_set = object.__setattr__


def judge(
    levels: Levels,
    call: ToolCall,
    tool: "Tool",
    state: "State",
    granted: Container[str] = (),
) -> Verdict:
    """Say whether a call may run, by the rules at the top of this file.

    Args:
        levels: The permissions on the way down to the agent that calls.
        call: The call.
        tool: Its tool.
        state: The State whose call it is.
        granted: Names of tools that a human allowed for the whole tree: nobody is
            asked about them again.

    Raises:
        TypeError: a permission said what its kind does not allow.
        Exception: whatever a permission raises.
    """
    lists = [(depth, level) for depth, level in enumerate(levels) if level is not None]
    for _, level in lists:
        verdict = _first_word((p for p in level if p.kind == "deny"), call, tool, state)
        if verdict is not None:
            return verdict
    strictest = Verdict(Allowed())
    for depth, level in lists:
        others = [p for p in level if p.kind != "deny"]
        if level and not others and depth > 0:
            continue
        verdict = _first_word(others, call, tool, state)
        if verdict is None:
            return Verdict(Denied(f"no permission allows {call.name!r}"))
        if isinstance(verdict.word, Denied):
            return verdict
        strictest = _stricter(strictest, verdict, call.name in granted)
    return strictest


def _first_word(
    permissions: Iterable[Permission], call: ToolCall, tool: "Tool", state: "State"
) -> Verdict | None:
    for permission in permissions:
        word = permission.check(call, tool, state)
        if word is None:
            continue
        if not isinstance(word, _WORDS[permission.kind]):
            raise TypeError(
                f"permission {permission.name!r} of kind {permission.kind!r} cannot "
                f"say {word!r}: return {_ALLOWED_WORDS[permission.kind]}, or None"
            )
        return Verdict(word, permission.name)
    return None


def _stricter(before: Verdict, now: Verdict, granted: bool) -> Verdict:
    """Asked counts more than allowed; of two alike the one further up."""
    if isinstance(before.word, AskHuman):
        return before
    if isinstance(now.word, AskHuman):
        return Verdict(Allowed(), now.permission) if granted else now
    return now if before.permission is None else before


_WORDS: dict[PermissionKind, tuple[type, ...]] = {
    "deny": (Denied,),
    "allow": (Allowed,),
    "decide": (Allowed, Denied, AskHuman),
}
_ALLOWED_WORDS: dict[PermissionKind, str] = {
    kind: " or ".join(word.__name__ for word in words) for kind, words in _WORDS.items()
}


def _checked_names(kind: str, names: tuple[str, ...]) -> tuple[str, ...]:
    given = cast("tuple[object, ...]", names)  # what callers give, not what they should
    if given and all(isinstance(name, str) for name in given):
        return names
    told = ", ".join(map(repr, given))
    raise TypeError(
        f"{kind} takes names of tools: {kind}('read', 'list'), not {kind}({told})"
    )


def checked_permissions(given: object) -> tuple[Permission, ...]:
    """The permissions of an agent, as they were given.

    Raises:
        TypeError: it is no list of permissions; the text names what is wrong.
    """
    if isinstance(given, Permission) or not isinstance(given, Iterable):
        raise TypeError(f"permissions is a list, such as [{given!r}], not {given!r}")
    permissions: list[Permission] = []
    for index, each in enumerate(cast("Iterable[object]", given)):
        if not isinstance(each, Permission):
            raise TypeError(
                f"permissions[{index}] is {each!r}, and not a permission such as "
                f"AllowByName('read') or DecideByHuman()"
            )
        permissions.append(each)
    return tuple(permissions)
