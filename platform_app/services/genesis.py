"""Initialisation at the first start: the genesis block and its state."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from chaindb import clock
from chaindb.locks import Lock
from platform_app.chain import PlatformChain
from platform_app.config import PlatformConfig
from platform_app.genesis.building import (
    Founder,
    build_genesis,
    own_network,
    read_genesis_config,
    reference_local_network,
)
from platform_app.genesis.config import GenesisConfig
from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from platform_app.genesis.genesis import Genesis, initial_stakers, parse_genesis
from platform_app.services.errors import GenesisMismatch, GenesisMismatchReason
from platform_app.state.chain import Diff
from platform_app.store import blocks
from platform_app.store.blocks import StoredNetwork
from platform_app.store.state import DatabaseState
from platform_app.txs.base import ProofOfPossession, TxStatus
from platform_app.txs.subnets import CreateChainTx
from primitives.codec_errors import CodecError
from primitives.ids import PRIMARY_NETWORK_ID, ShortID
from primitives.networks import LOCAL


def load_genesis(
    chain: PlatformChain,
    signer: ProofOfPossession,
    c_chain_genesis: str,
    x_holders: Callable[[], Mapping[ShortID, int]] = dict,
) -> StoredNetwork:
    """Write the genesis block and its state, unless they are stored; return the network.

    If there is no genesis, neither a file named in the settings nor bytes received from other nodes, a new
    network is created at the first start, with this node as its validator.

    Args:
        chain: The chain.
        signer: This node's BLS key with its proof of possession.
        c_chain_genesis: The C-Chain's genesis file, stored in the transaction that creates that chain.
        x_holders: Returns the whole coins that addresses get on the X-Chain of a new network.

    Raises:
        GenesisMismatch: The database holds another network; the database was created from
            another genesis; the genesis is for another network.
        GenesisError: The genesis file cannot be read or used.
    """
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.PCHAIN)
        stored = blocks.read(chain.db)
        configured = _configured(chain)
        if stored is None:
            return _write(
                chain,
                configured
                or _encode(_new_network(chain, signer, c_chain_genesis, clock.now(), x_holders())),
            )
        network = stored[0]
        _check(chain, network, configured)
        if not blocks.has_genesis_bytes(chain.db, network):
            _recover_bytes(chain, network, configured, signer)
        return network


def fetched_genesis(chain: PlatformChain) -> Path:
    """Return the path where genesis bytes received from other nodes are stored."""
    return chain.node.genesis_directory / "platform.bin"


def _configured(chain: PlatformChain) -> Genesis | None:
    """Return the genesis that the settings name, or else the genesis received from other nodes; None without both."""
    if chain.node.platform_genesis:
        return _encode(_read_file(chain))
    path = fetched_genesis(chain)
    if not path.exists():
        return None
    return _read_bytes(chain, path)


def _new_network(
    chain: PlatformChain,
    signer: ProofOfPossession,
    c_chain_genesis: str,
    start_time: int,
    x_holders: Mapping[ShortID, int] | None = None,
) -> GenesisConfig:
    """Return a new network for a node without a genesis: the reference's local network or a private network."""
    node = chain.node
    if node.parameters == "avalanchego" and node.network_id == LOCAL:
        return reference_local_network(start_time)
    return own_network(
        chain.config,
        [Founder(chain.node_id, signer)],
        start_time=start_time,
        c_chain_genesis=c_chain_genesis,
        x_holders=x_holders,
    )


def _read_file(chain: PlatformChain) -> GenesisConfig:
    """Read the genesis file that the settings name."""
    node = chain.node
    config = read_genesis_config(_read_bytes_of(Path(node.platform_genesis)))
    if config.network_id != node.network_id:
        raise GenesisMismatch(
            GenesisMismatchReason.FILE_OF_OTHER_NETWORK,
            in_file=config.network_id,
            wanted=node.network_id,
        )
    return config


