"""The rows of subnets with their owners, and of blockchains."""

from collections.abc import Iterable

from typing_extensions import override

from chaindb.database import Database
from platform_app import models
from platform_app.store import rows
from platform_app.store.facet import Commit, FacetRows
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ID
from utxo.components import OutputOwners

_SUBNET = ("subnet_id", "position", "locktime", "threshold", "owner")
_OWNER = ("locktime", "threshold", "owner")
_CHAIN = ("blockchain_id", "position", "subnet_id", "name", "vm_id", "fx_ids", "genesis_size")
_SUBNET_OWNER = "SELECT owner FROM platform_app_subnet WHERE subnet_id = %s"
_SUBNET_OF_BLOCKCHAIN = "SELECT subnet_id FROM platform_app_blockchain WHERE blockchain_id = %s"


class SubnetRows(FacetRows):
    """Reads and writes subnets and blockchains."""

    __slots__ = ("_owners", "_subnets")

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self._owners: dict[ID, OutputOwners | None] = {}
        self._subnets: dict[ID, ID | None] = {}

    def owner(self, subnet_id: ID) -> OutputOwners | None:
        """Return the owner of a subnet; None if the subnet does not exist."""
        if subnet_id not in self._owners:
            row = self._db.row(_SUBNET_OWNER, (subnet_id,))
            self._owners[subnet_id] = None if row is None else rows.owners_of(bytes(row[0]))
        return self._owners[subnet_id]

    def of_blockchain(self, blockchain_id: ID) -> ID | None:
        """Return the subnet that validates a blockchain; None if the blockchain does not exist."""
        if blockchain_id not in self._subnets:
            row = self._db.row(_SUBNET_OF_BLOCKCHAIN, (blockchain_id,))
            self._subnets[blockchain_id] = None if row is None else ID(bytes(row[0]))
        return self._subnets[blockchain_id]

    @override
    @staticmethod
    def write(commit: Commit) -> None:
        """Write new subnets, new owners and new blockchains."""
        db, changes = commit.db, commit.diff.subnets.changes()
        new = [
            (subnet_id, commit.position(subnet_id), *_owner_columns(owner))
            for subnet_id, owner in changes.added
        ]
        db.insert(models.Subnet, _SUBNET, new)
        changed = [
            (*_owner_columns(owner), subnet_id) for subnet_id, owner in changes.owners.items()
        ]
        db.update(models.Subnet, ("subnet_id",), _OWNER, changed)
        gone = ((subnet_id,) for subnet_id in changes.owners)
        db.delete(models.SubnetOwner, ("subnet",), gone)
        _insert_control_keys(db, [*changes.added, *changes.owners.items()])
        _insert_blockchains(commit)


def _owner_columns(owner: OutputOwners) -> tuple[int, int, bytes]:
    return (owner.locktime, owner.threshold, rows.owners_bytes(owner))


def _insert_control_keys(db: Database, owners: Iterable[tuple[ID, OutputOwners]]) -> None:
    found = ((address, subnet_id) for subnet_id, owner in owners for address in owner.addresses)
    db.insert(models.SubnetOwner, ("address", "subnet"), found)


def _insert_blockchains(commit: Commit) -> None:
    found = []
    for tx in commit.diff.subnets.changes().blockchains:
        created = tx.unsigned
        assert isinstance(created, CreateChainTx)
        found.append(
            (
                tx.tx_id, commit.position(tx.tx_id), created.subnet_id, created.chain_name,
                created.vm_id, b"".join(created.fx_ids), len(created.genesis_data),
            )
        )  # fmt: skip
    commit.db.insert(models.Blockchain, _CHAIN, found)
