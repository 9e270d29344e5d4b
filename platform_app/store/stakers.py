"""The rows of stakers: the sets as rules see them. `staking` writes them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from typing_extensions import override

from chaindb.database import Database
from platform_app.state.stakers import AutoRenewal, Staker
from platform_app.store import rows
from platform_app.store.auto_renewal import read_terms
from platform_app.store.facets import Commit, FacetRows
from platform_app.store.staking import write_stakers
from platform_app.txs.base import Tx
from platform_app.txs.l1 import AddAutoRenewedValidatorTx, SetAutoRenewedValidatorConfigTx
from primitives.ids import EMPTY_NODE_ID, ID, PRIMARY_NETWORK_ID, NodeID

_VALIDATORS = (
    rows.STAKERS + "WHERE phase < 3 AND NOT is_delegator AND subnet_id = %s AND node_id IN ({keys})"
)
_ADDED_BY = rows.STAKERS + "WHERE phase < 3 AND NOT is_delegator AND tx_id IN ({keys})"
_STAKER = rows.STAKERS + "WHERE tx_id = %s AND phase < 3"
_REWARD = "SELECT delegatee_reward FROM platform_app_staker WHERE tx_id = %s AND phase < 3"
_CURRENT = (
    rows.STAKERS
    + "WHERE phase = 2 AND (end_time, priority, tx_id) > (%s, %s, %s) "
    + "ORDER BY end_time, priority, tx_id LIMIT %s"
)
_PENDING = (
    rows.STAKERS
    + "WHERE phase = 1 AND (start_time, priority, tx_id) > (%s, %s, %s) "
    + "ORDER BY start_time, priority, tx_id LIMIT %s"
)

_ValidatorKey = tuple[ID, NodeID]

_FIRST = 3
_MOST = 2048
_BEFORE_ALL = (-1, 0, b"")


class StakerRows(FacetRows):
    """Reads the pending and the current set; writes all changes of stakers."""

    __slots__ = (
        "_auto_renewals", "_current", "_delegators", "_pending", "_rewards", "_stakers",
        "_validators",
    )  # fmt: skip

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self._validators: dict[_ValidatorKey, Staker | None] = {}
        self._delegators: dict[_ValidatorKey, tuple[Staker, ...]] = {}
        self._stakers: dict[ID, Staker | None] = {}
        self._rewards: dict[ID, int] = {}
        self._auto_renewals: dict[ID, AutoRenewal | None] = {}
        self._current = StakerWalk(db, pending=False)
        self._pending = StakerWalk(db, pending=True)

    @override
    def prefetch(self, txs: Sequence[Tx]) -> None:
        """Read the validators that transactions name, and the terms of renewal that they change."""
        node_ids_of: defaultdict[ID, set[NodeID]] = defaultdict(set)
        for tx in txs:
            for subnet_id, node_id in _named_validators(tx):
                node_ids_of[subnet_id].add(node_id)
        for subnet_id, node_ids in node_ids_of.items():
            self.load_validators(subnet_id, node_ids)
        self.load_auto_renewed(
            tx.unsigned.tx_id
            for tx in txs
            if isinstance(tx.unsigned, SetAutoRenewedValidatorConfigTx)
        )

    def load_auto_renewed(self, tx_ids: Iterable[ID]) -> None:
        """Read auto-renewed validators and their terms by the transactions that added them, hundreds per statement."""
        wanted = [tx_id for tx_id in set(tx_ids) if tx_id not in self._auto_renewals]
        self._auto_renewals.update(dict.fromkeys(wanted))
        self._auto_renewals.update(read_terms(self._db, wanted))
        for row in self._db.rows_by_keys(_ADDED_BY, wanted):
            staker = rows.staker_of(row)
            self._validators[staker.subnet_id, staker.node_id] = staker

    def load_validators(self, subnet_id: ID, node_ids: Iterable[NodeID]) -> None:
        """Read validators of a subnet, hundreds per statement."""
        wanted = [
            node_id for node_id in set(node_ids) if (subnet_id, node_id) not in self._validators
        ]
        self._validators.update(dict.fromkeys((subnet_id, node_id) for node_id in wanted))
        for row in self._db.rows_by_keys(_VALIDATORS, wanted, (subnet_id,)):
            staker = rows.staker_of(row)
            self._validators[subnet_id, staker.node_id] = staker

    def get(self, tx_id: ID) -> Staker | None:
        """Return the current or pending staker that a transaction added."""
        if tx_id not in self._stakers:
            row = self._db.row(_STAKER, (tx_id,))
            self._stakers[tx_id] = None if row is None else rows.staker_of(row)
        return self._stakers[tx_id]

    def validator(self, subnet_id: ID, node_id: NodeID) -> Staker | None:
        """Return a node's validator record on a subnet, current or pending."""
        if (subnet_id, node_id) not in self._validators:
            self.load_validators(subnet_id, [node_id])
        return self._validators[subnet_id, node_id]

    def delegators(self, subnet_id: ID, node_id: NodeID) -> Iterable[Staker]:
        """Return the delegators of a validator, current and pending."""
        key = (subnet_id, node_id)
        if key not in self._delegators:
            delegators = self._db.rows(rows.DELEGATORS, key)
            self._delegators[key] = tuple(rows.delegators_of(key, delegators))
        return self._delegators[key]

    def current(self) -> Iterator[Staker]:
        """Iterate over the current set in staker order."""
        return iter(self._current)

    def pending(self) -> Iterator[Staker]:
        """Iterate over the pending set in staker order."""
        return iter(self._pending)

    def delegatee_reward(self, validator_tx_id: ID) -> int:
        """Return the delegation rewards that a current validator has accrued so far."""
        if validator_tx_id not in self._rewards:
            row = self._db.row(_REWARD, (validator_tx_id,))
            self._rewards[validator_tx_id] = 0 if row is None else int(row[0])
        return self._rewards[validator_tx_id]

    def auto_renewal(self, validator_tx_id: ID) -> AutoRenewal | None:
        """Return the terms on which a current validator is renewed; None if it leaves at its end."""
        if validator_tx_id not in self._auto_renewals:
            terms = read_terms(self._db, [validator_tx_id])
            self._auto_renewals[validator_tx_id] = terms.get(validator_tx_id)
        return self._auto_renewals[validator_tx_id]

    @override
    @staticmethod
    def write(commit: Commit) -> None:
        """Write the changes of stakers."""
        write_stakers(commit)


