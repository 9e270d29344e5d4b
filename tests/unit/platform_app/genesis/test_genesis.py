"""Conversion of a configuration to genesis bytes, and of those to the initial state."""

from dataclasses import replace
from typing import Any

import pytest

from platform_app.config import specification_config
from platform_app.genesis.building import build_genesis
from platform_app.genesis.config import (
    Allocation,
    GenesisConfig,
    InitialStaker,
    Unlock,
    parse_genesis_config,
)
from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from platform_app.genesis.genesis import (
    CreateAsset,
    Genesis,
    GenesisAsset,
    GenesisBody,
    XChainGenesis,
    asset_of,
    initial_stakers,
    parse_genesis,
)
from platform_app.state.stakers import Priority
from platform_app.txs.base import LockOut, SignedBody
from platform_app.txs.codec import GENESIS_CODEC
from platform_app.txs.staking import AddPermissionlessValidatorTx, AddValidatorTx
from platform_app.txs.subnets import CreateChainTx
from primitives.codec_errors import CodecError, CodecReason
from primitives.ids import AVM_ID, EMPTY_ID, EVM_ID, PRIMARY_NETWORK_ID, NodeID
from tests.builders.genesis import HOLDER, NODE_IDS, REWARDED, STAKED, YEAR, document
from tests.builders.platform import NOW, proof_of_possession
from tests.builders.reasons import raises
from utxo.components import UTXO, OutputOwners, TransferOutput

CONFIG = parse_genesis_config(document())
NETWORK = specification_config(12345)


def genesis_of(config: GenesisConfig = CONFIG) -> Genesis:
    return parse_genesis(build_genesis(config))


def staked(genesis: Genesis) -> list[list[tuple[int, int]]]:
    """Return the locktime and amount of each part of each validator's stake."""
    return [
        [
            (output.output.locktime, output.output.output.amount)
            if isinstance(output.output, LockOut)
            else (0, output.output.amount)
            for output in tx.unsigned.stake
        ]
        for tx in genesis.validators
    ]


def staking(*amounts: int, validators: int, **changes: Any) -> GenesisConfig:
    """Return a network whose validators share these amounts."""
    stakers = tuple(
        InitialStaker(NodeID(bytes([number]) * 20), REWARDED, 0)
        for number in range(1, validators + 1)
    )
    config = GenesisConfig(
        network_id=1,
        start_time=NOW,
        allocations=(Allocation(STAKED, 0, tuple(Unlock(amount) for amount in amounts)),),
        staked_funds=(STAKED,),
        stakers=stakers,
        stake_duration=YEAR,
        stake_duration_offset=60,
    )
    return replace(config, **changes)


def test_funds_that_are_not_staked_are_outputs_in_order() -> None:
    genesis = genesis_of()
    owner = OutputOwners(0, 1, (HOLDER,))

    assert genesis.utxos == tuple(
        UTXO(EMPTY_ID, index, genesis.asset_id, output)
        for index, output in enumerate(
            [
                TransferOutput(1_000, owner),
                LockOut(NOW + 5, TransferOutput(2_000, owner)),
                TransferOutput(3_000, owner),
            ]
        )
    )


def test_staked_funds_are_shared_and_the_last_validator_gets_the_rest() -> None:
    genesis = genesis_of()
    nodes = [tx.unsigned.validator.node_id for tx in genesis.validators]
    stakes = dict(zip(nodes, staked(genesis), strict=True))

    assert stakes == {
        NODE_IDS[0]: [(NOW + 9, 2_000)],
        NODE_IDS[1]: [(NOW + 9, 2_001)],
    }


def test_allocation_that_fills_a_share_is_not_split() -> None:
    genesis = genesis_of(staking(6, 2, 4, validators=2))
    of_node = {
        tx.unsigned.validator.node_id[0]: stake
        for tx, stake in zip(genesis.validators, staked(genesis), strict=True)
    }

    assert of_node == {1: [(0, 0), (0, 6)], 2: [(0, 2), (0, 4)]}


def test_genesis_validators_stake_for_a_year_and_end_at_different_times() -> None:
    ends = {
        tx.unsigned.validator.node_id: tx.unsigned.validator.end for tx in genesis_of().validators
    }

    assert ends == {NODE_IDS[0]: NOW + YEAR, NODE_IDS[1]: NOW + YEAR - 5_400}


def test_genesis_validators_are_in_heap_order_of_end_times() -> None:
    genesis = genesis_of(staking(60, validators=6))

    assert [tx.unsigned.validator.node_id[0] for tx in genesis.validators] == [6, 4, 5, 1, 3, 2]


def test_validators_that_end_together_keep_their_order() -> None:
    genesis = genesis_of(staking(60, validators=6, stake_duration_offset=0))

    assert [tx.unsigned.validator.node_id[0] for tx in genesis.validators] == [1, 2, 3, 4, 5, 6]


def test_genesis_validators_with_bls_key_are_permissionless() -> None:
    with_key = InitialStaker(NODE_IDS[0], REWARDED, 5, proof_of_possession())
    without = InitialStaker(NODE_IDS[1], REWARDED, 6)
    genesis = genesis_of(staking(10, validators=2, stakers=(with_key, without)))
    by_node = {tx.unsigned.validator.node_id: tx.unsigned for tx in genesis.validators}

    permissionless, plain = by_node[NODE_IDS[0]], by_node[NODE_IDS[1]]
    assert isinstance(permissionless, AddPermissionlessValidatorTx)
    assert permissionless.signer == proof_of_possession()
    assert permissionless.validation_rewards_owner == permissionless.delegation_rewards_owner
    assert isinstance(plain, AddValidatorTx)
    assert plain.shares == 6
    keys = {
        staker.node_id: staker.public_key for staker in initial_stakers(genesis, NETWORK).stakers
    }
    assert keys == {NODE_IDS[0]: proof_of_possession().public_key, NODE_IDS[1]: None}


