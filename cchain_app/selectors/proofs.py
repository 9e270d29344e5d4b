"""Merkle proofs of accounts and slots, at the head and at heights below it (EIP-1186)."""

from collections.abc import Sequence

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.trie import NodeReader, StateProof
from cchain_app.forking.errors import NoForkedProof
from cchain_app.selectors.tries import after_block
from primitives.evm import Address, Hash, Slot


def prove(
    chain: EvmChain, address: Address, slots: Sequence[Slot], block: AcceptedBlock
) -> StateProof:
    """Return an account and slots of it after a block, with proofs from its state root.

    Raises:
        ProofWindowPassed: The height is further below the head than NODE_PROOF_WINDOW.
        NoForkedProof: The chain is a fork, whose trie has what changed alone.
        TrieError: The stored trie is not the head's (never, unless rows were changed by hand).
    """
    if chain.fork is not None:
        raise NoForkedProof(block.number)

    def prove_in(root: Hash, nodes: NodeReader) -> StateProof:
        return chain.proof_trie.prove(root, address, slots, nodes)

    return after_block(chain, block, prove_in)
