"""Which state trie a block is worked out with: the one whose cache is warm, or one without. Pure."""

from cchain_app.evm.engine import StateChanges
from cchain_app.evm.trie import NodeReader, StateTrie, TrieUpdate
from primitives.evm import Hash


class Tries:
    """The state trie with its cache, and one without for blocks that stand beside the cached line.

    The cache is true for one root alone and another root empties it, so rivals that took turns with it
    would empty it each time. It follows the line on which block comes after block.
    """

    def __init__(self, cached: StateTrie, uncached: StateTrie) -> None:
        self.cached = cached
        self.uncached = uncached
        self._root: Hash | None = None
        self._next: Hash | None = None

    def update(
        self, root: Hash, changes: StateChanges, nodes: NodeReader, *, alone: bool
    ) -> TrieUpdate:
        """Return what an executed block does to the trie's nodes.

        Args:
            root: Of the state before, the parent's.
            changes: What the block does to it.
            nodes: Who reads the nodes of that state.
            alone: Whether no block is processing but the parent's own line.

        Raises:
            TrieError: The nodes that are read are not those of the parent's state.
        """
        if root == self._next:
            self.cached.commit(root)
            self._root, self._next = root, None
        if root != self._root and not alone:
            return self.uncached.update(root, changes, nodes)
        update = self.cached.update(root, changes, nodes)
        self._root, self._next = root, update.root
        return update

    def accepted(self, root: Hash) -> None:
        """Note that the update to this root is stored."""
        if root == self._next:
            self.cached.commit(root)
            self._root, self._next = root, None