def test_the_first_validators_are_current_and_their_rewards_are_minted() -> None:
    genesis = genesis_of()

    stakers, supply = initial_stakers(genesis, NETWORK)

    assert {staker.priority for staker in stakers} == {Priority.PRIMARY_VALIDATOR_CURRENT}
    assert {staker.subnet_id for staker in stakers} == {PRIMARY_NETWORK_ID}
    assert [staker.tx_id for staker in stakers] == [tx.tx_id for tx in genesis.validators]
    assert all(staker.potential_reward > 0 for staker in stakers)
    assert supply == genesis.initial_supply + sum(staker.potential_reward for staker in stakers)


def test_genesis_without_validators() -> None:
    config = replace(CONFIG, stakers=(), staked_funds=())

    genesis = genesis_of(config)

    assert genesis.validators == ()
    assert initial_stakers(genesis, NETWORK) == ((), config.initial_supply)
    assert len(genesis.utxos) == 4


def test_chains_are_those_of_the_primary_network() -> None:
    genesis = genesis_of()
    x_chain, c_chain = (tx.unsigned for tx in genesis.chains)

    assert isinstance(x_chain, CreateChainTx)
    assert isinstance(c_chain, CreateChainTx)
    assert (x_chain.chain_name, x_chain.vm_id) == ("X-Chain", AVM_ID)
    assert (c_chain.chain_name, c_chain.vm_id) == ("C-Chain", EVM_ID)
    assert c_chain.genesis_data == b'{"config":{}}'
    assert [tx.tx_id for tx in genesis.chains] == [genesis.x_chain_id, genesis.c_chain_id]


def test_the_asset_has_the_denomination_of_the_file() -> None:
    genesis = genesis_of(replace(CONFIG, denomination=6))

    assert genesis.asset.denomination == 6
    assert genesis.asset_id != genesis_of().asset_id


def test_genesis_without_x_chain_holders() -> None:
    nothing = tuple(replace(part, x_chain_amount=0) for part in CONFIG.allocations)

    genesis = genesis_of(replace(CONFIG, allocations=nothing))

    x_chain = genesis.chains[0].unsigned
    assert isinstance(x_chain, CreateChainTx)
    (created,) = GENESIS_CODEC.unmarshal(XChainGenesis, x_chain.genesis_data).assets
    assert created.asset.states == ()
    assert created.asset.memo == b""


def test_time_supply_and_message_round_trip() -> None:
    genesis = genesis_of()

    assert (genesis.timestamp, genesis.initial_supply) == (NOW, CONFIG.initial_supply)
    assert genesis.message == "begin"
    assert genesis.block.parent_id == genesis.genesis_id


def test_a_configuration_that_does_not_fit_together_has_no_bytes() -> None:
    with raises(PlatformGenesisReason.NO_ALLOCATION_TO_STAKE, kind=GenesisError):
        build_genesis(replace(CONFIG, staked_funds=(REWARDED,)))


def test_malformed_genesis_is_refused() -> None:
    raw = build_genesis(CONFIG)

    for size in range(0, len(raw), 7):
        with pytest.raises(CodecError):
            parse_genesis(raw[:size])
    with raises(CodecReason.TRAILING_BYTES, kind=CodecError):
        parse_genesis(raw + b"\0")


@pytest.mark.parametrize(("kept", "missing"), [(0, "C-Chain"), (1, "X-Chain")])
def test_a_genesis_needs_both_chains(kept: int, missing: str) -> None:
    genesis = genesis_of()
    body = GENESIS_CODEC.unmarshal(GenesisBody, genesis.raw)
    one = GENESIS_CODEC.marshal(replace(body, chains=(body.chains[kept],)))

    with raises(
        PlatformGenesisReason.MISSING_CHAIN, kind=GenesisError, match=f"^genesis has no {missing}$"
    ):
        parse_genesis(one)


def test_an_x_chain_needs_an_asset() -> None:
    with raises(
        PlatformGenesisReason.MISSING_ASSET,
        kind=GenesisError,
        match=r"^genesis of the X-Chain has no asset$",
    ):
        asset_of(GENESIS_CODEC.marshal(XChainGenesis(())))


def test_the_first_asset_is_the_staking_asset() -> None:
    first, second = (
        GenesisAsset(alias, CreateAsset(1, EMPTY_ID, (), (), b"", alias, alias, 0, ()))
        for alias in ("A", "B")
    )

    found = asset_of(GENESIS_CODEC.marshal(XChainGenesis((first, second))))

    assert found.alias == "A"
    assert found.asset_id == asset_of(GENESIS_CODEC.marshal(XChainGenesis((first,)))).asset_id


def test_validators_of_genesis_have_no_signatures() -> None:
    body = GENESIS_CODEC.unmarshal(GenesisBody, build_genesis(CONFIG))

    assert all(isinstance(part, SignedBody) and not part.credentials for part in body.validators)
