"""The body of a record: what one write brought, as bytes.

A body is a MessagePack array of two: a map of what changed in the info, and an array
of the entries. What changed is a few numbers, so it costs little to keep it with every
write, and the record of a State needs nothing beside its own log.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from protocol import StoreDamaged

Body: TypeAlias = tuple[dict[str, Any], list[bytes]]
"""What changed in the info, and the entries."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Body).decode
_MISSING = object()


def pack(
    entries: Sequence[bytes], info: Mapping[str, Any], before: Mapping[str, Any]
) -> bytes:
    """The body of a write that makes the info ``info`` where it was ``before``."""
    changed = {} if info is before else changes(info, before)
    return _encode((changed, entries))


def changes(info: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """What to put over ``before`` to get ``info``; keys are never taken out."""
    return {
        key: value for key, value in info.items() if before.get(key, _MISSING) != value
    }


def unpack(bodies: Iterable[bytes]) -> Body:
    """The info and all entries that these bodies, in order, add up to.

    Raises:
        StoreDamaged: a body is none that `pack` made.
    """
    info: dict[str, Any] = {}
    entries: list[bytes] = []
    for number, body in enumerate(bodies):
        try:
            changed, more = _decode(body)
        except (msgspec.DecodeError, RecursionError) as fault:
            raise StoreDamaged(f"record {number} cannot be read: {fault}") from fault
        if changed:
            info.update(changed)
        entries += more
    return info, entries
