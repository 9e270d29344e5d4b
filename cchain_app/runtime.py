"""The chain that this process runs: its rules, its engine and its trie, chosen by the settings."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from django.conf import settings

from cchain_app.config import ChainConfig
from cchain_app.evm.engine import Engine
from cchain_app.evm.select import select_engine, select_recovery, select_trie
from cchain_app.evm.trie import StateTrie
from cchain_app.genesis import Genesis, built_in_text, load_genesis
from cchain_app.txs.codec import RecoverMany

_NETWORKS = {1: "mainnet", 5: "testnet"}


@cache
def genesis() -> Genesis:
    """Return the genesis of this network.

    Raises:
        GenesisFileError: The file cannot be used.
    """
    node = settings.NODE
    found = load_genesis(genesis_file(), min_base_fee=node.min_base_fee)
    if node.chain_id:
        found = replace(found, config=replace(found.config, chain_id=node.chain_id))
    return found


def genesis_file() -> bytes:
    """Return the genesis file of this network.

    It is the one that NODE_GENESIS names, else the one that other nodes of the network gave, else
    the one that comes with the node.
    """
    node = settings.NODE
    if node.genesis:
        return Path(node.genesis).read_bytes()
    fetched = fetched_genesis()
    if fetched.exists():
        return fetched.read_bytes()
    return built_in_text(_NETWORKS.get(node.network_id, "local"))


def fetched_genesis() -> Path:
    """Return where a genesis file that came from other nodes is kept."""
    return Path(settings.NODE.directory) / "genesis" / "cchain.json"


@cache
def config() -> ChainConfig:
    """Return the rules of this chain."""
    return genesis().config


def read_genesis_again() -> None:
    """Forget which genesis this process has read: other nodes have given another one."""
    genesis.cache_clear()
    config.cache_clear()


@cache
def engine() -> Engine:
    """Return the EVM engine that NODE_ENGINE names."""
    return select_engine(settings.NODE.engine)


@cache
def recover_senders() -> RecoverMany:
    """Return what recovers the senders of many signatures: in parallel where the engine can."""
    return select_recovery(settings.NODE.engine)


@cache
def trie() -> StateTrie:
    """Return the state trie that goes with the engine; it remembers the nodes of the head."""
    return select_trie(settings.NODE.engine)


@cache
def proof_trie() -> StateTrie:
    """Return a trie for proofs, apart from the one that remembers the head for the next block."""
    return select_trie(settings.NODE.engine)
