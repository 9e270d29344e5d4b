"""A chain with tokens."""

import pytest

from tests.integration.conftest import Chain
from tests.integration.explorer_app.token_chain import TokenChain


@pytest.fixture
def tokens(chain: Chain) -> TokenChain:
    """The local network's chain, without any token yet."""
    return TokenChain(chain)
