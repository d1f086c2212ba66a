"""Public names say their public path, and still find what they were made of."""

from typing import get_type_hints

import msgspec
import pytest

import protocol
from protocol._publish import publish

STRUCTS = [
    value
    for name in protocol.__all__
    if isinstance(value := getattr(protocol, name), type)
    and issubclass(value, msgspec.Struct)
]


def test_a_value_is_of_the_package_that_exports_it_first() -> None:
    namespace = {"__name__": "other", "__all__": ["Usage"], "Usage": protocol.Usage}
    publish(namespace)
    assert protocol.Usage.__module__ == "protocol"


@pytest.mark.parametrize("struct", STRUCTS)
def test_the_fields_of_a_struct_are_known_under_its_public_path(
    struct: type[msgspec.Struct],
) -> None:
    assert struct.__module__ == "protocol"
    assert get_type_hints(struct).keys() >= set(struct.__struct_fields__)
    msgspec.json.Decoder(struct)


def test_what_is_no_class_or_function_is_left_alone() -> None:
    namespace = {"__name__": "other", "__all__": ["LIMIT"], "LIMIT": 5}
    publish(namespace)
    assert namespace["LIMIT"] == 5
