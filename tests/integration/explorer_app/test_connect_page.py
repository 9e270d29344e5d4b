"""The page on how to connect: the request's host, the chain's parameters for wallets, and public keys only."""

from typing import Any

import pytest
from django.test import Client

from cchain_app.accounts.keyring import MNEMONIC
from tests.builders.node_settings import updated
from tests.integration.conftest import Chain
from tests.integration.platform_app.conftest import PChain

OTHER = "legal winner thank year wave sausage worth useful legal winner thank yellow"


def connect_page(client: Client, host: str = "node.example:9650") -> str:
    return client.get("/connect", headers={"host": host}).content.decode()


@pytest.mark.parametrize("host", ["127.0.0.1:41895", "[::1]:8545", "node.example"])
def test_urls_have_the_host_and_port_of_the_request(
    pchain: PChain, chain: Chain, client: Client, host: str
) -> None:
    text = connect_page(client, host)

    assert f">http://{host}/ext/bc/C/rpc</code>" in text
    assert f">ws://{host}/</code>" in text
    assert (
        f'cast block-number --rpc-url <span data-scheme="http" data-path="">http://{host}</span>'
        in text
    )
    assert "127.0.0.1:9650" not in text


def test_the_parameters_for_a_wallet_are_listed(
    pchain: PChain, chain: Chain, client: Client
) -> None:
    text = connect_page(client)

    for value in ("Nunatak local", "43112", "AVAX", "http://node.example:9650"):
        assert f">{value}</code><button" in text
    assert "0xa868" in text
    assert 'data-chain-id="43112"' in text


def test_a_public_mnemonic_is_shown(pchain: PChain, chain: Chain, client: Client) -> None:
    text = connect_page(client)

    assert f">{MNEMONIC}</code>" in text
    assert ">m/44&#x27;/60&#x27;/0&#x27;/0/</code>" in text


def test_an_own_mnemonic_is_not_shown(
    pchain: PChain, chain: Chain, client: Client, settings: Any, node_settings: Any
) -> None:
    settings.NODE = updated(node_settings, mnemonic=OTHER, accounts=2)
    text = connect_page(client)

    assert "legal winner" not in text
    assert "Mnemonic" not in text
    assert text.count("derived from NODE_MNEMONIC") == 2
