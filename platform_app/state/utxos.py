"""Unspent outputs of this chain, outputs shared with other chains, and the record of rewards."""

from dataclasses import dataclass
from typing import Protocol, Self

from typing_extensions import override

from platform_app.state.facets import FacetDiff
from primitives.ids import ID
from utxo.components import UTXO


class UTXOs(Protocol):
    """The reads of this facet."""

    def get(self, utxo_id: ID) -> UTXO | None:
        """Return an unspent output of this chain."""

    def shared(self, peer_chain: ID, utxo_id: ID) -> UTXO | None:
        """Return an output that another chain has exported to this one and that is unspent."""


@dataclass(frozen=True, slots=True)
class UTXOChanges:
    """Changes of outputs, each tuple in the order of events."""

    produced: tuple[UTXO, ...]
    """New outputs, without those that the diff spends again."""
    consumed: tuple[ID, ...]
    """IDs of spent UTXOs that existed before."""
    imported: tuple[tuple[ID, ID], ...]
    """(chain, UTXO ID): spent outputs that the chain has exported to this one."""
    importers: tuple[ID, ...]
    """The transactions that import the outputs of `imported`, in the same order."""
    exported: tuple[tuple[ID, UTXO], ...]
    """(chain, UTXO): outputs that the chain may now import."""
    rewards: tuple[tuple[ID, UTXO], ...]
    """(staking transaction, UTXO); each UTXO is also in `produced` unless it is spent again."""


class UTXODiff(FacetDiff[UTXOs]):
    """Changes of outputs."""

    __slots__ = ("_consumed", "_exported", "_imported", "_produced", "_rewards")

    def __init__(self, parent: UTXOs) -> None:
        super().__init__(parent)
        self._produced: dict[ID, UTXO] = {}
        # Values: whether the output existed before this diff.
        self._consumed: dict[ID, bool] = {}
        # Values: the transactions that import the outputs.
        self._imported: dict[tuple[ID, ID], ID] = {}
        self._exported: list[tuple[ID, UTXO]] = []
        self._rewards: list[tuple[ID, UTXO]] = []

    def get(self, utxo_id: ID) -> UTXO | None:
        """Return an unspent output of this chain."""
        if utxo_id in self._consumed:
            return None
        return self._produced.get(utxo_id) or self._parent.get(utxo_id)

    def shared(self, peer_chain: ID, utxo_id: ID) -> UTXO | None:
        """Return an output that another chain has exported to this one and that is unspent."""
        if (peer_chain, utxo_id) in self._imported:
            return None
        return self._parent.shared(peer_chain, utxo_id)

    def consume(self, utxo_id: ID) -> None:
        """Spend an output of this chain."""
        self._consumed[utxo_id] = self._produced.pop(utxo_id, None) is None

    def produce(self, utxo: UTXO) -> None:
        """Add an unspent output that did not exist before."""
        self._produced[utxo.utxo_id] = utxo

    def consume_shared(self, peer_chain: ID, utxo_id: ID, tx_id: ID) -> None:
        """Spend an output that another chain has exported to this one, in a transaction."""
        self._imported[peer_chain, utxo_id] = tx_id

    def export(self, peer_chain: ID, utxo: UTXO) -> None:
        """Let another chain import an output."""
        self._exported.append((peer_chain, utxo))

    def add_reward(self, tx_id: ID, utxo: UTXO) -> None:
        """Record that an output is a staker's reward. The caller also calls `produce` for it."""
        self._rewards.append((tx_id, utxo))

    @override
    def apply(self, into: Self) -> None:
        """Repeat every change on another diff, which may be the parent."""
        for utxo_id, was_there in self._consumed.items():
            if was_there:
                into.consume(utxo_id)
        for utxo in self._produced.values():
            into.produce(utxo)
        for (peer_chain, utxo_id), tx_id in self._imported.items():
            into.consume_shared(peer_chain, utxo_id, tx_id)
        for peer_chain, utxo in self._exported:
            into.export(peer_chain, utxo)
        for tx_id, utxo in self._rewards:
            into.add_reward(tx_id, utxo)

    @override
    def changes(self) -> UTXOChanges:
        """Return all changes relative to the parent."""
        return UTXOChanges(
            produced=tuple(self._produced.values()),
            consumed=tuple(key for key, was_there in self._consumed.items() if was_there),
            imported=tuple(self._imported),
            importers=tuple(self._imported.values()),
            exported=tuple(self._exported),
            rewards=tuple(self._rewards),
        )
