"""The first start and later ones: data written, data found again, and refused settings."""

from typing import Any

import pytest

from platform_app import models
from platform_app.apps import platform_chain, platform_runtime
from platform_app.blocks.block import parse_block
from platform_app.config import DAY
from platform_app.genesis.building import REFERENCE_STEP
from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from platform_app.selectors import accepted, stakers
from platform_app.selectors import subnets as chains
from platform_app.services.errors import GenesisMismatch, GenesisMismatchReason
from platform_app.services.genesis import load_genesis
from platform_app.store import blocks as first_rows
from platform_app.store.blocks import StoredNetwork
from platform_app.txs.base import TxStatus
from primitives.ids import AVM_ID, EVM_ID, PRIMARY_NETWORK_ID
from tests.builders import genesis, platform
from tests.builders.node_settings import updated
from tests.builders.reasons import raises
from tests.conformance.pchain_vectors import cases
from tests.integration.platform_app.conftest import EWOQ, PChain
from tests.integration.platform_app.services.conftest import C_CHAIN_GENESIS, Start

_ANY_SIGNER = platform.proof_of_possession()


@pytest.mark.parametrize("case", cases("genesis", config=...))
def test_network_of_avalanchego_starts_from_its_file(start: Start, case: dict[str, Any]) -> None:
    network = start(document=case["config"], network_id=case["networkID"], parameters="avalanchego")

    assert_begun(network, case)


@pytest.mark.parametrize("case", cases("genesis", config=..., networkID=12345))
def test_the_references_local_network_needs_no_file(start: Start, case: dict[str, Any]) -> None:
    network = start(now=case["startTime"] + DAY, parameters="avalanchego")

    assert_begun(network, case)


def assert_begun(network: StoredNetwork, case: dict[str, Any]) -> None:
    assert network.network_id == case["networkID"]
    assert network.unit == 10**9
    assert str(network.genesis_hash) == case["genesisID"]
    assert str(network.asset_id) == case["avaxAssetID"]
    assert str(network.x_chain_id) == case["xChainID"]
    assert str(network.c_chain_id) == case["cChainID"]
    block = accepted.block_at(platform_chain(), 0)
    assert block is not None
    assert block.raw.hex() == case["genesisBlockBytes"]
    assert str(platform_chain().tip().block_id) == case["genesisBlockID"]
    assert platform_chain().tip().timestamp == case["startTime"]
    assert (
        accepted.supply(platform_chain(), PRIMARY_NETWORK_ID) == case["currentSupplyAfterGenesis"]
    )
    shown = {
        str(validator.node_id): (
            str(validator.tx_id),
            validator.start,
            validator.end,
            validator.weight,
            validator.potential_reward,
        )
        for validator in stakers.current_validators(platform_chain()).validators
    }
    assert shown == {
        other["nodeID"]: (
            other["txID"], other["start"], other["end"], other["weight"], other["potentialReward"],
        )
        for other in case["validators"]
    }  # fmt: skip
    for item in case["validators"]:
        tx_id = platform.ID.parse(item["txID"])
        assert accepted.status(platform_chain(), tx_id).status is TxStatus.COMMITTED
    assert [blockchain.blockchain_id for blockchain in chains.blockchains(platform_chain())] == [
        network.c_chain_id,
        network.x_chain_id,
    ]


def test_the_references_local_network_moves_its_start_in_whole_steps(start: Start) -> None:
    first = start(now=1_721_016_000, parameters="avalanchego")
    models.Chain.objects.all().delete()
    for model in (models.Block, models.Tx, models.UTXOOwner, models.UTXO, models.StakeOutput,
                  models.ValidatorUptime, models.Staker, models.Blockchain, models.Supply):  # fmt: skip
        model._default_manager.all().delete()

    later = start(now=1_721_016_000 + 3 * REFERENCE_STEP + 5, parameters="avalanchego")

    assert platform_chain().tip().timestamp == 1_721_016_000 + 3 * REFERENCE_STEP
    assert later.genesis_hash != first.genesis_hash
    assert later.asset_id == first.asset_id


