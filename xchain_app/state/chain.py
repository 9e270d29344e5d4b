"""The complete state of the X-Chain as rules see it, and copy-on-write layers over it.

It has two implementations: the rows (`store.state`) and a `AvmDiff` over another state. A missing object is None, never
an error. There is no table of assets: an asset is the transaction that created it.
"""

from collections.abc import Iterable
from typing import Protocol

from primitives.ids import ID
from utxo.components import UTXO
from xchain_app.txs.base import AvmTx


class AvmState(Protocol):
    """Everything that a rule may read."""

    def utxo(self, utxo_id: ID) -> UTXO | None:
        """Return an unspent output of this chain."""

    def tx(self, tx_id: ID) -> AvmTx | None:
        """Return an accepted transaction."""

    def shared(self, source_chain: ID, utxo_id: ID) -> UTXO | None:
        """Return an output that another chain has exported to this one and that no accepted block imports."""

    def timestamp(self) -> int:
        """Return the chain's time in Unix seconds."""


class AvmDiff:
    """An `AvmState` with the changes of blocks or transactions over a parent, which it never changes.

    Outputs in shared memory are those of the accepted state; `blocks.executor` compares the imports of undecided
    blocks.
    """

    __slots__ = ("_time", "consumed", "parent", "produced", "txs")

    def __init__(self, parent: AvmState) -> None:
        self.parent = parent
        """The state below, which `rebase` replaces."""
        self.produced: dict[ID, UTXO] = {}
        """New outputs without those that are spent again, by ID."""
        self.consumed: dict[ID, None] = {}
        """The outputs of the state below that are spent, in order."""
        self.txs: dict[ID, AvmTx] = {}
        """New transactions, in order of execution."""
        self._time: int | None = None

    def utxo(self, utxo_id: ID) -> UTXO | None:
        """Return an unspent output of this chain."""
        if utxo_id in self.consumed:
            return None
        return self.produced.get(utxo_id) or self.parent.utxo(utxo_id)

    def tx(self, tx_id: ID) -> AvmTx | None:
        """Return an accepted transaction."""
        return self.txs.get(tx_id) or self.parent.tx(tx_id)

    def shared(self, source_chain: ID, utxo_id: ID) -> UTXO | None:
        """Return an output that another chain has exported to this one and that no accepted block imports."""
        return self.parent.shared(source_chain, utxo_id)

    def timestamp(self) -> int:
        """Return the chain's time in Unix seconds."""
        return self.parent.timestamp() if self._time is None else self._time

    def set_timestamp(self, time: int) -> None:
        """Set the chain's time in Unix seconds."""
        self._time = time

    def add(self, tx: AvmTx, consumed: Iterable[ID], produced: Iterable[UTXO]) -> None:
        """Add a transaction with the outputs that it consumes and produces."""
        for utxo_id in consumed:
            if self.produced.pop(utxo_id, None) is None:
                self.consumed[utxo_id] = None
        for utxo in produced:
            self.produced[utxo.utxo_id] = utxo
        self.txs[tx.tx_id] = tx

    def rebase(self, parent: AvmState) -> None:
        """Read through to another parent from now on, which must have the same content as the old one."""
        self.parent = parent
