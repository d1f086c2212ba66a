"""After every test of this folder the guest is gone from its host's thread."""

from collections.abc import Iterator

import pytest
import trio


@pytest.fixture(autouse=True)
def guest_is_gone(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    assert not trio.lowlevel.in_trio_run()