class StakerWalk:
    """The current or the pending set in staker order, cached as far as it was read.

    Most callers read the first staker only; the batches grow as the iteration continues.
    """

    __slots__ = ("_complete", "_db", "_read", "_size", "_sql")

    def __init__(self, db: Database, *, pending: bool) -> None:
        self._db = db
        self._sql = _PENDING if pending else _CURRENT
        self._read: list[Staker] = []
        self._size = _FIRST
        self._complete = False

    def __iter__(self) -> Iterator[Staker]:
        place = 0
        while place < len(self._read) or self._read_on():
            yield self._read[place]
            place += 1

    def _read_on(self) -> bool:
        """Read the next batch of stakers; return whether it has any."""
        if self._complete:
            return False
        behind = self._read[-1].order if self._read else _BEFORE_ALL
        batch = self._db.rows(self._sql, (*behind, self._size))
        self._complete = len(batch) < self._size
        self._size = min(self._size * 8, _MOST)
        self._read.extend(map(rows.staker_of, batch))
        return bool(batch)


def _named_validators(tx: Tx) -> Iterator[_ValidatorKey]:
    """Yield the (subnet, node) pairs of the validators that the rules read for a staking transaction."""
    unsigned = tx.unsigned
    if isinstance(unsigned, AddAutoRenewedValidatorTx):
        if len(unsigned.node_id) == len(EMPTY_NODE_ID):
            yield PRIMARY_NETWORK_ID, NodeID(unsigned.node_id)
        return
    period = getattr(unsigned, "validator", None)
    node_id = getattr(unsigned if period is None else period, "node_id", None)
    if not isinstance(node_id, NodeID):
        return
    yield PRIMARY_NETWORK_ID, node_id
    subnet_id = getattr(period, "subnet_id", None) or getattr(unsigned, "subnet_id", None)
    if subnet_id is not None and subnet_id != PRIMARY_NETWORK_ID:
        yield subnet_id, node_id
