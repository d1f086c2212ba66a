"""`Reporter`: somebody who looks on."""

from inspect import iscoroutinefunction
from typing import Any

from actors._events import (
    ChildEnd,
    ChildStart,
    ContextChanged,
    ModelHappened,
    RunEnd,
    RunStart,
    TextDelta,
    ThinkEnd,
    ThinkStart,
    ToolEnd,
    ToolStart,
)


class Reporter:
    """Looks on while agents run: derive from it and override the hooks you want.

    Each hook is called with one frozen event. Events of one State come in commit order.
    The hooks of one reporter are called one after the other in a thread of their own,
    so they may block; but what waits for them is bounded. While a hook is slow, events
    are dropped and counted, so an end may come without its start, or never. What a hook
    raises is counted and logged, and disturbs no run.

    A reporter that several supervisors share is called from a thread for each of them.

    Raises:
        TypeError: when a class is derived whose hook is async.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, hook in vars(cls).items():
            if name.startswith("on_") and iscoroutinefunction(hook):
                raise TypeError(
                    f"{cls.__name__}.{name} is async, and nobody would await it: "
                    f"write `def {name}(self, event)`, it may block"
                )

    def on_run_start(self, event: RunStart) -> None:
        """Handle the start of a run."""

    def on_think_start(self, event: ThinkStart) -> None:
        """Handle a request that is about to be sent to the model."""

    def on_text(self, event: TextDelta) -> None:
        """Handle a little more text of a reply, while it comes."""

    def on_think_end(self, event: ThinkEnd) -> None:
        """Handle a recorded reply."""

    def on_tool_start(self, event: ToolStart) -> None:
        """Handle a call that begins to run."""

    def on_tool_end(self, event: ToolEnd) -> None:
        """Handle the result of a call."""

    def on_context_change(self, event: ContextChanged) -> None:
        """Handle messages that changed other than by one more."""

    def on_model_event(self, event: ModelHappened) -> None:
        """Handle what happened on the way to a reply, such as a retry."""

    def on_run_end(self, event: RunEnd) -> None:
        """Handle the end of a run."""

    def on_child_start(self, event: ChildStart) -> None:
        """Handle a subagent that joined the tree."""

    def on_child_end(self, event: ChildEnd) -> None:
        """Handle the end of a subagent."""
