"""info.getBlockchainID."""

import pytest

from tests.integration.info_app.conftest import AskBare
from tests.integration.platform_app.conftest import PChain, Rpc, refusal

pytestmark = pytest.mark.sqlite_only


def test_the_chains_of_the_primary_network(pchain: PChain, rpc: Rpc) -> None:
    ids = {
        "P": "11111111111111111111111111111111LpoYY",
        "X": str(pchain.network.x_chain_id),
        "C": str(pchain.network.c_chain_id),
    }

    for alias, blockchain_id in ids.items():
        assert rpc("info.getBlockchainID", alias=alias) == {"blockchainID": blockchain_id}
        # Every ID is an alias of itself.
        assert rpc("info.getBlockchainID", alias=blockchain_id) == {"blockchainID": blockchain_id}


@pytest.mark.parametrize("alias", ["Q", "P-Chain", "c"])
def test_an_alias_that_nobody_has(rpc: Rpc, alias: str) -> None:
    assert refusal(rpc, "info.getBlockchainID", alias=alias) == (
        f"there is no ID with alias {alias}"
    )


def test_an_sdk_that_asks_so_for_its_nodes_address_hears_the_error(bare: AskBare) -> None:
    answer = bare("info.getBlockchainID")

    assert list(answer) == ["jsonrpc", "error", "id"]
    assert answer["error"] == {
        "code": -32000,
        "message": "there is no ID with alias ",
        "data": None,
    }
