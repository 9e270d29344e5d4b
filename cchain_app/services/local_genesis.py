"""Which genesis file a local chain has: a new chain the one that comes with the node, each other its own."""

from cchain_app.chain import EvmChain
from cchain_app.first_block import first_block
from cchain_app.genesis import built_in_text, load_genesis
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.local_genesis import OLD_NAME, without_coins_of_zero
from cchain_app.store import chain as stored
from primitives.evm import Hash
from primitives.whole_files import write_whole


def local_file(chain: EvmChain) -> bytes:
    """Return a local chain's genesis file: the one that the chain there began with, else a new chain's.

    It is recognised by the hash of block 0, among the file that was kept at the first start, the one that the
    settings give now, and those of older versions. If none fits, the new one is returned, and the start refuses it.

    Unspecified: a chain that is there goes on as it began, whatever hard fork, gas limit and base fee the
    settings name by now; the start says what differs (`remarks`).

    Raises:
        DatabaseError: What is there cannot be read.
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
    """Keep the genesis file of a local chain that begins, for the starts that come.

    Raises:
        OSError: It cannot be written.
    """
    write_whole(chain.kept_genesis, chain.genesis_file())


def remarks(chain: EvmChain) -> list[str]:
    """Return in words what the settings want of a new local chain and this one has not."""
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
    """Say whether a genesis file makes a block 0, which was made at a time if the file leaves it open."""
    try:
        genesis = load_genesis(text)
    except GenesisFileError:
        return False
    if not genesis.timestamp:
        genesis = genesis.with_timestamp(timestamp)
    # Not the chain's other trie, which remembers the nodes of the head.
    return first_block(chain.proof_trie, genesis)[0].hash == block_hash
