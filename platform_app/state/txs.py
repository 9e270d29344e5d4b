"""Accepted transactions."""

from typing import Protocol, Self

from typing_extensions import override

from platform_app.state.facet import FacetDiff
from platform_app.txs.base import Tx, TxStatus
from primitives.ids import ID


class Txs(Protocol):
    """The reads of this facet."""

    def get(self, tx_id: ID) -> Tx | None:
        """Return an accepted transaction, whether committed or aborted."""


class TxDiff(FacetDiff[Txs]):
    """Newly accepted transactions."""

    __slots__ = ("_txs",)

    def __init__(self, parent: Txs) -> None:
        super().__init__(parent)
        self._txs: dict[ID, tuple[Tx, TxStatus]] = {}

    def get(self, tx_id: ID) -> Tx | None:
        """Return an accepted transaction, whether committed or aborted."""
        known = self._txs.get(tx_id)
        return self._parent.get(tx_id) if known is None else known[0]

    def add(self, tx: Tx, status: TxStatus) -> None:
        """Add an accepted transaction."""
        self._txs[tx.tx_id] = (tx, status)

    @override
    def apply(self, into: Self) -> None:
        """Repeat every change on another diff, which may be the parent."""
        for tx, status in self._txs.values():
            into.add(tx, status)

    @override
    def changes(self) -> tuple[tuple[Tx, TxStatus], ...]:
        """Return the new transactions in the order of execution."""
        return tuple(self._txs.values())
