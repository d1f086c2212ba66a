import msgspec
import pytest

from protocol import AnnotationRef, MediaRef


def test_a_reference_says_only_what_it_knows() -> None:
    ref = MediaRef(kind="file_id", file_id="file-1")
    assert msgspec.json.encode(ref) == b'{"kind":"file_id","file_id":"file-1"}'
    assert repr(AnnotationRef(url="u", page=2)) == "AnnotationRef(url='u', page=2)"


def test_a_reference_is_a_value() -> None:
    ref = MediaRef(url="u")
    assert ref == MediaRef(url="u")
    assert hash(ref) == hash(MediaRef(url="u"))
    with pytest.raises(AttributeError):
        ref.url = "other"  # type: ignore[misc] # that is what is tested
    assert ref.url == "u"


def test_a_reference_of_an_unknown_kind_is_refused_by_the_wire() -> None:
    with pytest.raises(msgspec.ValidationError, match="kind"):
        msgspec.json.decode(b'{"kind":"ftp"}', type=MediaRef)