def test_own_network_starts_now_with_this_node(start: Start) -> None:
    network = start()

    assert (network.network_id, network.unit) == (12345, 10**6)
    assert platform_chain().tip().timestamp == platform.NOW
    (validator,) = stakers.current_validators(platform_chain()).validators
    assert validator.node_id == platform_chain().node_id
    assert validator.start == platform.NOW
    signer = platform_chain().proof_of_possession
    assert validator.public_key == signer.public_key
    assert validator.proof_of_possession == signer.proof_of_possession
    assert validator.rewards_owner == platform.owners(EWOQ)
    assert validator.shares == 20_000


def test_c_chain_genesis_is_in_its_creation_transaction(
    start: Start,
) -> None:
    network = start()

    found = accepted.tx(platform_chain(), network.c_chain_id)
    assert found is not None
    assert C_CHAIN_GENESIS.encode() in found.raw
    x_chain, c_chain = chains.blockchains(platform_chain())
    assert (x_chain.blockchain_id, x_chain.name, x_chain.vm_id) == (
        network.x_chain_id, "X-Chain", AVM_ID,
    )  # fmt: skip
    assert (c_chain.name, c_chain.vm_id, c_chain.subnet_id) == (
        "C-Chain", EVM_ID, PRIMARY_NETWORK_ID,
    )  # fmt: skip


@pytest.mark.parametrize("network_id", [1, 5, 777])
def test_own_network_can_have_any_network_id(start: Start, network_id: int) -> None:
    network = start(network_id=network_id)

    assert network.network_id == network_id
    assert len(stakers.current_validators(platform_chain()).validators) == 1


def test_the_first_block_is_the_references_kind(start: Start) -> None:
    network = start()

    row = accepted.block_at(platform_chain(), 0)
    assert row is not None
    block = parse_block(row.raw)
    assert block.parent_id == network.genesis_hash
    assert (block.height, block.time, block.txs) == (0, None, ())
    assert row.time == platform.NOW


def test_a_later_start_finds_the_network_again(start: Start) -> None:
    network = start()

    assert start(now=platform.NOW + 40 * DAY) == network
    assert models.Block.objects.count() == 1


def test_a_start_after_blocks_were_made_finds_it_too(pchain: PChain) -> None:
    pchain.do(pchain.make())

    assert (
        load_genesis(platform_chain(), platform_chain().proof_of_possession, C_CHAIN_GENESIS)
        == pchain.network
    )
    assert platform_chain().tip().height == 1


def test_equal_genesis_file_is_accepted_again(start: Start) -> None:
    network = start(document=genesis.document(), parameters="avalanchego")

    assert start(document=genesis.document(), now=platform.NOW + DAY) == network


def test_another_file_is_refused(start: Start) -> None:
    stored = start(document=genesis.document(), parameters="avalanchego").genesis_hash

    with raises(GenesisMismatchReason.OTHER_GENESIS, kind=GenesisMismatch) as refused:
        start(document=genesis.document(message="another one"))

    assert refused.value.values["stored"] == stored
    assert refused.value.values["wanted"] != stored
    assert str(refused.value) == (
        f"the P-Chain in the database began with genesis {stored}, not with "
        f"{refused.value.values['wanted']}: choose another NODE_DATA_DIR or another database"
    )
    assert models.Block.objects.count() == 1


def test_a_file_where_the_network_began_without_is_refused(start: Start) -> None:
    start(parameters="avalanchego")

    with raises(GenesisMismatchReason.OTHER_GENESIS, kind=GenesisMismatch):
        start(document=genesis.document())


def test_another_network_is_refused(start: Start) -> None:
    start()

    with raises(GenesisMismatchReason.DATABASE_OF_OTHER_NETWORK, kind=GenesisMismatch) as refused:
        start(network_id=777)

    assert (refused.value.values["stored"], refused.value.values["wanted"]) == (12345, 777)
    assert str(refused.value) == (
        "the database holds the P-Chain of network 12345, or one with other parameters, not "
        "network 777: choose another NODE_DATA_DIR or another database"
    )


