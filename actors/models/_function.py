"""A rule in the place of a model."""

import trio

from protocol import Reply

from ._items import Item, reply_of
from ._model import Model, OnEvent, OnText, Request


class FunctionModel(Model):
    """A model that answers each request with what `fn(request)` says.

    `fn` is plain or async and returns text, a call, a list of texts and calls, or a
    Reply; an exception that it raises or returns is the failure of the request. A plain
    `fn` runs in the run's own thread, so it should be quick.

    Args:
        fn: The rule.
        name: What histories and usage call the model.

    Raises:
        TypeError: `fn` cannot be called.
    """

    def __init__(self, fn: Item, name: str = "function/rule") -> None:
        if not callable(fn):
            raise TypeError(
                f"a FunctionModel asks a callable of the request, got {fn!r};"
                " for a fixed answer write FunctionModel(lambda request: 'text')"
            )
        self.name = name
        self._fn = fn

    async def arespond(
        self, request: Request, on_text: OnText | None, on_event: OnEvent
    ) -> Reply:
        """Ask the rule; its text is shown in one piece.

        A cancel is delivered before the rule is asked.
        """
        await trio.lowlevel.checkpoint()
        reply = await reply_of(self._fn, request, self.name)
        if on_text is not None and reply.text:
            on_text(reply.text)
        return reply
