"""Both chains with some content, tokens, and a browser that records the database queries of each page."""

import pytest
from django.test import Client

from tests.integration.admin_pages import Browse, browser
from tests.integration.cchain_app.traced_chain import TracedChain, traced_chain
from tests.integration.conftest import Chain, chain, node_settings
from tests.integration.explorer_app.token_chain import TokenChain
from tests.integration.platform_app.conftest import PChain, pchain

__all__ = ["Chain", "PChain", "chain", "node_settings", "pchain"]


@pytest.fixture
def browse(client: Client) -> Browse:
    """Open pages without a login. Query plans of the P-Chain's single-row table are not checked."""
    return browser(client, r"(?:cchain|platform|explorer)_app(?!_chain\b)")


@pytest.fixture
def made(pchain: PChain, chain: Chain) -> TracedChain:
    """A C-Chain whose transactions call, create, revert and self-destruct; a P-Chain with its genesis."""
    return traced_chain(chain)


@pytest.fixture
def tokens(chain: Chain) -> TokenChain:
    """The local network's chain, without any token yet."""
    return TokenChain(chain)
