"""The pending block as a value: the block that this node would build now. Pure."""

from dataclasses import dataclass

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.trie import TrieUpdate


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingBlock(AcceptedBlock):
    """An executed block that is not accepted. It is read like an accepted block, but no row has it or its state."""

    parent: AcceptedBlock
    """The head on which it was built."""
    state: PendingState
    """The state after it."""
    trie: TrieUpdate
    """Its changes to the state trie of its parent, including those of state edits on the parent."""
