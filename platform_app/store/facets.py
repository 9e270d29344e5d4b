"""The interface of a facet's rows, and the rows of small facets: supplies, accepted transactions, subnets."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from typing_extensions import override

from chaindb.database import Database, Row
from chaindb.fields import row_id
from platform_app import models
from platform_app.state.chain import Diff
from platform_app.store import rows
from platform_app.txs.base import Tx
from platform_app.txs.l1 import SetAutoRenewedValidatorConfigTx
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ID
from utxo.components import OutputOwners


class Moment(NamedTuple):
    """The height and time at which a block changes the state."""

    height: int
    time: int
    """Chain time after the block."""


class TxPlace(NamedTuple):
    """The place of a transaction in a block."""

    height: int
    place: int


class Commit(NamedTuple):
    """Accepted blocks that are being written, with their combined changes."""

    db: Database
    diff: Diff
    """Its changes take effect with the last block."""
    moment: Moment
    """The height of the last block, and the time after it."""
    asset_id: ID
    """The asset of fees and of the Primary Network's stake."""
    places: Mapping[ID, TxPlace]
    """The places of the transactions."""

    def position(self, tx_id: ID) -> int:
        """Return the key of a transaction's row."""
        return row_id(*self.places[tx_id])


class FacetRows(ABC):
    """The rows of one facet: reads them for the rules and writes the changes of accepted blocks.

    Reads see the last accepted block. Each of them costs a statement, so every value is cached; an object
    is valid until the next block.
    """

    __slots__ = ("_db",)

    def __init__(self, db: Database) -> None:
        self._db = db

    def prefetch(self, txs: Sequence[Tx]) -> None:  # noqa: B027  # optional: few facets can batch their reads
        """Read the objects that rules need for transactions, with a few statements for all of them.

        Without this method the rules read them one by one.
        """

    @staticmethod
    @abstractmethod
    def write(commit: Commit) -> None:
        """Write the changes of this facet. The caller holds the lock and the transaction."""


_SUPPLY = "SELECT amount FROM platform_app_supply WHERE subnet_id = %s"


class SupplyRows(FacetRows):
    """Reads and writes the current supplies."""

    __slots__ = ("_supplies",)

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self._supplies: dict[ID, int | None] = {}

    def get(self, subnet_id: ID) -> int | None:
        """Return the current supply of a subnet's staked asset."""
        if subnet_id not in self._supplies:
            row = self._db.row(_SUPPLY, (subnet_id,))
            self._supplies[subnet_id] = None if row is None else int(row[0])
        return self._supplies[subnet_id]

    @override
    @staticmethod
    def write(commit: Commit) -> None:
        """Write new supplies."""
        changes = commit.diff.supplies.changes()
        commit.db.upsert(models.Supply, ("subnet_id", "amount"), changes.items())


_TX = ("id", "tx_id", "height", "index", "kind", "status", "burned", "raw")
_TXS = "SELECT tx_id, raw FROM platform_app_tx WHERE tx_id IN ({keys})"


class TxRows(FacetRows):
    """Reads and writes accepted transactions."""

    __slots__ = ("_txs",)

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self._txs: dict[ID, Tx | None] = {}

    @override
    def prefetch(self, txs: Sequence[Tx]) -> None:
        """Read which of the transactions are accepted already, and the transactions whose terms they change."""
        changed = (
            tx.unsigned.tx_id
            for tx in txs
            if isinstance(tx.unsigned, SetAutoRenewedValidatorConfigTx)
        )
        self.load([*(tx.tx_id for tx in txs), *changed])

    def load(self, tx_ids: Iterable[ID]) -> None:
        """Read accepted transactions, hundreds per statement."""
        wanted = [tx_id for tx_id in set(tx_ids) if tx_id not in self._txs]
        self._txs.update(dict.fromkeys(wanted))
        for tx_id, raw in self._db.rows_by_keys(_TXS, wanted):
            self._txs[ID(bytes(tx_id))] = rows.accepted_tx(raw)

    def get(self, tx_id: ID) -> Tx | None:
        """Return an accepted transaction, whether committed or aborted."""
        if tx_id not in self._txs:
            self.load([tx_id])
        return self._txs[tx_id]

    @override
    @staticmethod
    def write(commit: Commit) -> None:
        """Write the transactions of the blocks."""
        commit.db.insert(models.Tx, _TX, _tx_rows(commit))


def _tx_rows(commit: Commit) -> Iterator[Row]:
    for tx, status in commit.diff.txs.changes():
        place = commit.places[tx.tx_id]
        yield (
            commit.position(tx.tx_id), tx.tx_id, *place, rows.kind_of(tx), status.value,
            rows.burned(tx, commit.asset_id), tx.raw,
        )  # fmt: skip


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
    control_keys = (
        (address, subnet_id) for subnet_id, owner in owners for address in owner.addresses
    )
    db.insert(models.SubnetOwner, ("address", "subnet"), control_keys)


def _insert_blockchains(commit: Commit) -> None:
    blockchains = []
    for tx in commit.diff.subnets.changes().blockchains:
        created = tx.unsigned
        assert isinstance(created, CreateChainTx)
        blockchains.append(
            (
                tx.tx_id, commit.position(tx.tx_id), created.subnet_id, created.chain_name,
                created.vm_id, b"".join(created.fx_ids), len(created.genesis_data),
            )
        )  # fmt: skip
    commit.db.insert(models.Blockchain, _CHAIN, blockchains)
