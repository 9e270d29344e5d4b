"""The choice of the state trie that computes a block: the one with a warm cache, or the one without. Pure."""

from cchain_app.evm.engine import StateChanges
from cchain_app.evm.trie import NodeReader, StateTrie, TrieUpdate
from primitives.evm import Hash


class Tries:
    """The state trie with its cache, and one without a cache for blocks on other branches than the cached one.

    The cache is valid for one root, and an update from another root empties it. Rival blocks that alternate
    would empty it every time, so the cache follows one branch from block to block.
    """

    def __init__(self, cached: StateTrie, uncached: StateTrie) -> None:
        self.cached = cached
        self.uncached = uncached
        self._root: Hash | None = None
        self._next: Hash | None = None

    def update(
        self, root: Hash, changes: StateChanges, nodes: NodeReader, *, alone: bool
    ) -> TrieUpdate:
        """Return the changes that an executed block makes to the trie's nodes.

        Args:
            root: Root of the state before the block.
            changes: The block's changes to that state.
            nodes: Reads the nodes of that state.
            alone: Whether all processing blocks are on the parent's branch.

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
