"""The first block of a chain: written once, checked at every start."""

import time
from collections.abc import Sequence

from django.db import transaction

from cchain_app import runtime
from cchain_app.blocks.accepted import AcceptedBlock, make_block
from cchain_app.blocks.header import EMPTY_REQUESTS_HASH, EMPTY_ROOT, Header
from cchain_app.config import at_least
from cchain_app.evm.trie import EMPTY_ROOT as EMPTY_STATE
from cchain_app.evm.trie import TrieUpdate
from cchain_app.genesis import Genesis
from cchain_app.store import chain
from chaindb.locks import Lock, acquire
from primitives.evm import Hash


class GenesisMismatch(Exception):
    """The database holds another chain than the settings name."""

    def __init__(self, stored: Hash, wanted: Hash) -> None:
        super().__init__(
            f"the database's genesis block is 0x{stored.hex()}, but the settings' genesis file "
            f"gives 0x{wanted.hex()}: choose another data directory, or the genesis file that this "
            "one was made with"
        )
        self.stored = stored
        self.wanted = wanted


@transaction.atomic(durable=True)
def load_genesis() -> AcceptedBlock:
    """Write the genesis block and its state, unless they are there; return the block.

    A genesis file without a timestamp (the local network's) begins at the first start.

    Raises:
        GenesisMismatch: Another chain's genesis block is there.
        GenesisFileError: The genesis file cannot be used.
    """
    acquire(Lock.CCHAIN)
    genesis = runtime.genesis()
    if chain.head_number() is None:
        return _write(genesis)
    stored = chain.load_block(0)
    if not genesis.timestamp:
        genesis = genesis.with_timestamp(stored.header.timestamp)
    block, _ = _first_block(genesis)
    if block.hash != stored.hash:
        raise GenesisMismatch(stored.hash, block.hash)
    return stored


def _write(genesis: Genesis) -> AcceptedBlock:
    if not genesis.timestamp:
        genesis = genesis.with_timestamp(int(time.time()))
    block, update = _first_block(genesis)
    chain.add_block(block)
    chain.commit_state(0, genesis.state_changes(), update)
    return block


def _first_block(genesis: Genesis) -> tuple[AcceptedBlock, TrieUpdate]:
    """Return the genesis block and the trie of its state."""
    update = runtime.trie().update(EMPTY_STATE, genesis.state_changes(), _Nothing())
    fork = genesis.fork
    header = Header(
        parent_hash=genesis.parent_hash,
        coinbase=genesis.coinbase,
        state_root=update.root,
        transactions_root=EMPTY_ROOT,
        receipts_root=EMPTY_ROOT,
        logs_bloom=bytes(256),
        difficulty=genesis.difficulty,
        number=genesis.number,
        gas_limit=genesis.gas_limit,
        gas_used=genesis.gas_used,
        timestamp=genesis.timestamp,
        extra_data=genesis.extra_data,
        mix_hash=genesis.mix_hash,
        nonce=genesis.nonce,
        base_fee=genesis.base_fee,
        withdrawals_root=EMPTY_ROOT if at_least(fork, "shanghai") else None,
        blob_gas_used=genesis.blob_gas_used,
        excess_blob_gas=genesis.excess_blob_gas,
        parent_beacon_block_root=genesis.parent_beacon_block_root,
        requests_hash=EMPTY_REQUESTS_HASH if at_least(fork, "prague") else None,
    )
    return make_block(header, (), ()), update


class _Nothing:
    """No nodes: the trie of the genesis state begins empty."""

    def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return None for every key."""
        return [None] * len(keys)
