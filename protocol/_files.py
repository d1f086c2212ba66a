"""Blocks made from bytes and from files: the one place here that reads a file."""

import base64
import binascii
from mimetypes import MimeTypes
from os import PathLike
from pathlib import Path
from typing import cast

from ._content import AudioBlock, ContentBlock, DocumentBlock, ImageBlock, VideoBlock
from ._media import MediaRef

# Only the table of the standard library: the same name means the same everywhere,
# whatever the machine's own tables say.
_MIME_TYPES = MimeTypes()

_UNKNOWN = "application/octet-stream"


def Image(  # noqa: N802 - named like the block class that it makes
    source: bytes | bytearray | memoryview | str | PathLike[str],
    *,
    alt_text: str | None = None,
) -> ImageBlock:
    """Make an image block that carries its bytes.

    The kind is found by the first bytes: PNG, JPEG, GIF or WebP, which every model
    with eyes reads. Text is base64 when it decodes to such an image, else a path.

    Args:
        source: The bytes, the path of a file, or base64 text.
        alt_text: What it shows, in words.

    Raises:
        TypeError: ``source`` is something else.
        ValueError: The bytes are of no such kind, or it is an address.
        OSError: The file cannot be read.
    """
    data, filename = _bytes_of(source)
    mime_type = sniff_image(data)
    if mime_type is None:
        what = f"file {filename!r}" if filename else "data"
        raise ValueError(
            f"image {what} is no PNG, JPEG, GIF or WebP, it starts with "
            f"{data[:12]!r}: convert it first"
        )
    return ImageBlock(media=_data_ref(data, mime_type, filename), alt_text=alt_text)


def sniff_image(data: bytes) -> str | None:
    """Give the mime type of a PNG, JPEG, GIF or WebP image by its first bytes."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def file_block(path: str | PathLike[str], mime_type: str | None) -> ContentBlock:
    """Read a file into an image, audio, video or document block.

    Without ``mime_type`` the first bytes tell images, and the name tells the rest; a
    file that neither tells is a document of type ``application/octet-stream``.

    Raises:
        OSError: The file cannot be read.
    """
    file = Path(path)
    data = file.read_bytes()
    mime = mime_type or sniff_image(data) or _MIME_TYPES.guess_type(file.name)[0]
    media = _data_ref(data, mime or _UNKNOWN, file.name)
    match (mime or _UNKNOWN).partition("/")[0]:
        case "image":
            return ImageBlock(media=media)
        case "audio":
            return AudioBlock(media=media)
        case "video":
            return VideoBlock(media=media)
        case _:
            return DocumentBlock(media=media)


def _data_ref(data: bytes, mime_type: str, filename: str | None) -> MediaRef:
    return MediaRef(
        kind="data",
        data_base64=base64.b64encode(data).decode("ascii"),
        mime_type=mime_type,
        size_bytes=len(data),
        filename=filename,
    )


def _bytes_of(source: object) -> tuple[bytes, str | None]:
    """Give the bytes and, when they come from a file, its name."""
    if isinstance(source, str):
        return _bytes_of_text(source)
    if isinstance(source, bytes | bytearray):
        return bytes(source), None
    if isinstance(source, memoryview):
        return cast("memoryview[int]", source).tobytes(), None
    if isinstance(source, PathLike):
        path = Path(cast("PathLike[str]", source))
        return path.read_bytes(), path.name
    raise TypeError(
        f"an image is made from bytes, a path or base64 text, got {source!r}"
    )


def _bytes_of_text(source: str) -> tuple[bytes, str | None]:
    if source.startswith(("http://", "https://")):
        raise ValueError(
            f"an image is made from what is here, not from the address {source!r:.80}: "
            f"read it first, or write ImageBlock(media=MediaRef(url=...))"
        )
    decoded = _decoded(source)
    if decoded is not None and sniff_image(decoded):
        return decoded, None
    path = Path(source)
    try:
        return path.read_bytes(), path.name
    except OSError:
        # A name such as "images/photo" is base64 too, so the file had to be tried.
        if decoded is None:
            raise
        return decoded, None


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
