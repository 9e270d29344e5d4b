"""Block 0 of a chain: its header and the trie of its state, from a genesis file's values. Pure."""

from collections.abc import Sequence

from cchain_app.blocks.accepted import AcceptedBlock, make_block
from cchain_app.blocks.header import EMPTY_REQUESTS_HASH, Header
from cchain_app.config import at_least
from cchain_app.evm.trie import StateTrie, TrieUpdate
from cchain_app.genesis import Genesis
from primitives.hashing import EMPTY_ROOT


def first_block(trie: StateTrie, genesis: Genesis) -> tuple[AcceptedBlock, TrieUpdate]:
    """Return the genesis block and the trie of its state.

    Args:
        trie: Computes the trie of the state.
        genesis: The genesis of the chain.
    """
    update = trie.update(EMPTY_ROOT, genesis.state_changes(), _Nothing())
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