def test_other_parameters_are_refused(start: Start) -> None:
    start()

    with raises(GenesisMismatchReason.DATABASE_OF_OTHER_NETWORK, kind=GenesisMismatch):
        start(parameters="avalanchego")


def test_a_file_of_another_network_is_refused(start: Start) -> None:
    with raises(GenesisMismatchReason.FILE_OF_OTHER_NETWORK, kind=GenesisMismatch) as refused:
        start(document=genesis.document(networkID=777))

    assert (refused.value.values["in_file"], refused.value.values["wanted"]) == (777, 12345)
    assert str(refused.value) == (
        "networkID 12345 specified but genesis config contains networkID 777: choose another "
        "NODE_PLATFORM_GENESIS or NODE_NETWORK_ID"
    )
    assert not models.Chain.objects.exists()


@pytest.mark.parametrize(
    ("document", "reason"),
    [("{", PlatformGenesisReason.MALFORMED_FIELD), ("{}", PlatformGenesisReason.MISSING_FIELD)],
)
def test_malformed_genesis_file_is_refused(
    start: Start, document: str, reason: PlatformGenesisReason
) -> None:
    with raises(reason, kind=GenesisError):
        start(document=document)

    assert not models.Chain.objects.exists()


def test_a_file_whose_coins_have_other_decimals_is_refused(start: Start) -> None:
    with raises(PlatformGenesisReason.OTHER_DENOMINATION, kind=GenesisError) as refused:
        start(document=genesis.document())

    assert str(refused.value) == (
        "coins of this genesis have 9 decimals, not 6: see NODE_PARAMETERS"
    )
    assert not models.Chain.objects.exists()


def test_a_file_with_more_than_there_may_ever_be_is_refused(start: Start) -> None:
    document = genesis.document()
    document["allocations"][0]["initialAmount"] = 720_000_000 * 10**9

    with raises(
        PlatformGenesisReason.SUPPLY_ABOVE_CAP,
        kind=GenesisError,
        match="is above the cap 720000000000000000",
    ):
        start(document=document, parameters="avalanchego")


def test_unreadable_genesis_file_is_reported(start: Start, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, platform_genesis="/nowhere/genesis.json")

    with raises(PlatformGenesisReason.UNREADABLE_FILE, kind=GenesisError) as refused:
        load_genesis(platform_chain(), _ANY_SIGNER, C_CHAIN_GENESIS)

    assert str(refused.value) == (
        "genesis file /nowhere/genesis.json cannot be read: No such file or directory"
    )


def test_a_file_with_more_than_the_binary_form_holds_is_refused(start: Start) -> None:
    with raises(
        PlatformGenesisReason.UNENCODABLE, kind=GenesisError, match=r"^genesis cannot be encoded: "
    ):
        start(document=genesis.document(message="m" * 65_536))

    assert not models.Chain.objects.exists()


def test_interrupted_start_is_repeated(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = first_rows.commit

    def fail(*arguments: Any) -> None:
        commit(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(first_rows, "commit", fail)
        with pytest.raises(KeyboardInterrupt):
            start()
    assert not models.Chain.objects.exists()
    assert not models.UTXO.objects.exists()
    node_id = platform_chain().node_id

    start(now=platform.NOW + 60)

    assert platform_chain().tip().timestamp == platform.NOW + 60
    assert [
        validator.node_id for validator in stakers.current_validators(platform_chain()).validators
    ] == [node_id]


def test_node_outside_the_genesis_builds_blocks(
    start: Start,
) -> None:
    start(now=1_721_016_000, parameters="avalanchego")
    assert platform_chain().node_id not in stakers.current_validators(platform_chain()).by_node

    block = platform_runtime().consensus.produce(now=1_721_016_000 + 366 * DAY)

    assert block is not None
    assert len(stakers.current_validators(platform_chain()).validators) == 4
