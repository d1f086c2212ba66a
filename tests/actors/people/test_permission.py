"""What one permission says, and what several lists of them add up to."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors import (
    AllowByDefault,
    AllowByName,
    AllowByReadOnly,
    Allowed,
    AskHuman,
    DecideByHuman,
    Denied,
    DenyByName,
    Permission,
    State,
    Tool,
    ToolCall,
    tool,
)
from actors.people._permission import (
    Levels,
    PermissionKind,
    Verdict,
    checked_permissions,
    judge,
)


@tool(read_only=True)
def read(path: str = "") -> str:
    """Read."""
    return path


@tool
def write(path: str = "") -> str:
    """Write."""
    return path


@tool
def shell(command: str = "") -> str:
    """Run."""
    return command


TOOLS: dict[str, Tool] = {"read": read, "write": write, "shell": shell}
STATE = State()


class Says(Permission):
    """Says one thing about every call."""

    def __init__(self, word: Any, kind: PermissionKind = "decide") -> None:
        self.word = word
        self.said_kind = kind

    @property
    def kind(self) -> PermissionKind:  # type: ignore[override] # a test may vary it
        return self.said_kind

    def check(self, call: ToolCall, tool: Tool, state: State) -> Any:
        return self.word() if callable(self.word) else self.word


def verdict(levels: Levels, name: str = "read", granted: Sequence[str] = ()) -> Verdict:
    call = ToolCall(id="1", name=name, args={"path": "a"})
    return judge(levels, call, TOOLS[name], STATE, granted)


def outcome(levels: Levels, name: str = "read") -> str:
    word = verdict(levels, name).word
    return {Allowed: "allowed", AskHuman: "asked", Denied: "denied"}[type(word)]


def outcomes(*levels: list[Permission] | None) -> list[str]:
    return [outcome(levels, name) for name in TOOLS]


def test_without_permissions_nothing_is_checked() -> None:
    assert verdict([None]) == Verdict(Allowed())
    assert verdict([]) == Verdict(Allowed())
    assert not verdict([None]).unsaid


def test_an_empty_list_denies_all_at_any_depth() -> None:
    for levels in (
        [[]],
        [None, []],
        [[AllowByDefault()], []],
        [[], [AllowByDefault()]],
    ):
        found = verdict(levels)
        assert found == Verdict(Denied("no permission allows 'read'"))
        assert found.unsaid


def test_a_name_is_denied_allowed_or_asked_about() -> None:
    assert outcomes([DenyByName("read"), AllowByDefault()]) == [
        "denied",
        "allowed",
        "allowed",
    ]
    assert outcomes([AllowByName("read", "write")]) == ["allowed", "allowed", "denied"]
    assert outcomes([DecideByHuman("write"), AllowByName("read")]) == [
        "allowed",
        "asked",
        "denied",
    ]
    assert outcomes([DecideByHuman()]) == ["asked"] * 3
    assert outcomes([AllowByReadOnly()]) == ["allowed", "denied", "denied"]


def test_a_denial_counts_wherever_it_stands_in_the_list() -> None:
    assert outcome([[AllowByDefault(), DenyByName("read")]]) == "denied"


def test_the_first_of_the_others_that_says_something_decides() -> None:
    assert outcome([[AllowByName("read"), DecideByHuman()]]) == "allowed"
    assert outcome([[DecideByHuman(), AllowByName("read")]]) == "asked"
    assert outcome([[Says(Denied("no")), AllowByDefault()]]) == "denied"
    assert outcome([[AllowByDefault(), Says(Denied("no"))]]) == "allowed"


def test_denials_are_asked_before_anything_else_is() -> None:
    asked: list[str] = []

    def say(name: str) -> Callable[[], None]:
        return lambda: asked.append(name)

    top = [Says(say("top decides")), Says(say("top denies"), "deny")]
    own = [Says(say("own allows"), "allow"), Says(say("own denies"), "deny")]
    assert (
        verdict([[*top, AllowByDefault()], [*own, AllowByDefault()]]).word == Allowed()
    )
    assert asked == ["top denies", "own denies", "top decides", "own allows"]


def test_a_verdict_names_the_permission_that_decided() -> None:
    assert verdict([[DenyByName("read")]]).permission == "DenyByName"
    assert (
        verdict([[AllowByName("read"), AllowByDefault()]]).permission == "AllowByName"
    )
    assert verdict([[DecideByHuman()]]).permission == "DecideByHuman"


def test_a_denial_carries_its_reason_and_whether_to_stop() -> None:
    denial = DenyByName("read", reason="read the cache instead", stop=True)
    assert verdict([[denial]]).word == Denied("read the cache instead", stop=True)
    assert verdict([[DenyByName("read")]]).word == Denied("'read' is not allowed here")


def test_a_child_without_a_list_has_its_parents_whole_list() -> None:
    parent = [AllowByName("read"), DecideByHuman("write")]
    assert outcomes(parent, None, None) == outcomes(parent)


def test_rights_go_down_as_a_parent_gave_them() -> None:
    parent = [AllowByName("read"), DecideByHuman("write")]
    # The child's tools are read, write and shell, and it denies itself writing.
    assert outcomes(parent, [DenyByName("write")]) == ["allowed", "denied", "denied"]
    # Another child would allow itself everything.
    assert outcomes(parent, [AllowByDefault()]) == ["allowed", "asked", "denied"]


def test_a_child_may_be_stricter_than_its_parent() -> None:
    parent = [AllowByDefault()]
    assert outcomes(parent, [AllowByName("read")]) == ["allowed", "denied", "denied"]
    assert outcomes(parent, [DecideByHuman()]) == ["asked"] * 3


def test_at_the_root_a_list_of_denials_alone_allows_nothing() -> None:
    assert outcomes([DenyByName("write")]) == ["denied"] * 3
    assert outcomes(None, [DenyByName("write")]) == ["allowed", "denied", "allowed"]


def test_a_grant_for_the_tree_takes_the_question_away_and_nothing_else() -> None:
    asking = [[DecideByHuman("write"), AllowByName("read")], [AllowByDefault()]]
    assert verdict(asking, "write", ["write"]).word == Allowed()
    assert verdict(asking, "shell", ["shell"]).unsaid
    assert isinstance(verdict(asking, "write", ["read"]).word, AskHuman)
    denying = [[DenyByName("write"), AllowByDefault()]]
    assert isinstance(verdict(denying, "write", ["write"]).word, Denied)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("deny", Allowed()),
        ("deny", AskHuman("?")),
        ("allow", Denied("x")),
        ("decide", 1),
    ],
)
def test_a_word_that_its_kind_does_not_allow_is_an_error(
    kind: PermissionKind, word: object
) -> None:
    with pytest.raises(TypeError, match="permission 'Says' of kind"):
        verdict([[Says(word, kind)]])


def test_what_a_permission_raises_comes_out() -> None:
    def fail() -> None:
        raise RuntimeError("no rule")

    with pytest.raises(RuntimeError, match="no rule"):
        verdict([[Says(fail)]])


def test_a_kind_that_takes_names_refuses_a_list_of_them() -> None:
    wrong: Any = ["read", "list"]
    with pytest.raises(TypeError, match=r"AllowByName\('read', 'list'\), not"):
        AllowByName(wrong)
    with pytest.raises(TypeError, match="DenyByName takes names of tools"):
        DenyByName()
    with pytest.raises(TypeError, match="DecideByHuman takes names of tools"):
        DecideByHuman(wrong)


def test_permissions_are_values() -> None:
    assert AllowByName("read") == AllowByName("read") != AllowByName("write")
    assert repr(DecideByHuman("write")) == "DecideByHuman(names=('write',))"
    with pytest.raises(AttributeError):
        AllowByName("read").names = ("shell",)  # type: ignore[misc] # what is tested


def test_the_permissions_of_an_agent_are_checked_when_it_is_made() -> None:
    given_list = [AllowByName("read"), DecideByHuman()]
    assert checked_permissions(given_list) == tuple(given_list)
    with pytest.raises(TypeError, match=r"permissions is a list, such as \[AllowByD"):
        checked_permissions(AllowByDefault())
    with pytest.raises(TypeError, match=r"permissions\[1\] is 'write'"):
        checked_permissions([AllowByName("read"), "write"])
    with pytest.raises(TypeError, match="permissions is a list"):
        checked_permissions(None)


# P13: rights never widen on the way down.
#
# The naive definition: a list by itself denies, asks or allows; what a child may do is
# the strictest of what every list on the way down says by itself.

PERMISSIONS: tuple[Permission, ...] = (
    DenyByName("write"),
    AllowByName("read"),
    AllowByReadOnly(),
    AllowByDefault(),
    DecideByHuman("write"),
    DecideByHuman(),
)
LISTS: tuple[list[Permission] | None, ...] = (
    None,
    [],
    *([each] for each in PERMISSIONS),
    [AllowByName("read"), DecideByHuman("write")],
    [DenyByName("write"), AllowByDefault()],
)
STRICTNESS = {"allowed": 0, "asked": 1, "denied": 2}


def by_itself(level: list[Permission] | None, name: str, is_root: bool) -> str:
    if level is None:
        return "allowed"
    call = ToolCall(id="1", name=name)
    said = [(each.kind, each.check(call, TOOLS[name], STATE)) for each in level]
    if any(kind == "deny" and word for kind, word in said):
        return "denied"
    if level and not is_root and all(kind == "deny" for kind, _ in said):
        return "allowed"
    for kind, word in said:
        if kind != "deny" and word is not None:
            return {Allowed: "allowed", AskHuman: "asked", Denied: "denied"}[type(word)]
    return "denied"


def naive(levels: Sequence[list[Permission] | None], name: str) -> str:
    said = [by_itself(level, name, depth == 0) for depth, level in enumerate(levels)]
    return max(said, key=STRICTNESS.__getitem__)


def check_never_widens(levels: Sequence[list[Permission] | None], name: str) -> None:
    allowed_below = outcome(levels, name)
    assert allowed_below == naive(levels, name), (levels, name)
    for depth in range(1, len(levels)):
        above = outcome(levels[:depth], name)
        assert STRICTNESS[above] <= STRICTNESS[allowed_below], (levels, name, depth)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_rights_never_widen_on_the_way_down(depth: int) -> None:
    for levels in product(LISTS, repeat=depth):
        for name in TOOLS:
            check_never_widens(levels, name)


@pytest.mark.slow
def test_rights_never_widen_on_the_way_down_four_levels() -> None:
    for levels in product(LISTS, repeat=4):
        for name in TOOLS:
            check_never_widens(levels, name)


words = st.sampled_from([None, Allowed(), AskHuman("?"), Denied("no")])
own_words = st.builds(lambda word: Says(word), words)
own_denials = st.builds(
    lambda word: Says(word, "deny"), st.sampled_from([None, Denied("never")])
)
lists = st.none() | st.lists(st.sampled_from(PERMISSIONS) | own_words | own_denials)


@given(st.lists(lists, min_size=1, max_size=6), st.sampled_from(sorted(TOOLS)))
def test_rights_never_widen_with_permissions_of_ones_own(
    levels: list[list[Permission] | None], name: str
) -> None:
    check_never_widens(levels, name)


@given(st.lists(lists, min_size=1, max_size=4), st.sampled_from(sorted(TOOLS)))
def test_a_grant_never_allows_what_was_denied(
    levels: list[list[Permission] | None], name: str
) -> None:
    before = outcome(levels, name)
    with_grant = verdict(levels, name, [name]).word
    assert isinstance(with_grant, Denied if before == "denied" else Allowed)
