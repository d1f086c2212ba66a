"""O25: a child may do less than its parent, never more; its questions come up."""

from typing import Any

import pytest
import trio
import trio.testing

from actors import (
    Agent,
    AllowByDefault,
    AllowByName,
    DecideByHuman,
    DenyByName,
    Inbox,
    PermissionWarning,
    State,
    open_supervisor,
)
from actors._settings import INHERIT
from tests.regression.stage import (
    agent,
    assert_whole,
    call,
    in_call_order,
    results,
    state,
)


class Desk:
    """Three tools that count how often each has run."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def read(self) -> str:
        self.ran.append("read")
        return "read"

    async def write(self) -> str:
        self.ran.append("write")
        return "written"

    async def shell(self) -> str:
        self.ran.append("shell")
        return "done"

    @property
    def tools(self) -> list[Any]:
        return [self.read, self.write, self.shell]


ALL = [call("read"), call("write"), call("shell")]
PARENT = [AllowByName("read"), DecideByHuman("write")]


def child_of(desk: Desk, name: str, **settings: Any) -> Agent:
    settings.setdefault("human", INHERIT)
    return agent(ALL, "child is done", tools=desk.tools, name=name, **settings)


def outcomes_of(of: State) -> dict[str, str]:
    return {entry.call.name: entry.outcome for entry in in_call_order(of)}


NOBODY_SPOKE = pytest.mark.filterwarnings("ignore::actors.PermissionWarning")


@NOBODY_SPOKE
@pytest.mark.parametrize("own", ["none", "deny write", "allow all", "allow shell"])
@pytest.mark.parametrize("depth", [1, 3])
async def test_no_list_of_a_child_allows_what_the_parent_does_not(
    autojump_clock: trio.testing.MockClock, own: str, depth: int
) -> None:
    desk, asked = Desk(), state()
    lists: dict[str, Any] = {
        "none": None,
        "deny write": [DenyByName("write")],
        "allow all": [AllowByDefault()],
        "allow shell": [AllowByName("shell", "read", "write")],
    }
    below = child_of(desk, "a0", permissions=lists[own])
    for level in range(1, depth):
        below = agent(
            call(f"a{level - 1}", prompt="go"),
            "between",
            tools=[below],
            name=f"a{level}",
            human=INHERIT,
        )
    top = f"a{depth - 1}"
    levels = [f"a{n}" for n in range(depth)]
    root = agent(
        call(top, prompt="go"),
        "root is done",
        tools=[below],
        human=Inbox(),
        permissions=[*PARENT, AllowByName(*levels)],
    )
    async with open_supervisor() as supervisor:
        run = supervisor.start(root, asked)
        await trio.testing.wait_all_tasks_blocked()
        questions = supervisor.questions()
        if own == "deny write":
            assert questions == ()
        else:
            (question,) = questions
            child = asked
            for _ in range(depth):
                ids = [node for node in question.path if node == child.id]
                assert ids
                child = child_running(supervisor, question, child)
            assert question.path[0] == asked.id
            assert question.state_id == child.id
            assert question.call is not None
            assert question.call.name == "write"
            child.answer_question(question.id, "yes")
        assert await run.wait() == "root is done"
    child = asked
    for _ in range(depth):
        child = child.child(results(child)[0].child_ids[0])
    got = outcomes_of(child)
    assert got["shell"] == "denied"
    assert got["write"] == ("denied" if own == "deny write" else "done")
    assert got["read"] == "done"
    assert "shell" not in desk.ran
    assert_whole(asked)
    assert_whole(child)


def child_running(supervisor: Any, question: Any, above: State) -> State:
    """The State one level below on the question's path."""
    index = question.path.index(above.id)
    child_id = question.path[index + 2]
    return above.child(child_id)


@pytest.mark.parametrize("children", [2, 5])
async def test_a_grant_at_the_root_covers_later_children(
    autojump_clock: trio.testing.MockClock, children: int
) -> None:
    desk, asked = Desk(), state()
    child = agent(
        call("write"), "child is done", tools=desk.tools, name="child", human=INHERIT
    )
    root = agent(
        *[call("child", prompt=str(n)) for n in range(children)],
        "root is done",
        tools=[child],
        human=Inbox(),
        permissions=[*PARENT, AllowByName("child")],
    )
    async with open_supervisor() as supervisor:
        run = supervisor.start(root, asked)
        await trio.testing.wait_all_tasks_blocked()
        (question,) = supervisor.questions()
        owner = asked.child(question.state_id)
        owner.answer_question(question.id, "always")
        assert await run.wait() == "root is done"
    assert desk.ran == ["write"] * children
    assert_whole(asked)


async def test_a_yes_covers_one_call_only(
    autojump_clock: trio.testing.MockClock,
) -> None:
    desk, asked = Desk(), state()
    root = agent(
        call("write"),
        call("write"),
        "root is done",
        tools=desk.tools,
        human=Inbox(),
        permissions=PARENT,
    )
    async with open_supervisor() as supervisor:
        run = supervisor.start(root, asked)
        for answer in ("yes", "no"):
            await trio.testing.wait_all_tasks_blocked()
            (question,) = supervisor.questions()
            asked.answer_question(question.id, answer)
        assert await run.wait() == "root is done"
    assert desk.ran == ["write"]
    assert [entry.outcome for entry in results(asked)] == ["done", "denied"]
    assert_whole(asked)


@NOBODY_SPOKE
async def test_children_in_a_fan_and_in_a_plain_arun_have_the_same_rights(
    autojump_clock: trio.testing.MockClock,
) -> None:
    desk, asked = Desk(), state()
    child = child_of(desk, "child", permissions=[AllowByDefault()])

    async def both() -> str:
        await child.arun("one")
        await child.fan_out(["two", "three"])
        return "over"

    root = agent(
        call("both"),
        "root is done",
        tools=[both],
        permissions=[AllowByName("read", "both")],
    )
    await root.arun(asked)
    assert desk.ran == ["read"] * 3
    assert_whole(asked)


async def test_a_call_that_nobody_speaks_about_is_denied_and_warned(
    autojump_clock: trio.testing.MockClock,
) -> None:
    desk, asked = Desk(), state()
    root = agent(
        call("shell"), "went on", tools=desk.tools, permissions=[AllowByName("read")]
    )
    with pytest.warns(PermissionWarning, match="shell"):
        assert await root.arun(asked) == "went on"
    assert desk.ran == []
    assert_whole(asked)
