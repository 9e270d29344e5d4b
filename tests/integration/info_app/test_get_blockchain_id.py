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
def test_unknown_alias_is_refused(rpc: Rpc, alias: str) -> None:
    assert refusal(rpc, "info.getBlockchainID", alias=alias) == (
        f"there is no ID with alias: {alias}"
    )


def test_sdk_request_without_alias_gets_the_error(bare: AskBare) -> None:
    answer = bare("info.getBlockchainID")

    assert list(answer) == ["jsonrpc", "error", "id"]
    assert answer["error"] == {
        "code": -32000,
        "message": "there is no ID with alias: ",
        "data": None,
    }
