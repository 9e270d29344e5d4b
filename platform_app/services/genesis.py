"""The first start: the genesis block and the state that it begins with."""

import os
from pathlib import Path

from django.conf import settings
from django.db import transaction

from chaindb import clock
from chaindb.locks import Lock, acquire
from platform_app import runtime
from platform_app.config import PlatformConfig
from platform_app.genesis.building import build_genesis
from platform_app.genesis.built_in import (
    own_network,
    read_genesis_config,
    reference_local_network,
)
from platform_app.genesis.config import GenesisConfig
from platform_app.genesis.errors import (
    OtherDenomination,
    SupplyAboveCap,
    UnencodableGenesis,
    UnreadableGenesisFile,
)
from platform_app.genesis.genesis import Genesis, initial_stakers, parse_genesis
from platform_app.services.errors import FileOfOtherNetwork, OtherGenesis, OtherNetwork
from platform_app.state.diff import Diff
from platform_app.store import chain
from platform_app.store import genesis as first_rows
from platform_app.store.chain import Network
from platform_app.store.state import DatabaseState
from platform_app.txs.components import ProofOfPossession
from platform_app.txs.status import TxStatus
from primitives.codec_errors import CodecError
from primitives.ids import PRIMARY_NETWORK_ID
from primitives.networks import LOCAL


@transaction.atomic(durable=True)
def load_genesis(signer: ProofOfPossession, c_chain_genesis: str) -> Network:
    """Write the genesis block and its state, unless they are there; return which network it is.

    A network without a genesis file of its own begins now, at its first start, with this node as its
    validator.

    Args:
        signer: This node's BLS key, with the proof that it has it.
        c_chain_genesis: The C-Chain's genesis file, kept in the transaction that creates that chain.

    Raises:
        OtherNetwork: The database holds another network.
        OtherGenesis: It was begun with another genesis file.
        FileOfOtherNetwork: The genesis file is another network's.
        GenesisError: The genesis file cannot be read or used.
    """
    acquire(Lock.PCHAIN)
    stored = chain.read()
    if stored is None:
        return _write(_built(_wanted(signer, c_chain_genesis)))
    _check(stored[0])
    return stored[0]


def _wanted(signer: ProofOfPossession, c_chain_genesis: str) -> GenesisConfig:
    """Return what the settings ask for: a file, the reference's network, or one of one's own."""
    node = settings.NODE
    if node.platform_genesis:
        return _read_file()
    if node.parameters == "avalanchego" and node.network_id == LOCAL:
        return reference_local_network(clock.now())
    return own_network(
        runtime.config(),
        runtime.node_id(),
        signer,
        start_time=clock.now(),
        c_chain_genesis=c_chain_genesis,
    )


def _read_file() -> GenesisConfig:
    """Read the genesis file that the settings name."""
    node = settings.NODE
    try:
        text = Path(node.platform_genesis).read_bytes()
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise UnreadableGenesisFile(node.platform_genesis, reason) from error
    config = read_genesis_config(text)
    if config.network_id != node.network_id:
        raise FileOfOtherNetwork(config.network_id, node.network_id)
    return config


def _built(config: GenesisConfig) -> Genesis:
    """Return what a network begins with, by way of its bytes."""
    try:
        return parse_genesis(build_genesis(config))
    except CodecError as error:
        raise UnencodableGenesis(str(error)) from error


def _check(stored: Network) -> None:
    """See that the database holds what the settings ask for."""
    config = runtime.config()
    if (stored.network_id, stored.unit) != (config.network_id, config.unit):
        raise OtherNetwork(stored.network_id, config.network_id)
    if settings.NODE.platform_genesis:
        wanted = _built(_read_file()).genesis_id
        if stored.genesis_hash != wanted:
            raise OtherGenesis(stored.genesis_hash, wanted)


def _write(genesis: Genesis) -> Network:
    config = runtime.config()
    if genesis.initial_supply > config.rewards.supply_cap:
        raise SupplyAboveCap(genesis.initial_supply, config.rewards.supply_cap)
    if genesis.asset.denomination != config.decimals:
        raise OtherDenomination(genesis.asset.denomination, config.decimals)
    network = Network(
        genesis_hash=genesis.genesis_id,
        network_id=config.network_id,
        unit=config.unit,
        asset_id=genesis.asset_id,
        x_chain_id=genesis.x_chain_id,
        c_chain_id=genesis.c_chain_id,
    )
    first_rows.begin(network, genesis.block, _first_state(genesis, config).changes())
    return network


def _first_state(genesis: Genesis, config: PlatformConfig) -> Diff:
    """Return the state after genesis: its validators are current from the beginning."""
    diff = Diff(DatabaseState())
    diff.set_timestamp(genesis.timestamp)
    for utxo in genesis.utxos:
        diff.produce(utxo)
    first = initial_stakers(genesis, config.rewards)
    for staker in first.stakers:
        diff.put_staker(staker)
    diff.set_supply(PRIMARY_NETWORK_ID, first.supply)
    for tx in (*genesis.validators, *genesis.chains):
        diff.add_tx(tx, TxStatus.COMMITTED)
    for tx in genesis.chains:
        diff.add_chain(tx)
    return diff
