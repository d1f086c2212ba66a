"""A model and a human that follow a script, and the calls that a script is made of.

1. A script is followed in order; a request or a question that is cancelled before it
   was answered takes nothing from it.
2. A script that has run out raises, so that a test never goes on with a made-up answer.
"""

import inspect
import re
from collections import deque
from collections.abc import Iterable
from typing import Any

import trio

from actors.models import Item, Model, OnEvent, OnText, Request, reply_of
from actors.people import Human
from protocol import Question, Reply, ToolCall
from protocol._ids import new_id

_PIECES = re.compile(r"\s*\S+\s*|\s+")


def tool_call(name: str, /, **args: Any) -> ToolCall:
    """A call of the tool ``name``, with an id of its own, for a scripted reply."""
    return ToolCall(id=new_id(), name=name, args=args)


def _check_script(name: str, given: Any) -> None:
    """Refuse a single item in the place of a script: a text would go letter by letter.

    Raises:
        TypeError: it is one.
    """
    if isinstance(given, str | bytes | ToolCall | Reply):
        raise TypeError(f"{name} takes a list: write {name}([{given!r}])")


class FakeModel(Model):
    """A model that gives one scripted reply to each request, in order.

    A reply counts as one request that costs nothing, unless it is a `Reply` that says
    otherwise. Its text is shown word by word to whoever listens.

    Args:
        replies: What it answers: text, a call (`tool_call`), a list of texts and
            calls, a `Reply`, an exception, which is raised, or a plain or async
            callable of the request that returns one of these.
        name: What histories and usage call it.
    """

    def __init__(self, replies: Iterable[Item] = (), name: str = "fake/model") -> None:
        _check_script("FakeModel", replies)
        self.name = name
        self._script = tuple(replies)
        self.rewind()

    def rewind(self) -> None:
        """Begin the script again, as if nothing had been asked."""
        self._replies: deque[Item] = deque(self._script)
        self._requests: list[Request] = []

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request that was answered from the script, in order."""
        return tuple(self._requests)

    @property
    def remaining(self) -> int:
        """How many scripted replies are left."""
        return len(self._replies)

    async def arespond(
        self, request: Request, on_text: OnText | None, on_event: OnEvent
    ) -> Reply:
        """Give the next reply of the script.

        A cancel that is due is delivered before the reply is taken.

        Raises:
            LookupError: The script has run out.
            TypeError: What stands in the script is no reply.
            BaseException: What the script says to raise.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if not self._replies:
            raise LookupError(
                f"{self.name!r} has no reply left for request "
                f"{len(self._requests) + 1}: give FakeModel as many as will be asked"
            )
        item = self._replies.popleft()
        self._requests.append(request)
        reply = await reply_of(item, request, self.name)
        if on_text is not None:
            for piece in _PIECES.findall(reply.text):
                on_text(piece)
        return reply


class FakeHuman(Human):
    """A human who gives one scripted answer to each question, in order.

    Args:
        answers: What it answers: a value, an exception, which is raised, or a plain or
            async callable of the question that returns one of these.
    """

    def __init__(self, answers: Iterable[Any] = ()) -> None:
        _check_script("FakeHuman", answers)
        self._script = tuple(answers)
        self.rewind()

    def rewind(self) -> None:
        """Begin the script again, as if nothing had been asked."""
        self._answers: deque[Any] = deque(self._script)
        self._questions: list[Question] = []

    @property
    def questions(self) -> tuple[Question, ...]:
        """Every question that was answered from the script, in order."""
        return tuple(self._questions)

    @property
    def remaining(self) -> int:
        """How many scripted answers are left."""
        return len(self._answers)

    async def aask(self, question: Question) -> Any:
        """Give the next answer of the script; a cancel is delivered before that.

        Raises:
            LookupError: The script has run out.
            BaseException: What the script says to raise.
        """
        await trio.lowlevel.checkpoint()
        if not self._answers:
            raise LookupError(
                f"a FakeHuman has no answer left for {question.prompt!r}: give it as "
                f"many as will be asked"
            )
        answer = self._answers.popleft()
        self._questions.append(question)
        if callable(answer):
            answer = answer(question)
            if inspect.isawaitable(answer):
                answer = await answer
        if isinstance(answer, BaseException):
            raise answer
        return answer
