"""A server without TLS that all tests of a module share, and one raw connection for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.pg.raw import Raw, inside
from tests.server.pg.served import Served, serving

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as found:
        yield found


@pytest.fixture
def raw(served: Served) -> Iterator[Raw]:
    with inside(served) as found:
        yield found
