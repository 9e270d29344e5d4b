"""platform.getBlockchains, getBlockchainStatus, validatedBy and validates."""

from typing import Any

import pytest

from platform_app.txs.base import Tx
from platform_app.txs.subnets import CreateChainTx, CreateSubnetTx
from primitives.ids import AVM_ID, EVM_ID, PRIMARY_NETWORK_ID
from tests.builders import platform
from tests.integration.platform_app.conftest import EWOQ, PChain, Rpc, refusal

P_CHAIN = str(PRIMARY_NETWORK_ID)


@pytest.fixture
def subnet(pchain: PChain) -> Tx:
    return pchain.do(pchain.make(CreateSubnetTx, owner=platform.owners(EWOQ)))


@pytest.fixture
def blockchain(pchain: PChain, subnet: Tx) -> Tx:
    return pchain.do(pchain.make(CreateChainTx, subnet_id=subnet.tx_id, chain_name="Own chain"))


def test_blockchains_of_subnets_are_listed_last(pchain: PChain, blockchain: Tx, rpc: Rpc) -> None:
    unsigned: Any = blockchain.unsigned
    assert rpc("platform.getBlockchains") == {
        "blockchains": [
            {
                "id": str(pchain.network.x_chain_id),
                "name": "X-Chain",
                "subnetID": P_CHAIN,
                "vmID": str(AVM_ID),
            },
            {
                "id": str(pchain.network.c_chain_id),
                "name": "C-Chain",
                "subnetID": P_CHAIN,
                "vmID": str(EVM_ID),
            },
            {
                "id": str(blockchain.tx_id),
                "name": "Own chain",
                "subnetID": str(unsigned.subnet_id),
                "vmID": str(EVM_ID),
            },
        ]
    }


def test_the_status_of_a_blockchain(pchain: PChain, blockchain: Tx, subnet: Tx, rpc: Rpc) -> None:
    def status(blockchain_id: object) -> str:
        return rpc("platform.getBlockchainStatus", blockchainID=str(blockchain_id))["status"]

    assert status("X") == status("evm") == status(pchain.network.c_chain_id) == "Validating"
    assert status("P") == status(P_CHAIN) == "Syncing"
    assert status(blockchain.tx_id) == "Created"
    assert status(subnet.tx_id) == status(platform.SUBNET_ID) == "Unknown"


def test_a_node_that_does_not_validate_is_syncing(pchain: PChain, rpc: Rpc, monkeypatch) -> None:
    from platform_app.api import chains

    for other in (None, platform.NODE_ID):
        monkeypatch.setattr(chains, "own_node_id", lambda _chain, other=other: other)
        assert rpc("platform.getBlockchainStatus", blockchainID="C") == {"status": "Syncing"}


def test_a_status_of_nothing(rpc: Rpc) -> None:
    assert refusal(rpc, "platform.getBlockchainStatus") == "argument 'blockchainID' not given"
    assert refusal(rpc, "platform.getBlockchainStatus", blockchainID="0") == (
        "problem parsing blockchainID \"0\": base58 decoding error: invalid character '0'"
    )


def test_validated_by_returns_the_subnet(
    pchain: PChain, blockchain: Tx, subnet: Tx, rpc: Rpc
) -> None:
    def validated_by(blockchain_id: object) -> str:
        return rpc("platform.validatedBy", blockchainID=str(blockchain_id))["subnetID"]

    assert validated_by(blockchain.tx_id) == str(subnet.tx_id)
    assert validated_by(pchain.network.x_chain_id) == validated_by(P_CHAIN) == P_CHAIN
    unknown = platform.SUBNET_ID
    assert refusal(rpc, "platform.validatedBy", blockchainID=str(unknown)) == (
        f'problem retrieving blockchain "{unknown}": not found'
    )
    assert refusal(rpc, "platform.validatedBy", blockchainID=str(subnet.tx_id)) == (
        f'"{subnet.tx_id}" is not a blockchain'
    )


def test_validates_returns_the_blockchains_of_a_subnet(
    pchain: PChain, blockchain: Tx, subnet: Tx, rpc: Rpc
) -> None:
    network = pchain.network
    assert rpc("platform.validates", subnetID=str(subnet.tx_id)) == {
        "blockchainIDs": [str(blockchain.tx_id)]
    }
    assert rpc("platform.validates") == {
        "blockchainIDs": [str(network.x_chain_id), str(network.c_chain_id)]
    }
    unknown = platform.SUBNET_ID
    assert refusal(rpc, "platform.validates", subnetID=str(unknown)) == (
        f'problem retrieving subnet "{unknown}": not found'
    )
    assert refusal(rpc, "platform.validates", subnetID=str(blockchain.tx_id)) == (
        f'"{blockchain.tx_id}" is not a subnet'
    )
