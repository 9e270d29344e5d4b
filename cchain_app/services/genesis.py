"""The first block of a chain: written once, verified at every start."""

from enum import StrEnum

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.first_block import first_block
from cchain_app.foreign.files import verify_supported
from cchain_app.genesis import Genesis, complete_text
from cchain_app.genesis import load_genesis as read_genesis
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.services.forking import load_fork
from cchain_app.store import chain as stored
from cchain_app.store import coreth
from chaindb import clock
from chaindb.locks import Lock
from primitives.evm import Hash
from primitives.reasons import ErrorWithReason
from primitives.whole_files import write_whole

REFERENCE_LOCAL_TIME = 0x5FCB13D0
"""Unix seconds of block 0 of the C-Chain in the reference's local network."""


class StoredGenesisReason(StrEnum):
    """How the database's chain differs from that of the settings."""

    # The genesis file gives another first block.
    GENESIS_FILE_MISMATCH = (
        "the database's genesis block is 0x{stored}, but the settings' genesis file "
        "gives 0x{wanted}: choose another data directory, or the genesis file that this "
        "one was made with"
    )
    # The transactions of the stored chain are signed for another chain ID.
    OTHER_CHAIN_ID = (
        "the database's chain has chain ID {stored}, but the settings give {wanted}: choose "
        "another data directory, or the chain ID that this one was made with"
    )


class WrongChainInDatabase(ErrorWithReason):
    """The database contains another chain than the settings name."""


def load_genesis(chain: EvmChain, *, ago: int = 0) -> AcceptedBlock:
    """Write the genesis block and its state, unless they exist; return the block.

    Block 0 has the timestamp of the genesis file, even if that is 0. Without a file, block 0 of a local chain gets the
    time of the first start; if the P-Chain's genesis is built into the node, it gets that of the reference's local
    network. The file of a local chain is kept in the data directory and used at later starts, even if the settings
    then name other accounts.

    Unspecified: older versions used the time of the first start for every file with timestamp 0. Their data
    directories keep their block 0.

    Args:
        chain: The chain.
        ago: Seconds before the first start at which block 0 of a local chain without a file has its time.

    Raises:
        WrongChainInDatabase: The database has another chain's genesis block, or the stored chain has another chain ID.
        GenesisFileError: The genesis file cannot be used.
        KeyringError: The settings give no keys of accounts to fund.
        OSError: The file cannot be kept.
        ForkRefused: The settings name a fork that is not the stored chain.
        UpstreamError: The chain is to start as a fork, and the upstream does not return the data for it.
    """
    forked = load_fork(chain)
    if forked is not None:
        return forked
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN)
        if stored.head_number(chain.db) is None:
            genesis = chain.genesis.with_timestamp(_first_time(chain, ago))
            if genesis.config.schedule.has_eip_1283:
                raise GenesisFileError(
                    "config.petersburgBlock: blocks between constantinopleBlock and petersburgBlock meter SSTORE by "
                    "EIP-1283, which this node cannot execute: set both to the same block, or use import_chain, "
                    "which checks each block's gas"
                )
            return _begin(chain, genesis, makes_blocks=True)
        genesis = chain.genesis
        began = stored.first_block(chain.db)
        assert began is not None, "the chain has a head"
        if not genesis.timestamp:
            genesis = genesis.with_timestamp(began[1])
        block, _ = first_block(chain.trie, genesis, chain.format)
        if block.hash != began[0]:
            raise _other_block(began[0], block)
        _verify_chain_id(chain)
        return stored.load_block(chain.db, chain.first_number, chain.format)


def _verify_chain_id(chain: EvmChain) -> None:
    """Check that the settings have the chain ID with which the chain started, or its ID after anvil_setChainId.

    Raises:
        WrongChainInDatabase: They have another one.
    """
    wanted, stored_id = chain.own_genesis.config.chain_id, stored.chain_id(chain.db)
    if wanted not in (stored_id, stored.first_chain_id(chain.db)):
        raise WrongChainInDatabase(
            StoredGenesisReason.OTHER_CHAIN_ID, stored=stored_id or 0, wanted=wanted
        )


def begin_import(chain: EvmChain, text: bytes) -> AcceptedBlock:
    """Start an imported chain from its genesis file, or check that the stored chain started from it.

    The file is kept in the data directory for later starts. Its timestamp is used even if it is 0, and the only floor
    of the base fee is the one in the file.

    Args:
        chain: The chain whose rows and directory are used.
        text: The genesis file, in geth's JSON format.

    Raises:
        WrongChainInDatabase: The database has another chain's genesis block, or the settings have another chain ID than the file.
        GenesisFileError: The file cannot be used, or requires unsupported rules.
        OSError: It cannot be kept.
    """
    given = read_genesis(text)
    verify_supported(text)
    if given.is_of_coreth:
        raise GenesisFileError(
            "config: this is the C-Chain of a network of avalanchego, whose blocks a node gets from its peers; "
            "import_chain reads chains of Ethereum"
        )
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN)
        if stored.head_number(chain.db) is None:
            _keep(chain, complete_text(text, timestamp=given.timestamp, config=given.config))
            if chain.config.chain_id != given.config.chain_id:
                raise WrongChainInDatabase(
                    StoredGenesisReason.OTHER_CHAIN_ID,
                    stored=given.config.chain_id,
                    wanted=chain.config.chain_id,
                )
            return _begin(chain, chain.genesis, makes_blocks=False)
    first = load_genesis(chain)
    block, _ = first_block(chain.trie, given, chain.format)
    if block.hash != first.hash:
        raise _other_block(first.hash, block)
    return first


