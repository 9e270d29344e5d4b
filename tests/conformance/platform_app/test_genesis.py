"""Genesis: bytes, IDs and supply of the reference implementation's networks."""

from dataclasses import replace
from typing import Any

import pytest

from platform_app.blocks.block import genesis_block_of
from platform_app.config import reference_config
from platform_app.executor.rewards import potential_reward
from platform_app.genesis.building import build_genesis
from platform_app.genesis.config import parse_genesis_config
from platform_app.genesis.genesis import (
    Genesis,
    build_x_chain_genesis,
    initial_stakers,
    parse_genesis,
)
from platform_app.txs.staking import AddPermissionlessValidatorTx
from primitives.ids import ID
from tests.conformance.pchain_vectors import cases


def genesis_of(case: dict[str, Any]) -> Genesis:
    return parse_genesis(build_genesis(parse_genesis_config(case["config"])))


@pytest.mark.parametrize("case", cases("genesis", config=...))
def test_a_configuration_becomes_the_references_bytes(case: dict[str, Any]) -> None:
    raw = build_genesis(parse_genesis_config(case["config"]))

    assert raw.hex() == case["genesisBytes"]
    assert len(raw) == case["genesisLength"]


@pytest.mark.parametrize("case", cases("genesis", config=...))
def test_genesis_bytes_have_the_configured_content(case: dict[str, Any]) -> None:
    genesis = parse_genesis(bytes.fromhex(case["genesisBytes"]))

    assert str(genesis.genesis_id) == case["genesisID"]
    assert genesis.genesis_id.hex() == case["genesisHash"]
    assert genesis.block.raw.hex() == case["genesisBlockBytes"]
    assert str(genesis.block.block_id) == case["genesisBlockID"]
    assert str(genesis.asset_id) == case["avaxAssetID"]
    assert str(genesis.x_chain_id) == case["xChainID"]
    assert str(genesis.c_chain_id) == case["cChainID"]
    assert genesis.timestamp == case["startTime"]
    assert genesis.initial_supply == case["initialSupply"]
    assert genesis.message == case["config"]["message"]


@pytest.mark.parametrize("case", cases("genesis", config=...))
def test_validators_and_chains_are_transactions(case: dict[str, Any]) -> None:
    genesis = genesis_of(case)

    assert [tx.raw.hex() for tx in genesis.validators] == case["validatorTxs"]
    assert [tx.raw.hex() for tx in genesis.chains] == [case["xChainTx"], case["cChainTx"]]


@pytest.mark.parametrize("case", cases("genesis", config=...))
def test_staking_asset_is_that_of_the_x_chain_genesis(case: dict[str, Any]) -> None:
    genesis = genesis_of(case)

    assert (
        build_x_chain_genesis(parse_genesis_config(case["config"])).hex()
        == (case["avmGenesisBytes"])
    )
    assert genesis.asset == (genesis.asset_id, "AVAX", "Avalanche", "AVAX", 9)


@pytest.mark.parametrize("case", cases("genesis", config=...))
def test_the_first_validators_are_current_with_their_rewards(case: dict[str, Any]) -> None:
    genesis = genesis_of(case)

    stakers, supply = initial_stakers(genesis, reference_config(case["networkID"]))

    assert supply == case["currentSupplyAfterGenesis"]
    assert [
        {
            "txID": str(staker.tx_id),
            "nodeID": str(staker.node_id),
            "start": staker.start,
            "end": staker.end,
            "weight": staker.weight,
            "potentialReward": staker.potential_reward,
        }
        for staker in stakers
    ] == [
        {name: shown for name, shown in validator.items() if name not in {"shares", "type"}}
        for validator in case["validators"]
    ]
    for tx, validator in zip(genesis.validators, case["validators"], strict=True):
        assert isinstance(tx.unsigned, AddPermissionlessValidatorTx)
        assert tx.unsigned.shares == validator["shares"]


@pytest.mark.parametrize("case", cases("genesis", config=...))
def test_a_later_start_changes_the_genesis_but_neither_asset_nor_chains(
    case: dict[str, Any],
) -> None:
    config = parse_genesis_config(case["config"])
    later = parse_genesis(build_genesis(replace(config, start_time=config.start_time + 1)))

    assert str(later.genesis_id) != case["genesisID"]
    assert str(later.asset_id) == case["avaxAssetID"]
    assert str(later.x_chain_id) == case["xChainID"]
    assert str(later.c_chain_id) == case["cChainID"]


@pytest.mark.parametrize("case", cases("genesis"))
def test_parent_of_the_genesis_block_is_the_hash_of_the_bytes(case: dict[str, Any]) -> None:
    block = genesis_block_of(ID.parse(case["genesisID"]))

    assert block.parent_id.hex() == case["genesisHash"]
    assert block.raw.hex() == case["genesisBlockBytes"]
    assert str(block.block_id) == case["genesisBlockID"]


@pytest.mark.parametrize("case", cases("genesis"))
def test_rewards_of_the_first_validators_follow_each_other(case: dict[str, Any]) -> None:
    config, supply = reference_config(case["networkID"]).rewards, case["initialSupply"]

    for validator in case["validators"]:
        reward = potential_reward(
            config,
            supply=supply,
            amount=validator["weight"],
            duration=validator["end"] - validator["start"],
        )
        assert reward == validator["potentialReward"]
        supply += reward
