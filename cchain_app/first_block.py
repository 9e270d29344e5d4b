"""Block 0 of a chain, and the trie of its state, from a genesis file's values. Pure."""

from collections.abc import Sequence

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.trie import StateTrie, TrieUpdate
from cchain_app.genesis import Genesis
from cchain_app.rules.port import BlockFormat
from primitives.hashing import EMPTY_ROOT


def first_block(
    trie: StateTrie, genesis: Genesis, block_format: BlockFormat
) -> tuple[AcceptedBlock, TrieUpdate]:
    """Return the genesis block and the trie of its state.

    Args:
        trie: Computes the trie of the state.
        genesis: The genesis of the chain.
        block_format: The format of the chain's blocks.
    """
    update = trie.update(EMPTY_ROOT, genesis.state_changes(), _Nothing())
    return block_format.genesis_block(genesis, update.root), update


class _Nothing:
    """No nodes: the trie of the genesis state begins empty."""

    def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return None for every key."""
        return [None] * len(keys)
