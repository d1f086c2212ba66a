"""Where media and sources are: references that blocks point with."""

from typing import Literal, TypeVar

import msgspec

_SHOWN_CHARACTERS_MAX = 40
"""Base64 longer than this is no help in a repr; file signatures end before it."""


class MediaRef(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    gc=False,
):
    """Where the bytes of a medium are: at a URL, with a provider, or in here."""

    kind: Literal["url", "file_id", "data"] = "url"
    """Which of ``url``, ``file_id`` and ``data_base64`` holds the place."""
    url: str | None = None
    """The address, for ``kind="url"``."""
    file_id: str | None = None
    """The provider's name of an uploaded file, for ``kind="file_id"``."""
    data_base64: str | None = None
    """The bytes themselves in base64, for ``kind="data"``."""
    mime_type: str | None = None
    """What the bytes are, such as ``image/png``."""
    size_bytes: int | None = None
    """Number of bytes, before base64."""
    sha256: str | None = None
    """SHA-256 of the bytes in hexadecimal."""
    filename: str | None = None
    """The name of the file, without its folder."""
    width: int | None = None
    """Width in pixels."""
    height: int | None = None
    """Height in pixels."""
    duration_ms: int | None = None
    """Playing time in milliseconds."""
    page: int | None = None
    """The page meant, counted from 1."""

    def __repr__(self) -> str:
        return msgspec.Struct.__repr__(shortened(self))


class AnnotationRef(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    gc=False,
):
    """A source that a text refers to."""

    url: str | None = None
    """Address of the source."""
    file_id: str | None = None
    """The provider's name of the source, when it is an uploaded file."""
    page: int | None = None
    """The page in the source, counted from 1."""
    index: int | None = None
    """Number of the source among those given to the model, counted from 0."""
    title: str | None = None
    """Title of the source, for people."""


_StructT = TypeVar("_StructT", bound=msgspec.Struct)


def shortened(value: _StructT) -> _StructT:
    """Give a copy with its ``data_base64`` cut, for a repr that people can read."""
    data = getattr(value, "data_base64", None)
    if not isinstance(data, str) or len(data) <= _SHOWN_CHARACTERS_MAX:
        return value
    shown = f"{data[:_SHOWN_CHARACTERS_MAX]}... {len(data)} characters"
    return msgspec.structs.replace(value, data_base64=shown)
