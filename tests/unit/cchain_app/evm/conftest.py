"""Both implementations of the engines' port, for tests that each of them has to pass."""

import pytest

from cchain_app.evm.native import NativeEngine
from cchain_app.evm.reference import ReferenceEngine
from cchain_app.evm.tracing import TracingEngine


@pytest.fixture(params=[NativeEngine, ReferenceEngine], ids=["native", "reference"])
def engine(request: pytest.FixtureRequest) -> TracingEngine:
    """Each implementation of the port."""
    made: TracingEngine = request.param()
    return made
