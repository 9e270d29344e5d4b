"""The interface of the memory that chains share: outputs exported by one chain that another one can import.

One store for each pair of chains, with two directions (atomic.md 2). Only the destination removes an output of a
direction, and only the source adds one.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple, Protocol

from primitives.ids import ID
from primitives.reasons import ErrorWithReason
from utxo.components import UTXO


class AtomicRequests(NamedTuple):
    """The changes that a chain makes to the memory that it shares with one other chain."""

    peer: ID
    """The other chain."""
    remove: tuple[ID, ...] = ()
    """The IDs of UTXOs that the peer exported to this chain and that this chain has imported."""
    put: tuple[UTXO, ...] = ()
    """The UTXOs that this chain exports to the peer."""
    importers: tuple[ID, ...] = ()
    """The transactions that import the UTXOs of `remove`, in the same order; empty if they are unknown."""

    def followed_by(self, later: "AtomicRequests") -> "AtomicRequests":
        """Return these changes and later ones of the same peer as one."""
        return AtomicRequests(
            self.peer,
            (*self.remove, *later.remove),
            (*self.put, *later.put),
            (*self.importers, *later.importers),
        )


class SharedMemoryReason(StrEnum):
    """Why changes contradict the shared memory: a double spend was accepted."""

    DUPLICATE_PUT = "duplicated put: {utxo_id} was exported before"
    DUPLICATE_REMOVE = "duplicated remove: {utxo_id} was imported before"


class SharedMemoryConflict(ErrorWithReason):
    """Changes that contradict the shared memory."""


class SharedMemory(Protocol):
    """The shared memory of all chains in one database."""

    def get(self, destination: ID, source: ID, utxo_ids: Collection[ID]) -> Mapping[ID, UTXO]:
        """Return those of the outputs that the source has exported to the destination and that are not imported.

        Args:
            destination: The chain that can import them.
            source: The chain that exported them.
            utxo_ids: The IDs of the UTXOs.
        """

    def apply(self, chain_id: ID, requests: Iterable[AtomicRequests], height: int) -> None:
        """Write the changes of an accepted block, inside the transaction that writes the block.

        First all removals, then all additions. Removing an output that is not there records the import, and a later
        addition of that output cancels the record: a node may accept an import before it executes the export.

        Args:
            chain_id: The chain whose block it is.
            requests: Its changes, by peer.
            height: The height of the block.

        Raises:
            SharedMemoryConflict: An output is added or removed a second time.
        """
