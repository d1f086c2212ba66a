"""What a small tree of runs tells a reporter, without running anything."""

from actors._events import (
    ChildEnd,
    ChildStart,
    ContextChanged,
    Event,
    ModelHappened,
    RunEnd,
    RunStart,
    TextDelta,
    ThinkEnd,
    ThinkStart,
    ToolEnd,
    ToolStart,
)
from actors._state import State
from protocol import (
    ContextChange,
    Message,
    ModelEvent,
    Reply,
    TextBlock,
    ToolCallBlock,
    ToolError,
    ToolResultEntry,
    Usage,
)

_SPENT = Usage(input_tokens=1200, output_tokens=80, requests=1, cost=0.002)
_FAULT = ToolError("the disk\nis [red]full")


def story(name: str = "root") -> tuple[Event, ...]:
    """Every kind of event, in an order in which they may happen.

    A run is asked, retries, speaks, calls a tool that starts a subagent, which fails,
    and a tool that is denied; it is compacted and ends well.

    Args:
        name: The id of the root's State; ids of the others begin with it.
    """
    path = (name,)
    now = State(id=name, messages=[Message.user("Summarise [the] report ✓")]).snapshot()
    read = ToolCallBlock(id=f"{name}-call", name="read", args={"part": 1})
    write = ToolCallBlock(id=f"{name}-write", name="write", args={"text": "x" * 5000})
    waits = ModelEvent(kind="retry", message="429, again in 2 s")
    change = ContextChange(kind="compact", summary="All is read.", kept=2)
    return (
        RunStart(path=path, snapshot=now, agent="lead [1]"),
        ThinkStart(path=path, snapshot=now),
        ModelHappened(path=path, snapshot=now, event=waits),
        TextDelta(path=path, text="Let me\n"),
        TextDelta(path=path, text="look [bold]"),
        ThinkEnd(
            path=path, snapshot=now, reply=_reply("Let me\nlook [bold]", read, write)
        ),
        ToolStart(path=(*path, read.id), snapshot=now, call=read),
        *_story_of_a_child((*path, read.id, f"{name}-child"), read.id),
        ToolEnd(path=(*path, read.id), snapshot=now, result=_failed(name, read)),
        ToolEnd(path=(*path, write.id), snapshot=now, result=_denied(write)),
        ContextChanged(path=path, snapshot=now, change=change),
        ThinkStart(path=path, snapshot=now),
        ThinkEnd(path=path, snapshot=now, reply=_reply("Done.")),
        RunEnd(path=path, snapshot=now),
    )


def _story_of_a_child(path: tuple[str, ...], call_id: str) -> tuple[Event, ...]:
    now = State(messages=[Message.user("Read part 1")]).snapshot()
    child_id = path[-1]
    return (
        ChildStart(path=path, child_id=child_id, call_id=call_id),
        RunStart(path=path, snapshot=now, agent=None),
        ThinkStart(path=path, snapshot=now),
        RunEnd(path=path, snapshot=now, error=_FAULT),
        ChildEnd(path=path, child_id=child_id, outcome="error", usage=_SPENT),
    )


def _reply(text: str, *calls: ToolCallBlock) -> Reply:
    said = Message(role="assistant", content=[TextBlock(text=text), *calls])
    return Reply(message=said, usage=_SPENT)


def _failed(name: str, call: ToolCallBlock) -> ToolResultEntry:
    return ToolResultEntry(
        content=str(_FAULT),
        call=call,
        outcome="error",
        child_ids=(f"{name}-child",),
        usage=_SPENT,
    )


def _denied(call: ToolCallBlock) -> ToolResultEntry:
    said = (TextBlock(text="not allowed"),)
    return ToolResultEntry(content=said, call=call, outcome="denied")
