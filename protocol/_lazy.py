"""A long history that is read only as far as it is needed.

1. A `Rest` is what a value is between two turns, without its long parts. With it, and
   the few entries that came after, a conversation goes on at once.
2. The long parts (entries, messages) are made of their bytes when somebody first looks
   at them, all together, by the same fold as ever: what is read is never from a `Rest`.
3. A `Rest` is a shortcut and may be left out or refused at any time; the entries alone
   always do.
"""

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any, SupportsIndex, cast, overload
from zlib import crc32

import msgspec
from msgspec.structs import replace

from ._codec import decode_entry
from ._entries import (
    AgentInfo,
    ContextChangeEntry,
    HistoryEntry,
    MessageEntry,
    UnknownEntry,
)
from ._entry import NO_USAGE
from ._errors import StoreDamaged
from ._fold import fold, replay
from ._history import History
from ._json import FrozenDict, decode_hook, encode_hook
from ._log import NOTHING, TAKEN_OVER_MAX, Keys, Log, View
from ._message import Message
from ._stops import Stopped
from ._usage import Usage
from ._value import NO_FACTS, Facts, Results, Value

REST_VERSION = 2
"""Goes up with every change of the fold, so that no shortcut outlives its rules."""

REST_BYTES_MAX = 4_000
"""A longer rest, such as one with much extra data, is not worth its place: it would be
written again and again."""

FIRST_ENTRIES = 16
"""The first user message is looked for in so many entries."""

_KNOWN = (
    ("history", "size", "messages", "count", "results", "open", "held", "late",
     "turn", "usage", "reply_answer", "facts"),
    ("places", "cleared", "more", "changed", "anchors", "counted"),
    ("extra_data", "first_user", "finished", "finish_answer", "stopped", "parent",
     "ran", "questions", "answers", "children"),
)  # fmt: skip
_IS_KNOWN = tuple(kind.__struct_fields__ for kind in (Value, Results, Facts)) == _KNOWN
"""Whether a rest has all that values consist of; without that there are no rests."""


