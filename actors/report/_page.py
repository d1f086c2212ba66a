"""A page as one file: markup, style, data and the script that draws it.

1. The file is whole in itself: nothing is loaded from anywhere, now or later.
2. What stands in the data is data: it is never read as markup, here or in the page.
3. What is large is packed in chunks that the page unpacks when one is asked for.
"""

import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

encode = msgspec.json.Encoder().encode
"""Data as the script reads it."""


def packed(part: Any) -> bytes:
    """A chunk of a page."""
    return b64encode(zlib.compress(encode(part), 6))


def write_page(
    path: Path, kind: str, title: str, data: bytes, chunks: Iterable[bytes]
) -> None:
    """Write a page; a file that is there is replaced whole.

    Args:
        path: The file.
        kind: Which page: there is markup, style and a script of this name.
        title: What it is called.
        data: What its script begins with, as JSON.
        chunks: What it unpacks later.

    Raises:
        OSError: the file cannot be written; what was there before still is.
    """
    beside = path.with_name(f".{path.name}.new")
    with beside.open("wb") as file:
        file.writelines(_page(kind, title, data, chunks))
    beside.replace(path)


def _page(
    kind: str, title: str, data: bytes, chunks: Iterable[bytes]
) -> Iterator[bytes]:
    before, after = _part(f"{kind}.html").split("<!-- data -->")
    safe = title.replace("&", "&amp;").replace("<", "&lt;")
    style = _part("base.css") + _part(f"{kind}.css")
    yield before.replace("<!-- title -->", safe).replace("/* style */", style).encode()
    yield b'<script type="application/json" id="data">'
    yield data.replace(b"<", b"\\u003c")  # no text can end the element
    yield b"</script>\n"
    for number, chunk in enumerate(chunks):
        yield f'<script type="text/plain" id="h{number}">'.encode()
        yield chunk
        yield b"</script>\n"
    script = _part("base.js") + _part(f"{kind}.js")
    yield after.replace("/* script */", script).encode()


def _part(name: str) -> str:
    return files("actors.report").joinpath(name).read_text("utf-8")
