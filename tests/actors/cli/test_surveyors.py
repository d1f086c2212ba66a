from pathlib import Path

import pytest

from actors import FunctionModel, Message, Request, State, ToolError
from actors.cli._rule import Finding
from actors.cli._surveyors import ERRAND, Folder, findings, lead_of
from actors.testing import tool_call


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "a.py").write_text("def f():\n    pass\n")
    (tmp_path / "b.py").write_text("def :\n")
    (tmp_path / "c.txt").write_text("text")
    return Folder(tmp_path)


async def test_the_lead_sends_one_surveyor_to_each_file_and_joins_what_they_say(
    folder: Folder,
) -> None:
    state = State(messages=[Message.user("Survey it")])
    lead = lead_of(folder, None, None)
    assert await lead.arun(state) == "2 files are surveyed."
    calls = [e for e in state.history if e.kind == "tool_result"]
    assert [e.call.name for e in calls] == ["list_files", "surveyor", "surveyor"]
    children = [state.child(child_id) for e in calls for child_id in e.child_ids]
    assert {child.parent_id for child in children} == {state.id}
    sent = sorted(child.messages[0].text() for child in children)
    assert sent == [ERRAND + "a.py", ERRAND + "b.py"]
    assert state.usage.requests == 3 + 2 * 2


async def test_findings_are_what_the_tools_said_and_faults_are_among_them(
    folder: Folder,
) -> None:
    state = State(messages=[Message.user("Survey it")])
    await lead_of(folder, None, None).arun(state)
    (first, good), (second, bad) = findings(state)
    assert (first, second) == ("a.py", "b.py")
    assert (good.functions, good.longest, good.fault) == (1, "f", None)
    assert bad.fault is not None
    assert bad.fault.startswith("not Python")


def _words(request: Request) -> object:
    """A model that reads one file and forgets to examine the other."""
    said = [m for m in request.messages if m.role == "assistant"]
    if request.system is not None and request.system.startswith("You lead"):
        names = ["a.py", "b.py"]
        send = [tool_call("surveyor", prompt=ERRAND + name) for name in names]
        return [[tool_call("list_files")], send, "Two files, one is broken."][len(said)]
    if request.messages[0].text().endswith("b.py"):
        return "I did not look."
    steps = [tool_call("read_file", file="a.py"), tool_call("examine", file="a.py")]
    return [*steps, "A function that does nothing."][len(said)]


async def test_a_model_may_read_and_what_it_does_not_examine_has_no_counts(
    folder: Folder,
) -> None:
    state = State(messages=[Message.user("Survey it")])
    model = FunctionModel(_words, name="function/words")
    assert await lead_of(folder, model, None).arun(state) == "Two files, one is broken."
    found = dict(findings(state))
    assert found["a.py"].functions == 1
    assert found["b.py"] == Finding(fault="not examined: I did not look.")


def test_tools_reach_no_file_but_those_that_were_listed(folder: Folder) -> None:
    for name in ("c.txt", "../a.py", "/etc/passwd"):
        with pytest.raises(ToolError, match="there is no file"):
            folder.read_file(name)
        with pytest.raises(ToolError, match="there is no file"):
            folder.examine(name)
    assert folder.read_file("a.py").startswith("def f")
