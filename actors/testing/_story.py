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


def story(name: str = "root") -> tuple[Event, ...]:
    """Every kind of event, in an order in which they may happen.

    A run is asked, retries, speaks, calls a tool that starts a subagent, which fails,
    and a tool that is denied; it is compacted and ends well.

    Args:
        name: The id of the root's State; ids of the others begin with it.
    """
    root = State(id=name, messages=[Message.user("Summarise [the] report ✓")])
    child = State(messages=[Message.user("Read part 1")])
    root_path, child_path = (name,), (name, f"{name}-call", f"{name}-child")
    read = ToolCallBlock(id=f"{name}-call", name="read", args={"part": 1})
    write = ToolCallBlock(id=f"{name}-write", name="write", args={"text": "x" * 5000})
    now, inside = root.snapshot(), child.snapshot()
    spoken = Message(
        role="assistant", content=[TextBlock(text="Let me\nlook [bold]"), read, write]
    )
    error = ToolError("the disk\nis [red]full")
    return (
        RunStart(path=root_path, snapshot=now, agent="lead [1]"),
        ThinkStart(path=root_path, snapshot=now),
        ModelHappened(
            path=root_path,
            snapshot=now,
            event=ModelEvent(kind="retry", message="429, again in 2 s"),
        ),
        TextDelta(path=root_path, text="Let me\n"),
        TextDelta(path=root_path, text="look [bold]"),
        ThinkEnd(
            path=root_path, snapshot=now, reply=Reply(message=spoken, usage=_SPENT)
        ),
        ToolStart(path=(*root_path, read.id), snapshot=now, call=read),
        ChildStart(path=root_path, child_id=child_path[-1], call_id=read.id),
        RunStart(path=child_path, snapshot=inside, agent=None),
        ThinkStart(path=child_path, snapshot=inside),
        RunEnd(path=child_path, snapshot=inside, error=error),
        ChildEnd(
            path=root_path, child_id=child_path[-1], outcome="error", usage=_SPENT
        ),
        ToolEnd(
            path=(*root_path, read.id),
            snapshot=now,
            result=ToolResultEntry(
                content=str(error),
                call=read,
                outcome="error",
                child_ids=(child_path[-1],),
                usage=_SPENT,
            ),
        ),
        ToolEnd(
            path=(*root_path, write.id),
            snapshot=now,
            result=ToolResultEntry(
                content=(TextBlock(text="not allowed"),), call=write, outcome="denied"
            ),
        ),
        ContextChanged(
            path=root_path,
            snapshot=now,
            change=ContextChange(kind="compact", summary="All is read.", kept=2),
        ),
        ThinkStart(path=root_path, snapshot=now),
        ThinkEnd(
            path=root_path,
            snapshot=now,
            reply=Reply(
                message=Message.text_message("Done.", role="assistant"), usage=_SPENT
            ),
        ),
        RunEnd(path=root_path, snapshot=now),
    )
