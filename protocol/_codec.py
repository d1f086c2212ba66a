"""Entries as bytes, for stores, and as JSON, for people and exports.

1. Bytes are one MessagePack map. Its `entry` names the kind and the version of its
   form: `message` is the first version, `message.2` the second. A change of a form,
   one field more included, is a new version of every kind that holds it.
2. What an older version wrote is brought up one version at a time. What a newer one
   wrote is kept byte for byte, as an `UnknownEntry`: the fold refuses it, not this.
3. What was encoded decodes to an equal entry. Bytes that changed may decode to
   another valid entry: finding that is the work of the records' checksums.

A version beside the entry instead of in its name would cost a fifth of the time it
takes to encode one, and would make old readers give up kinds that never changed.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from ._entries import ErrorEntry, HistoryEntry, ToolResultEntry, UnknownEntry
from ._errors import StoreDamaged
from ._json import decode_hook, encode_hook, pack_big_ints, unpack_extension

Fields: TypeAlias = dict[str, Any]
"""An entry as the wire has it: plain dicts, lists and scalars."""

Upcast: TypeAlias = Callable[[Fields], Fields]
"""Brings fields from one version to the next, the name under `entry` included.

It may change what it is given, and refuses what it cannot read with KeyError,
TypeError or ValueError. cattrs is welcome inside: old entries are read once."""

UPCASTS: dict[str, Upcast] = {}
"""By the name of an older form, what leads on from it. Forms are never taken out:
a store may hold an entry of any version that was released."""

_WITH_EXCEPTION = frozenset({ToolResultEntry, ErrorEntry})
_NULL = Exception("an exception lives in the process that raised it")

_TAG = "entry"
_RAW = "raw"
_NAMES = frozenset(kind.__struct_config__.tag for kind in get_args(HistoryEntry))
_NOT_READABLE = (
    msgspec.DecodeError,
    RecursionError,
    KeyError,
    TypeError,
    ValueError,
)

_encode = msgspec.msgpack.Encoder(enc_hook=encode_hook).encode
_decode = msgspec.msgpack.Decoder(
    HistoryEntry, dec_hook=decode_hook, ext_hook=unpack_extension
).decode
_decode_plain = msgspec.msgpack.Decoder(Fields, ext_hook=unpack_extension).decode
_encode_json = msgspec.json.Encoder(enc_hook=encode_hook).encode
_decode_json = msgspec.json.Decoder(HistoryEntry, dec_hook=decode_hook).decode
_decode_plain_json = msgspec.json.Decoder(Fields).decode


def encode_entry(entry: HistoryEntry | UnknownEntry) -> bytes:
    """The bytes that `decode_entry` reads as an equal entry.

    An exception object becomes null. Integers beyond 64 bits, which MessagePack
    lacks, become an extension, at several times the cost. An `UnknownEntry` gives
    the very bytes that it was decoded from.

    Raises:
        TypeError: something in the entry is not in its recorded form.
    """
    if type(entry) is UnknownEntry:
        return entry.raw
    entry = _without_exception(entry)
    try:
        return _encode(entry)
    except OverflowError:
        fields = msgspec.to_builtins(
            entry, builtin_types=(datetime,), enc_hook=encode_hook
        )
        return _encode(pack_big_ints(fields))


def _without_exception(entry: Any) -> Any:
    """The entry with an exception object that is written as null.

    Left to itself msgspec would write those that are attrs classes or dataclasses, as
    trio's Cancelled is, field by field, and nobody could read them back.
    """
    if type(entry) in _WITH_EXCEPTION and entry.error is not None:
        return replace(entry, error=_NULL)
    return entry


def decode_entry(data: bytes) -> HistoryEntry | UnknownEntry:
    """The entry that `encode_entry` made `data` of, in this or another version.

    Raises:
        StoreDamaged: `data` is no entry; the text has its kind, if it can be read,
            its length, what is wrong and the path to it.
    """
    try:
        return _decode(data)
    except _NOT_READABLE:
        pass
    try:
        fields = _decode_plain(data)
    except _NOT_READABLE as fault:
        raise _damaged(f"an entry of {len(data)} bytes", fault) from fault
    return _settle(fields, data)


def to_json(entry: HistoryEntry | UnknownEntry) -> str:
    """The entry as one line of JSON, its kind in front.

    An exception object becomes null; an `UnknownEntry` keeps its bytes in base64,
    under `raw`.

    Raises:
        TypeError: something in the entry is not in its recorded form.
    """
    if type(entry) is UnknownEntry:
        raw = b64encode(entry.raw).decode()
        return _encode_json({_TAG: entry.kind, _RAW: raw}).decode()
    return _encode_json(_without_exception(entry)).decode()


def from_json(text: str) -> HistoryEntry | UnknownEntry:
    """The entry that `to_json` made `text` of, in this or another version.

    Raises:
        StoreDamaged: as for `decode_entry`.
    """
    try:
        return _decode_json(text)
    except _NOT_READABLE:
        pass
    try:
        fields = _decode_plain_json(text)
        if _RAW in fields:
            return decode_entry(b64decode(fields[_RAW], validate=True))
        data = _encode(pack_big_ints(fields))
    except _NOT_READABLE as fault:
        raise _damaged(f"an entry of {len(text)} characters", fault) from fault
    return _settle(fields, data)


def _settle(fields: Fields, data: bytes) -> HistoryEntry | UnknownEntry:
    """Make the entry of `fields`, which are no valid entry as they are."""
    name = fields.get(_TAG)
    if type(name) is not str:
        raise _damaged(f"an entry of {len(data)} bytes", f"it has kind {name!r}")
    try:
        while (upcast := UPCASTS.get(fields[_TAG])) is not None:
            before, fields = fields[_TAG], upcast(fields)
            assert fields[_TAG] != before, f"the upcast of {before!r} leads nowhere"
        if fields[_TAG] not in _NAMES:
            return UnknownEntry(kind=name, raw=data)
        entry: HistoryEntry = msgspec.convert(
            fields, HistoryEntry, dec_hook=decode_hook
        )
        return entry
    except _NOT_READABLE as fault:
        raise _damaged(f"a {name!r} entry of {len(data)} bytes", fault) from fault


def _damaged(what: str, fault: object) -> StoreDamaged:
    return StoreDamaged(f"cannot decode {what}: {fault}; salvage what stands before it")
