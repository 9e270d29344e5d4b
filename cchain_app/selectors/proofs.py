"""Merkle proofs of accounts and slots, at the head and at heights below it (EIP-1186)."""

from collections.abc import Sequence

from cchain_app.blocks.assembly import PendingBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.trie import NodeReader, StateProof
from cchain_app.forking.errors import NoForkedProof
from cchain_app.selectors.tries import after_block, at_height
from primitives.evm import Address, Hash, Slot


def prove(
    chain: EvmChain, address: Address, slots: Sequence[Slot], block: int | PendingBlock
) -> StateProof:
    """Return an account and some of its slots with proofs from the state root, after the block at a height or the pending one.

    Raises:
        ProofWindowPassed: The height is further below the head than NODE_PROOF_WINDOW.
        NoForkedProof: The chain is a fork, whose trie contains only changed accounts.
        TrieError: The stored trie is not the head's (never, unless the rows were edited).
    """
    if chain.fork is not None:
        raise NoForkedProof(block if isinstance(block, int) else block.number)

    def prove_in(root: Hash, nodes: NodeReader) -> StateProof:
        return chain.proof_trie.prove(root, address, slots, nodes)

    if isinstance(block, int):
        return at_height(chain, block, prove_in)
    return after_block(chain, block, prove_in)
