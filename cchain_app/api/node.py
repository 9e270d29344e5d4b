"""What a node says of itself and of its chain: IDs, version, peers, syncing, coinbase."""

import platform
from functools import cache

from cchain_app.api.rpc import EvmRpc
from primitives.hashing import keccak256
from primitives.hexadecimal import encode_data, encode_quantity

NAME = "PyChain"
"""The name in web3_clientVersion."""

VERSION = "0.1.0"
"""Of this project; a test compares it with pyproject.toml."""


def chain_id(rpc: EvmRpc) -> str:
    """eth_chainId: the EVM chain ID."""
    return encode_quantity(rpc.chain.config.chain_id)


def network_version(rpc: EvmRpc) -> str:
    """net_version: the EVM chain ID in decimal."""
    return str(rpc.chain.config.chain_id)


@cache
def client_version() -> str:
    """web3_clientVersion: name, version, system and language."""
    system = f"{platform.system().lower()}-{platform.machine()}"
    return f"{NAME}/v{VERSION}/{system}/python{platform.python_version()}"


def sha3(data: bytes) -> str:
    """web3_sha3: Keccak-256 of the data."""
    return encode_data(keccak256(data))


def syncing(rpc: EvmRpc) -> dict[str, str] | bool:
    """eth_syncing: false, or how far the chain is while it catches up with others."""
    progress = rpc.chain.progress()
    if progress is None:
        return False
    return {
        "startingBlock": encode_quantity(progress.starting),
        "currentBlock": encode_quantity(progress.current),
        "highestBlock": encode_quantity(progress.highest),
    }


def accounts() -> list[str]:
    """eth_accounts: none, since the node holds no keys.

    Unspecified: a node without a keystore has no accounts, as geth without wallets.
    """
    return []


def coinbase(rpc: EvmRpc) -> str:
    """eth_coinbase: who is credited with the tips of the blocks that are made here."""
    return encode_data(rpc.chain.config.coinbase)


def mining() -> bool:
    """eth_mining: never; blocks are produced, not mined."""
    return False


def hashrate() -> str:
    """eth_hashrate: none."""
    return encode_quantity(0)


def protocol_version() -> str:
    """eth_protocolVersion: the version of the eth protocol that clients expect to see.

    Unspecified: no peer speaks it here; 65 is what coreth answered.
    """
    return encode_quantity(65)


def listening() -> bool:
    """net_listening: always true, as on coreth."""
    return True


def peer_count() -> str:
    """net_peerCount: none of this chain's own, as on coreth: peers are the node's."""
    return encode_quantity(0)
