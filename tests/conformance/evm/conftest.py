"""The native and the reference engine, for tests of their common behaviour."""

import pytest

from cchain_app.evm.select import select_engine
from cchain_app.evm.tracing import TracingEngine


@pytest.fixture(params=["native", "reference"], scope="module")
def engine(request: pytest.FixtureRequest) -> TracingEngine:
    """Each of the two engines in turn."""
    return select_engine(request.param)