def _read_bytes(chain: PlatformChain, path: Path) -> Genesis:
    """Read the genesis bytes received from other nodes."""
    try:
        genesis = parse_genesis(_read_bytes_of(path))
    except CodecError as error:
        raise GenesisError(
            PlatformGenesisReason.UNREADABLE_FILE, name=str(path), cause=str(error)
        ) from error
    if genesis.network_id != chain.node.network_id:
        raise GenesisMismatch(
            GenesisMismatchReason.FILE_OF_OTHER_NETWORK,
            in_file=genesis.network_id,
            wanted=chain.node.network_id,
        )
    return genesis


def _read_bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise GenesisError(
            PlatformGenesisReason.UNREADABLE_FILE,
            name=str(path),
            cause=os.strerror(error.errno or 0),
        ) from error


def _encode(config: GenesisConfig) -> Genesis:
    """Return the genesis of a network, encoded to bytes and parsed."""
    try:
        return parse_genesis(build_genesis(config))
    except CodecError as error:
        raise GenesisError(PlatformGenesisReason.UNENCODABLE, cause=str(error)) from error


def _check(chain: PlatformChain, stored: StoredNetwork, configured: Genesis | None) -> None:
    """Check that the database holds the network of the settings."""
    config = chain.config
    if (stored.network_id, stored.unit) != (config.network_id, config.unit):
        raise GenesisMismatch(
            GenesisMismatchReason.DATABASE_OF_OTHER_NETWORK,
            stored=stored.network_id,
            wanted=config.network_id,
        )
    if configured is not None and stored.genesis_hash != configured.genesis_id:
        raise GenesisMismatch(
            GenesisMismatchReason.OTHER_GENESIS,
            stored=stored.genesis_hash,
            wanted=configured.genesis_id,
        )


def _recover_bytes(
    chain: PlatformChain,
    network: StoredNetwork,
    configured: Genesis | None,
    signer: ProofOfPossession,
) -> None:
    """Rebuild the genesis bytes of a chain that was created by a version that did not store them.

    The result is stored if its hash is that of the chain. It is not if the node's keys have changed since.
    """
    state = DatabaseState(chain.db)
    c_chain = state.txs.get(network.c_chain_id)
    assert c_chain is not None
    assert isinstance(c_chain.unsigned, CreateChainTx)
    text = c_chain.unsigned.genesis_data.decode()
    genesis = configured or _encode(_new_network(chain, signer, text, blocks.time_at(chain.db, 0)))
    if genesis.genesis_id == network.genesis_hash:
        blocks.store_genesis_bytes(chain.db, network, genesis.raw)


def _write(chain: PlatformChain, genesis: Genesis) -> StoredNetwork:
    config = chain.config
    if genesis.initial_supply > config.rewards.supply_cap:
        raise GenesisError(
            PlatformGenesisReason.SUPPLY_ABOVE_CAP,
            supply=genesis.initial_supply,
            cap=config.rewards.supply_cap,
        )
    if genesis.asset.denomination != config.decimals:
        raise GenesisError(
            PlatformGenesisReason.OTHER_DENOMINATION,
            got=genesis.asset.denomination,
            wanted=config.decimals,
        )
    network = StoredNetwork(
        genesis_hash=genesis.genesis_id,
        network_id=config.network_id,
        unit=config.unit,
        asset_id=genesis.asset_id,
        x_chain_id=genesis.x_chain_id,
        c_chain_id=genesis.c_chain_id,
    )
    state = _first_state(chain, genesis, config)
    blocks.begin(chain.db, network, genesis.block, state, genesis.raw)
    return network


def _first_state(chain: PlatformChain, genesis: Genesis, config: PlatformConfig) -> Diff:
    """Return the state after genesis, in which the genesis validators are current."""
    diff = Diff(DatabaseState(chain.db))
    diff.clock.set_timestamp(genesis.timestamp)
    for utxo in genesis.utxos:
        diff.utxos.produce(utxo)
    first = initial_stakers(genesis, config)
    for staker in first.stakers:
        diff.stakers.put(staker)
    diff.supplies.set(PRIMARY_NETWORK_ID, first.supply)
    for tx in (*genesis.validators, *genesis.chains):
        diff.txs.add(tx, TxStatus.COMMITTED)
    for tx in genesis.chains:
        diff.subnets.add_blockchain(tx)
    return diff