class Rest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value between two turns, without its long parts."""

    version: int
    size: int
    count: int
    turn: int
    usage: Usage = NO_USAGE
    reply_answer: str | None = None
    places: int = 0
    cleared: int = 0
    more: tuple[int, ...] = ()
    changed: int = 0
    anchors: int = 0
    counted: int = 0
    extra_data: FrozenDict[str, Any] = FrozenDict()
    stopped: Stopped | None = None
    parent: tuple[str, str | None] | None = None
    ran: tuple[int, AgentInfo] | None = None
    first_user: tuple[int, int] | None = None
    """The entry of the first user message, and its number in an import."""


_encode = msgspec.json.Encoder(enc_hook=encode_hook).encode
_decode = msgspec.json.Decoder(Rest, dec_hook=decode_hook).decode


def rest_of(value: Value, place: tuple[int, int] | None = None) -> str | None:
    """The rest of a value, as text; None when there is none, as in mid-turn.

    Args:
        value: The value.
        place: Where its first user message stands, when that is known: its entry, and
            its number in an import. It is looked for otherwise.
    """
    facts, results = value.facts, value.results
    if (
        value.open is not None
        or value.held.size
        or value.late.size
        or facts.finished
        or facts.finish_answer is not None
        or facts.questions
        or facts.answers
        or facts.children
        or not _IS_KNOWN
    ):
        return None
    if facts.first_user is None:
        place = None
    elif place is None and (place := place_of_first(value)) is None:
        return None
    rest = Rest(
        REST_VERSION, value.size, value.count, value.turn, value.usage,
        value.reply_answer, results.places.size, results.cleared,
        tuple(results.more), results.changed.size, results.anchors, results.counted,
        facts.extra_data, facts.stopped, facts.parent, facts.ran, place,
    )  # fmt: skip
    try:
        text = _encode(rest)
    except (TypeError, ValueError, OverflowError):
        return None
    if len(text) > REST_BYTES_MAX:
        return None
    # A store keeps it beside the entries, where no record's checksum covers it.
    return f"{crc32(text):08x} {text.decode()}"


def place_of_first(value: Value) -> tuple[int, int] | None:
    """Where the first user message stands, if that is near the beginning."""
    entries = value.history.read(min(value.size, FIRST_ENTRIES))
    for index, entry in enumerate(entries):
        for number, each in enumerate(_messages_in(entry)):
            if each is value.facts.first_user:
                return index, number
    return None


def rest_in(text: object) -> Rest | None:
    """The rest that a text holds; None when this version has no use for it."""
    if not isinstance(text, str):
        return None
    checksum, _, content = text.partition(" ")
    if checksum != f"{crc32(content.encode()):08x}":
        return None
    try:
        rest = _decode(content)
    except (msgspec.DecodeError, TypeError, ValueError):
        return None
    return rest if rest.version == REST_VERSION and _IS_KNOWN else None


def _messages_in(entry: object) -> tuple[Message, ...]:
    if isinstance(entry, MessageEntry):
        return (entry.message,)
    if isinstance(entry, ContextChangeEntry):
        return entry.content.messages
    return ()


def value_from_rest(rest: Rest, bodies: Sequence[bytes]) -> Value | None:
    """The value of these encoded entries, by way of the rest of a beginning of them.

    Costs the decoding of what came after the rest; what came before is decoded when it
    is first read, and raises StoreDamaged then when it cannot be.

    Returns:
        None when the rest does not fit, or what is behind it is of a newer version:
        replay instead.

    Raises:
        StoreDamaged: an entry behind the rest cannot be decoded.
        ValueError: it cannot follow, or is of an unknown kind.
    """
    if rest.size > len(bodies):
        return None
    first = None
    if rest.first_user is not None:
        index, number = rest.first_user
        first = _messages_in(decode_entry(bodies[index]))[number]
    value = _resting(rest, bodies[: rest.size], first)
    for body in bodies[rest.size :]:
        entry = decode_entry(body)
        if isinstance(entry, UnknownEntry):
            return None
        value = fold(value, entry)
    return value


def _resting(rest: Rest, bodies: Sequence[bytes], first: Message | None) -> Value:
    past = _Past(bodies)
    results = Results(
        places=past.view(rest.places, lambda value: value.results.places.read()),
        cleared=rest.cleared,
        more=frozenset(rest.more),
        changed=past.view(rest.changed, lambda value: value.results.changed.read()),
        anchors=rest.anchors,
        counted=rest.counted,
    )
    facts = replace(
        NO_FACTS,
        extra_data=rest.extra_data,
        first_user=first,
        stopped=rest.stopped,
        parent=rest.parent,
        ran=rest.ran,
    )
    return Value(
        past.history(rest.size),
        size=rest.size,
        messages=past.log(
            Log, rest.count, lambda value: value.messages.read(value.count)
        ),
        count=rest.count,
        results=results,
        turn=rest.turn,
        usage=rest.usage,
        reply_answer=rest.reply_answer,
        facts=facts,
    )


class _Past:
    """Entries that were not decoded yet, and the value they mean."""

    __slots__ = ("_bodies", "_lock", "_value")

    def __init__(self, bodies: Sequence[bytes]) -> None:
        self._bodies: Sequence[bytes] | None = bodies
        self._value: Value | None = None
        self._lock = Lock()

    def value(self) -> Value:
        """Decode and fold them, once."""
        with self._lock:
            if self._value is None:
                assert self._bodies is not None, "kept until they are decoded"
                self._value = _replayed(self._bodies)
                self._bodies = None
            return self._value

    def log(
        self,
        kind: type[Log[Any]],
        size: int,
        read: Callable[[Value], Sequence[Any]],
    ) -> Any:
        """A log on top of what ``read`` gives of the value, when it is needed."""
        if not size:
            return kind()
        sealed = kind(items=_LazyItems(size, lambda: read(self.value())))
        return sealed.branch(size)

    def view(self, size: int, read: Callable[[Value], Sequence[Any]]) -> View[Any]:
        """The same as a view."""
        return View(self.log(Log, size, read), size) if size else NOTHING

    def history(self, size: int) -> History:
        """The entries, with the ids that they brought."""
        log: History = self.log(
            History, size, lambda value: value.history.read(value.size)
        )
        below = Keys(None, 0)
        below._index_of = _LazyIndex(self)
        log._keys = Keys(below, size)
        return log


def _replayed(bodies: Sequence[bytes]) -> Value:
    # An entry of an unknown kind is refused by the fold, which names it.
    entries = cast("list[HistoryEntry]", [decode_entry(body) for body in bodies])
    try:
        return replay(entries)
    except ValueError as fault:
        raise StoreDamaged(
            f"the history is damaged: {fault}; salvage what stands before it"
        ) from fault


class _LazyItems(list[Any]):
    """A list of known length whose items are made when one is read."""

    __slots__ = ("_make", "_size")

    def __init__(self, size: int, make: Callable[[], Sequence[Any]]) -> None:
        super().__init__()
        self._size = size
        self._make: Callable[[], Sequence[Any]] | None = make

    def _fill(self) -> None:
        make = self._make
        if make is not None:
            items = make()
            if len(items) != self._size:
                raise StoreDamaged(
                    f"the shortcut says {self._size} items, and the entries make "
                    f"{len(items)}"
                )
            # One step, so that two threads that come at once leave the same.
            self[:] = items
            self._make = None

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        self._fill()
        return super().__iter__()

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        self._fill()
        return super().__getitem__(index)


class _LazyIndex(dict[Any, int]):
    """The ids of entries that were not decoded yet."""

    __slots__ = ("_past",)

    def __init__(self, past: _Past) -> None:
        super().__init__()
        self._past: _Past | None = past

    def __len__(self) -> int:
        """So many that nobody copies them."""
        return TAKEN_OVER_MAX + 1

    def get(self, key: Any, default: Any = None) -> Any:
        """Look it up, having decoded them: the only way that `Keys` reads this."""
        past = self._past
        if past is not None:
            value = past.value()
            keys = value.history._keys
            self.update({} if keys is None else keys._index_of)
            self._past = None
        return super().get(key, default)
