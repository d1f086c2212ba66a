import base64
from pathlib import Path
from typing import Any

import pytest

from protocol import (
    AudioBlock,
    DocumentBlock,
    Image,
    ImageBlock,
    MediaRef,
    Message,
    TextBlock,
    VideoBlock,
)

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 16
GIF = b"GIF89a" + b"\0" * 16
WEBP = b"RIFF\x10\0\0\0WEBPVP8 " + b"\0" * 8
IMAGES = [
    (PNG, "image/png"),
    (JPEG, "image/jpeg"),
    (GIF, "image/gif"),
    (b"GIF87a" + b"\0" * 16, "image/gif"),
    (WEBP, "image/webp"),
]


def bytes_of(media: MediaRef | None) -> bytes:
    assert media is not None
    assert media.kind == "data"
    return base64.b64decode(media.data_base64 or "")


@pytest.mark.parametrize(("data", "mime_type"), IMAGES)
def test_an_image_is_known_by_its_first_bytes(data: bytes, mime_type: str) -> None:
    image = Image(data, alt_text="a cat")
    assert image.media.mime_type == mime_type
    assert image.media.size_bytes == len(data)
    assert image.alt_text == "a cat"
    assert bytes_of(image.media) == data


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_an_image_is_made_from_any_kind_of_bytes(wrap: Any) -> None:
    assert Image(wrap(PNG)) == Image(PNG)


def test_an_image_is_made_from_base64_text() -> None:
    assert Image(base64.b64encode(JPEG).decode()) == Image(JPEG)


def test_an_image_is_made_from_a_path_whatever_its_name_says(tmp_path: Path) -> None:
    file = tmp_path / "cat.txt"
    file.write_bytes(PNG)
    image = Image(file)
    assert image == Image(str(file))
    assert image.media.filename == "cat.txt"
    assert image.media.mime_type == "image/png"


def test_a_name_that_is_base64_too_is_read_as_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cats").write_bytes(PNG)
    monkeypatch.chdir(tmp_path)
    assert Image("cats").media.filename == "cats"


@pytest.mark.parametrize("data", [b"%PDF-1.7", b"", b"RIFF\x10\0\0\0WAVE", b"BM1234"])
def test_bytes_of_another_kind_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no PNG, JPEG, GIF or WebP"):
        Image(data)


def test_a_file_of_another_kind_is_refused_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "report.pdf"
    file.write_bytes(b"%PDF-1.7")
    with pytest.raises(ValueError, match=r"image file 'report\.pdf' is no PNG"):
        Image(file)


def test_base64_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="no PNG, JPEG, GIF or WebP"):
        Image(base64.b64encode(b"hello " * 1000).decode())


def test_a_missing_file_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-file"):
        Image("no-such-file.png")


def test_an_image_is_not_made_from_an_address() -> None:
    with pytest.raises(ValueError, match=r"MediaRef\(url=\.\.\.\)"):
        Image("https://example.com/a.png")


def test_an_image_is_not_made_from_anything_else() -> None:
    wrong: Any = 5
    with pytest.raises(TypeError, match="bytes, a path or base64 text, got 5"):
        Image(wrong)


@pytest.mark.parametrize(
    ("name", "kind", "mime_type"),
    [
        ("a.png", ImageBlock, "image/png"),
        ("a.mp3", AudioBlock, "audio/mpeg"),
        ("a.mp4", VideoBlock, "video/mp4"),
        ("a.pdf", DocumentBlock, "application/pdf"),
        ("a.unknown-kind", DocumentBlock, "application/octet-stream"),
    ],
)
def test_a_file_becomes_a_block_of_the_kind_that_its_name_says(
    tmp_path: Path, name: str, kind: type, mime_type: str
) -> None:
    file = tmp_path / name
    file.write_bytes(b"content")
    (block,) = Message.from_file(file).content
    assert type(block) is kind
    assert isinstance(block, ImageBlock | AudioBlock | VideoBlock | DocumentBlock)
    assert block.media is not None
    assert block.media.mime_type == mime_type
    assert block.media.filename == name
    assert block.media.size_bytes == len(b"content")
    assert bytes_of(block.media) == b"content"


def test_the_first_bytes_of_an_image_count_more_than_its_name(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(JPEG)
    (block,) = Message.from_file(file).content
    assert isinstance(block, ImageBlock)
    assert block.media.mime_type == "image/jpeg"


def test_a_mime_type_that_is_given_counts_most(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(PNG)
    message = Message.from_file(
        str(file), "audio/wav", text="listen", role="assistant", message_id=7
    )
    text, block = message.content
    assert text == TextBlock(text="listen")
    assert isinstance(block, AudioBlock)
    assert block.media.mime_type == "audio/wav"
    assert (message.role, message.message_id) == ("assistant", 7)


def test_a_message_of_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Message.from_file(tmp_path / "missing.png")
