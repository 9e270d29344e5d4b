"""The state trie of the crate `native/`, behind the port of `trie`, with a cache of hot nodes.

Importing this module raises ImportError if the crate was not built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import cchain_native

from cchain_app.evm.engine import StateChanges
from cchain_app.evm.native_values import account_state
from cchain_app.evm.trie import (
    NodeReader,
    StateProof,
    TrieError,
    TrieUpdate,
)
from primitives.evm import Address, Hash, Slot, Word


class NativeStateTrie:
    """A `StateTrie` in Rust: safe to use from several threads, and without the interpreter lock.

    Its cache is valid for one root: that of the last `commit`, or the one from which the last update started.
    An update that is never committed leaves no trace; another root empties the cache.
    """

    def __init__(self, cache_bytes: int, *, of_coreth: bool = False) -> None:
        """Start with an empty cache for this many bytes of keys and nodes; 0 for no cache. `of_coreth` as for `PythonStateTrie`."""
        self._trie = cchain_native.StateTrie(cache_bytes, of_coreth)

    def update(self, root: Hash, changes: StateChanges, reader: NodeReader) -> TrieUpdate:
        """Return root and nodes after changes to the state that has this root.

        Raises:
            TrieError: The stored nodes are not that state's.
        """
        with _faults():
            new_root, nodes = self._trie.update(root, changes, reader)
        return TrieUpdate(Hash(new_root), nodes)

    def prove(
        self, root: Hash, address: Address, slots: Sequence[Slot], reader: NodeReader
    ) -> StateProof:
        """Return an account and some of its slots with their proofs.

        Raises:
            TrieError: The stored nodes are not that state's.
        """
        with _faults():
            account, storage_root, account_proof, storage = self._trie.prove(
                root, address, slots, reader
            )
        return StateProof(
            account=account_state(account),
            storage_root=Hash(storage_root),
            account_proof=account_proof,
            storage=[(Word(value), proof) for value, proof in storage],
        )

    def ordered_root(self, items: Sequence[bytes]) -> Hash:
        """Return the root of the trie that stores each item under the RLP of its index."""
        return Hash(cchain_native.ordered_root(items))

    def commit(self, root: Hash) -> None:
        """Record that the update to this root was stored, and put its nodes into the cache."""
        self._trie.commit(root)


@contextmanager
def _faults() -> Iterator[None]:
    """Translate the crate's exceptions in the body to the port's."""
    try:
        yield
    except (
        cchain_native.MissingNode,
        cchain_native.ForeignNode,
        cchain_native.MissingAccount,
    ) as fault:
        raise TrieError(str(fault)) from None
