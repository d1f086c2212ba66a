"""A PostgreSQL database for the tests that need one."""

import os
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from protocol._ids import new_id


@pytest.fixture
def postgres() -> Iterator[str]:
    """The address of an empty place in the server, as it is for one test."""
    address = os.environ.get("CALLBOARD_TEST_POSTGRES")
    if address is None:
        if "CI" in os.environ:
            pytest.fail("CALLBOARD_TEST_POSTGRES is not set: .ci/run sets it")
        pytest.skip("CALLBOARD_TEST_POSTGRES names no server: see .ci/postgres")
    psycopg = pytest.importorskip("psycopg")
    schema = f"test_{new_id().replace('-', '_')}"
    with psycopg.connect(address, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {schema}")
        yield f"{address}?options={quote(f'-c search_path={schema}')}"
        db.execute(f"DROP SCHEMA {schema} CASCADE")
    db.close()
