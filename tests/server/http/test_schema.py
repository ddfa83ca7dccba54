"""What the description says is what the server does, whatever is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

if TYPE_CHECKING:
    from tests.server.http.conftest import Web


@pytest.fixture(scope="module")
def api(web: Web) -> Any:
    """The server's own description."""
    return schemathesis.openapi.from_url(f"{web.url}/openapi.json")


@pytest.fixture(scope="module")
def bearer(web: Web) -> dict[str, str]:
    """A token that may do everything that its user may."""
    return {"Authorization": f"Bearer {web.token('clerk', 'admin')}"}


schema = schemathesis.pytest.from_fixture("api")


@schema.parametrize()
@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_as_described(case: Any, bearer: dict[str, str]):
    # No schema says what SQL is: a text may be wrong, or ask for what there is not.
    case.call_and_validate(headers=bearer, excluded_checks=[positive_data_acceptance])
