"""Subnets with their owners, and the blockchains that they validate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, Self

from typing_extensions import override

from platform_app.state.facets import FacetDiff
from platform_app.txs.base import Tx
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ID
from utxo.components import OutputOwners


class Subnets(Protocol):
    """The reads of this facet."""

    def owner(self, subnet_id: ID) -> OutputOwners | None:
        """Return the owner of a subnet; None if the subnet does not exist."""

    def of_blockchain(self, blockchain_id: ID) -> ID | None:
        """Return the subnet that validates a blockchain; None if the blockchain does not exist."""


@dataclass(frozen=True, slots=True)
class SubnetChanges:
    """Changes of subnets, each tuple in the order of events."""

    added: tuple[tuple[ID, OutputOwners], ...]
    """New subnets with their owners."""
    owners: Mapping[ID, OutputOwners]
    """New owners of subnets that existed before."""
    blockchains: tuple[Tx, ...]
    """Transactions that create blockchains."""


class SubnetDiff(FacetDiff[Subnets]):
    """Changes of subnets and blockchains."""

    __slots__ = ("_added", "_blockchains", "_owners")

    def __init__(self, parent: Subnets) -> None:
        super().__init__(parent)
        self._added: dict[ID, OutputOwners] = {}
        self._owners: dict[ID, OutputOwners] = {}
        self._blockchains: dict[ID, Tx] = {}

    def owner(self, subnet_id: ID) -> OutputOwners | None:
        """Return the owner of a subnet; None if the subnet does not exist."""
        owner = self._owners.get(subnet_id) or self._added.get(subnet_id)
        return self._parent.owner(subnet_id) if owner is None else owner

    def of_blockchain(self, blockchain_id: ID) -> ID | None:
        """Return the subnet that validates a blockchain; None if the blockchain does not exist."""
        created = self._blockchains.get(blockchain_id)
        if created is None:
            return self._parent.of_blockchain(blockchain_id)
        assert isinstance(created.unsigned, CreateChainTx)
        return created.unsigned.subnet_id

    def add(self, subnet_id: ID, owner: OutputOwners) -> None:
        """Add a subnet."""
        self._added[subnet_id] = owner

    def set_owner(self, subnet_id: ID, owner: OutputOwners) -> None:
        """Change the owner of a subnet."""
        owners = self._added if subnet_id in self._added else self._owners
        owners[subnet_id] = owner

    def add_blockchain(self, tx: Tx) -> None:
        """Add the blockchain that a CreateChainTx creates."""
        self._blockchains[tx.tx_id] = tx

    @override
    def apply(self, into: Self) -> None:
        """Repeat every change on another diff, which may be the parent."""
        for subnet_id, owner in self._added.items():
            into.add(subnet_id, owner)
        for subnet_id, owner in self._owners.items():
            into.set_owner(subnet_id, owner)
        for tx in self._blockchains.values():
            into.add_blockchain(tx)

    @override
    def changes(self) -> SubnetChanges:
        """Return all changes relative to the parent."""
        return SubnetChanges(
            added=tuple(self._added.items()),
            owners=dict(self._owners),
            blockchains=tuple(self._blockchains.values()),
        )
