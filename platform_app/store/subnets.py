"""Writing of subnets with their owners, and of blockchains."""

from collections.abc import Iterable, Mapping

from chaindb.database import Database
from platform_app import models
from platform_app.state.chain import DiffChanges
from platform_app.store import rows
from platform_app.txs.base import Tx
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ID
from utxo.components import OutputOwners

_SUBNET = ("subnet_id", "position", "locktime", "threshold", "owner")
_OWNER = ("locktime", "threshold", "owner")
_CHAIN = ("blockchain_id", "position", "subnet_id", "name", "vm_id", "fx_ids", "genesis_size")


def write_subnets(db: Database, changes: DiffChanges, positions: Mapping[ID, int]) -> None:
    """Write the changes of subnets by a block; `positions` are the keys of its transactions."""
    new = [
        (subnet_id, positions[subnet_id], *_owner_columns(owner))
        for subnet_id, owner in changes.subnets
    ]
    db.insert(models.Subnet, _SUBNET, new)
    changed = [
        (*_owner_columns(owner), subnet_id) for subnet_id, owner in changes.subnet_owners.items()
    ]
    db.update(models.Subnet, ("subnet_id",), _OWNER, changed)
    gone = ((subnet_id,) for subnet_id in changes.subnet_owners)
    db.delete(models.SubnetOwner, ("subnet",), gone)
    _insert_control_keys(db, [*changes.subnets, *changes.subnet_owners.items()])
    _insert_blockchains(db, changes.chains, positions)


def _owner_columns(owner: OutputOwners) -> tuple[int, int, bytes]:
    return (owner.locktime, owner.threshold, rows.owners_bytes(owner))


def _insert_control_keys(db: Database, owners: Iterable[tuple[ID, OutputOwners]]) -> None:
    found = ((address, subnet_id) for subnet_id, owner in owners for address in owner.addresses)
    db.insert(models.SubnetOwner, ("address", "subnet"), found)


def _insert_blockchains(db: Database, chains: Iterable[Tx], positions: Mapping[ID, int]) -> None:
    found = []
    for tx in chains:
        created = tx.unsigned
        assert isinstance(created, CreateChainTx)
        found.append(
            (
                tx.tx_id, positions[tx.tx_id], created.subnet_id, created.chain_name, created.vm_id,
                b"".join(created.fx_ids), len(created.genesis_data),
            )
        )  # fmt: skip
    db.insert(models.Blockchain, _CHAIN, found)