def _keep(chain: EvmChain, text: str) -> None:
    """Keep a genesis file as the one that the chain uses at every start."""
    path = chain.genesis_source.fetched
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())
    chain.read_genesis_again()


def genesis_text(chain: EvmChain) -> str:
    """Return the genesis file from which another node creates the same block 0.

    For a fork it is the file with its rules and balances. Before the first start of a local chain the timestamp
    is the current time. The chain ID is the current one, which block 0 does not contain.
    """
    text = chain.genesis_file()
    if chain.is_of_coreth:
        return text.decode()
    if chain.fork is not None:
        # anvil_reset may replace the fork, but the P-Chain's genesis, which contains this text, stays.
        own = chain.own_genesis
        return complete_text(
            text, timestamp=begin_time(chain, REFERENCE_LOCAL_TIME), config=own.config
        )
    began = stored.head_number(chain.db) is not None
    timestamp = stored.time_of(chain.db, chain.first_number) if began else _first_time(chain)
    return complete_text(text, timestamp=timestamp, config=chain.config)


def begin_time(chain: EvmChain, now: int) -> int:
    """Return the timestamp of block 0, in Unix seconds, if the chain starts now.

    It is the genesis file's, even if that is 0. Only a local chain's own file leaves it open.

    Args:
        chain: The chain.
        now: The timestamp if the file leaves it open.

    Raises:
        GenesisFileError: The file cannot be used.
    """
    named = chain.own_genesis.timestamp
    return now if chain.genesis_source.is_local and not named else named


def remarks(chain: EvmChain) -> list[str]:
    """Return messages about settings for new local chains that differ from this chain."""
    wanted, genesis = chain.genesis_source.choices, chain.own_genesis
    limits = genesis.config.limits
    compared = (
        ("NODE_HARDFORK", wanted.hardfork, genesis.fork, ""),
        ("NODE_GAS_LIMIT", wanted.gas_limit, genesis.gas_limit, 0),
        ("NODE_BASE_FEE", wanted.base_fee, genesis.base_fee, -1),
        ("NODE_TIMESTAMP", wanted.timestamp, genesis.timestamp, 0),
        ("NODE_GENESIS_NUMBER", wanted.number, genesis.number, 0),
        ("NODE_TX_GAS_LIMIT", wanted.transaction_gas_limit, limits.transaction_gas, False),
        ("NODE_BLOCK_GAS_LIMIT", wanted.block_gas_limit, limits.block_gas, True),
        ("NODE_CODE_SIZE_LIMIT", wanted.code_size_limit, limits.code_size, None),
        ("NODE_MEMORY_LIMIT", wanted.memory_limit, limits.memory, None),
        ("NODE_WARP", wanted.warp, bool(genesis.config.stateful), False),
    )
    return [
        f"{name} is {want}, but this chain began with {'none' if have is None else have} and keeps that value: "
        "the setting is for new local chains, in a new data directory and without NODE_GENESIS."
        for name, want, have, default in compared
        if want not in (default, have)
    ]


def _first_time(chain: EvmChain, ago: int = 0) -> int:
    """Return the timestamp of block 0 at the first start, in Unix seconds.

    Nodes of a built-in network fetch no genesis, so all of them must use the same time.
    """
    now = REFERENCE_LOCAL_TIME if chain.node.has_built_in_network else clock.now() - ago
    return begin_time(chain, now)


def _begin(chain: EvmChain, genesis: Genesis, *, makes_blocks: bool) -> AcceptedBlock:
    if chain.genesis_source.is_local:
        chain.genesis_source.keep(chain.genesis_file())
    block, update = first_block(chain.trie, genesis, chain.format)
    stored.begin(chain.db, block, genesis.config.chain_id, makes_blocks=makes_blocks)
    if genesis.upgrades is not None:
        coreth.commit(chain.db, [block], genesis.upgrades)
    stored.commit_state(chain.db, [(0, genesis.state_changes())], [update])
    if chain.is_development and chain.genesis_source.is_local and chain.settings.local.timestamp:
        clock.show(block.header.timestamp, minimum=chain.least_time())
    return block


def _other_block(stored_hash: Hash, wanted: AcceptedBlock) -> WrongChainInDatabase:
    return WrongChainInDatabase(
        StoredGenesisReason.GENESIS_FILE_MISMATCH,
        stored=stored_hash.hex(),
        wanted=wanted.hash.hex(),
    )
