"""Selects a local chain's genesis file: the one built into the node for a new chain, else the chain's own."""

from cchain_app.chain import EvmChain
from cchain_app.first_block import first_block
from cchain_app.genesis import built_in_text, load_genesis
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.local_genesis import OLD_NAME, without_coins_of_zero
from cchain_app.store import chain as stored
from primitives.evm import Hash
from primitives.whole_files import write_whole


def local_file(chain: EvmChain) -> bytes:
    """Return a local chain's genesis file: the one that the stored chain started with, else a new chain's.

    The hash of block 0 identifies the file, among the file that was kept at the first start, the one that the
    settings give now, and those of older versions. If none matches, the new one is returned, and the start rejects it.

    Unspecified: a stored chain keeps its hard fork, gas limit and base fee, whatever values the settings name
    now; the start reports the differences (`remarks`).

    Raises:
        DatabaseError: The stored chain cannot be read.
    """
    new = chain.new_local_file()
    if chain.fork is not None:
        return chain.kept_genesis.read_bytes() if chain.kept_genesis.exists() else new
    began = stored.first_block(chain.db)
    if began is None:
        return new
    kept = [chain.kept_genesis.read_bytes()] if chain.kept_genesis.exists() else []
    for text in (*kept, new, without_coins_of_zero(new), built_in_text(OLD_NAME)):
        if _makes(chain, text, *began):
            return text
    return new


def keep(chain: EvmChain) -> None:
    """Keep the genesis file of a new local chain for later starts.

    Raises:
        OSError: It cannot be written.
    """
    write_whole(chain.kept_genesis, chain.genesis_file())


def remarks(chain: EvmChain) -> list[str]:
    """Return messages about settings for new local chains that differ from this chain."""
    wanted, genesis = chain.local_choices, chain.own_genesis
    compared = (
        ("NODE_HARDFORK", wanted.hardfork, genesis.fork, ""),
        ("NODE_GAS_LIMIT", wanted.gas_limit, genesis.gas_limit, 0),
        ("NODE_BASE_FEE", wanted.base_fee, genesis.base_fee, -1),
    )
    return [
        f"{name} is {want}, but the chain here began with {'none' if have is None else have} and goes on so: "
        "it is for local chains that begin, in a new data directory and without NODE_GENESIS."
        for name, want, have, default in compared
        if want not in (default, have)
    ]


def _makes(chain: EvmChain, text: bytes, block_hash: Hash, timestamp: int) -> bool:
    """Return whether a genesis file gives this block 0; the timestamp is used if the file leaves it open."""
    try:
        genesis = load_genesis(text)
    except GenesisFileError:
        return False
    if not genesis.timestamp:
        genesis = genesis.with_timestamp(timestamp)
    # Not the chain's other trie, which caches the nodes of the head.
    return first_block(chain.proof_trie, genesis, chain.format)[0].hash == block_hash
