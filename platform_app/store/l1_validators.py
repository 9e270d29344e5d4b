"""Reading and writing of L1s and their validators."""

from collections.abc import Iterable, Iterator
from typing import Any

from typing_extensions import override

from chaindb.database import Database, Row
from chaindb.fields import for_database
from platform_app import models
from platform_app.state.chain import Diff
from platform_app.state.l1_validators import (
    Conversion,
    Expiry,
    L1Fees,
    L1Totals,
    L1Validator,
)
from platform_app.store.facets import Commit, FacetRows
from platform_app.txs.l1 import PChainOwner
from primitives.codec import Codec
from primitives.ids import ID, NodeID

_OWNERS = Codec({})

_VALIDATOR = (
    "validation_id", "subnet_id", "node_id", "node", "public_key", "remaining_balance_owner",
    "deactivation_owner", "start_time", "weight", "min_nonce", "end_accumulated_fee",
    "is_active", "added_height", "removed_height",
)  # fmt: skip
_CHANGED = ("weight", "min_nonce", "end_accumulated_fee", "is_active", "removed_height")
_WEIGHT = (
    "validation_id", "from_height", "until_height", "subnet_id", "node_id", "public_key", "weight",
)  # fmt: skip
_CONVERSION = ("subnet_id", "conversion_id", "manager_chain_id", "manager_address", "height")

COLUMNS = """
SELECT validation_id, subnet_id, node_id, public_key, remaining_balance_owner, deactivation_owner,
       start_time, weight, min_nonce, end_accumulated_fee
FROM platform_app_l1validator
"""
_BY_ID = COLUMNS + "WHERE removed_height IS NULL AND validation_id IN ({keys})"
_ACTIVE = COLUMNS + (
    "WHERE is_active AND (end_accumulated_fee, validation_id) > (%s, %s) "
    "ORDER BY end_accumulated_fee, validation_id LIMIT %s"
)
_OF_NODE = """
SELECT validation_id FROM platform_app_l1validator
WHERE subnet_id = %s AND node_id = %s AND removed_height IS NULL
"""
_TOTAL = """
SELECT weight FROM platform_app_l1validator WHERE subnet_id = %s AND removed_height IS NULL
"""
_CONVERTED = """
SELECT conversion_id, manager_chain_id, manager_address FROM platform_app_l1conversion
WHERE subnet_id = %s
"""
_EXPIRY = 'SELECT 1 FROM platform_app_l1expiry WHERE "time" = %s AND validation_id = %s'
_EXPIRED = 'SELECT "time", validation_id FROM platform_app_l1expiry WHERE "time" <= %s'
_END_WEIGHT = """
UPDATE platform_app_l1weight SET until_height = %s
WHERE validation_id = %s AND until_height IS NULL
"""
_FIRST = 4
_MOST = 1024
"""Size of the first and of the largest batch of active validators that one statement reads."""


class L1Rows(FacetRows):
    """Reads and writes L1s and their validators.

    Args:
        db: The chain's database.
        totals: The values in the row of the tip, with which most blocks need no statement here.
    """

    __slots__ = ("_active", "_by_id", "_conversions", "_totals")

    def __init__(self, db: Database, totals: L1Totals) -> None:
        super().__init__(db)
        self._totals = totals
        self._by_id: dict[ID, L1Validator | None] = {}
        self._conversions: dict[ID, Conversion | None] = {}
        self._active: list[L1Validator] = []

    def fees(self) -> L1Fees:
        """Return the state of the continuous fee."""
        return self._totals.fees

    def get(self, validation_id: ID) -> L1Validator | None:
        """Return a validator, active or not; None if it was removed or never existed."""
        if validation_id not in self._by_id:
            rows = list(self._db.rows_by_keys(_BY_ID, [validation_id]))
            self._by_id[validation_id] = validator_of(rows[0]) if rows else None
        return self._by_id[validation_id]

    def of_node(self, subnet_id: ID, node_id: NodeID) -> ID | None:
        """Return the validation of an L1 by a node, of which there is at most one."""
        row = self._db.row(_OF_NODE, (subnet_id, node_id))
        return None if row is None else ID(bytes(row[0]))

    def total_weight(self, subnet_id: ID) -> int:
        """Return the weight of all validators of an L1, active or not."""
        return sum(int(weight) for (weight,) in self._db.rows(_TOTAL, (subnet_id,)))

    def active(self) -> Iterator[L1Validator]:
        """Yield the active validators of all L1s; the one whose balance ends first comes first."""
        place = 0
        while place < self._totals.active:
            if place == len(self._active):
                self._read_active()
            yield self._active[place]
            place += 1

    def active_count(self) -> int:
        """Return the number of active validators of all L1s."""
        return self._totals.active

    def conversion(self, subnet_id: ID) -> Conversion | None:
        """Return how a subnet was converted; None if it is no L1."""
        if subnet_id not in self._conversions:
            row = self._db.row(_CONVERTED, (subnet_id,))
            self._conversions[subnet_id] = None if row is None else conversion_of(row)
        return self._conversions[subnet_id]

    def has_expiry(self, expiry: Expiry) -> bool:
        """Return whether a registration message has been used and has not expired."""
        return self._db.row(_EXPIRY, expiry) is not None

    def expired(self, time: int) -> Iterable[Expiry]:
        """Return the used registration messages that expire at this time or before."""
        if self._totals.expiries == 0:
            return []
        rows = self._db.rows(_EXPIRED, (time,))
        return [Expiry(int(moment), ID(bytes(key))) for moment, key in rows]

    def _read_active(self) -> None:
        end, key = self._active[-1].order if self._active else (0, b"")
        size = min(_MOST, max(_FIRST, 8 * len(self._active)))
        behind = (for_database(end, 20, self._db.connection.vendor), key)
        self._active.extend(map(validator_of, self._db.rows(_ACTIVE, (*behind, size))))

    @override
    @staticmethod
    def write(commit: Commit) -> None:
        """Write conversions, validators with their weights at this height, and expiries."""
        db, height = commit.db, commit.moment.height
        changes = commit.diff.l1_validators.changes()
        conversions = ((key, *value, height) for key, value in changes.conversions.items())
        db.insert(models.L1Conversion, _CONVERSION, conversions)
        gone = (tuple(expiry) for expiry, is_added in changes.expiries.items() if not is_added)
        db.delete(models.L1Expiry, ("time", "validation_id"), gone)
        used = (tuple(expiry) for expiry, is_added in changes.expiries.items() if is_added)
        db.insert(models.L1Expiry, ("time", "validation_id"), used)
        if changes.validators:
            _write_validators(db, height, list(changes.validators.values()))


def totals_after(before: L1Totals, diff: Diff) -> L1Totals:
    """Return the values for the row of the tip after the changes of accepted blocks."""
    l1s = diff.l1_validators
    changes = l1s.changes()
    added = sum(1 if is_added else -1 for is_added in changes.expiries.values())
    return L1Totals(l1s.fees(), l1s.active_count(), max(0, before.expiries + added))


def _write_validators(db: Database, height: int, changed: list[L1Validator]) -> None:
    keys = [item.validation_id for item in changed]
    before = {item.validation_id: item for item in map(validator_of, db.rows_by_keys(_BY_ID, keys))}
    kept = [item for item in changed if item.validation_id in before]
    # A node may leave and register again in one block: removals come first.
    kept.sort(key=lambda item: item.weight != 0)
    changes = (
        (
            item.weight, item.min_nonce, item.end_accumulated_fee if item.weight else 0,
            item.is_active, None if item.weight else height, item.validation_id,
        )
        for item in kept
    )  # fmt: skip
    db.update(models.L1Validator, ("validation_id",), _CHANGED, changes)
    new = [item for item in changed if item.validation_id not in before and item.weight]
    db.insert(models.L1Validator, _VALIDATOR, (_validator_row(item, height) for item in new))
    moved = [item for item in kept if _counted(item) != _counted(before[item.validation_id])]
    for item in moved:
        db.execute(_END_WEIGHT, (height, item.validation_id))
    db.insert(
        models.L1Weight,
        _WEIGHT,
        (_weight_row(item, height) for item in (*moved, *new) if item.weight),
    )


def _counted(validator: L1Validator) -> tuple[int, NodeID]:
    """Return the values that count in validator sets: the weight, and the node that has it."""
    return validator.weight, validator.effective_node_id


def _validator_row(item: L1Validator, height: int) -> Row:
    return (
        item.validation_id, item.subnet_id, item.node_id, str(item.node_id), item.public_key,
        owner_bytes(item.remaining_balance_owner), owner_bytes(item.deactivation_owner), item.start,
        item.weight, item.min_nonce, item.end_accumulated_fee, item.is_active, height, None,
    )  # fmt: skip


def _weight_row(item: L1Validator, height: int) -> Row:
    key = item.public_key if item.is_active else None
    return (
        item.validation_id, height, None, item.subnet_id, item.effective_node_id, key, item.weight,
    )  # fmt: skip


def owner_bytes(owner: PChainOwner) -> bytes:
    """Return the bytes of an owner, with the codec's version."""
    return _OWNERS.marshal(owner)


def owner_of(raw: bytes) -> PChainOwner:
    """Return the owner with these bytes."""
    return _OWNERS.unmarshal(PChainOwner, bytes(raw))


def record_of(row: models.L1Validator) -> L1Validator:
    """Return the validator of a row."""
    return validator_of(
        (
            row.validation_id, row.subnet_id, row.node_id, row.public_key,
            row.remaining_balance_owner, row.deactivation_owner, row.start_time, row.weight,
            row.min_nonce, row.end_accumulated_fee,
        )
    )  # fmt: skip


def conversion_of(row: tuple[Any, ...]) -> Conversion:
    """Return a conversion from its ID, manager chain and manager address."""
    conversion_id, chain_id, address = map(bytes, row)
    return Conversion(ID(conversion_id), ID(chain_id), address)


def validator_of(row: tuple[Any, ...]) -> L1Validator:
    """Return a validator from the columns of `COLUMNS`."""
    (
        validation_id, subnet_id, node_id, public_key, balance_owner, deactivation_owner, start,
        weight, min_nonce, end_accumulated_fee,
    ) = row  # fmt: skip
    return L1Validator(
        validation_id=ID(bytes(validation_id)),
        subnet_id=ID(bytes(subnet_id)),
        node_id=NodeID(bytes(node_id)),
        public_key=bytes(public_key),
        remaining_balance_owner=owner_of(balance_owner),
        deactivation_owner=owner_of(deactivation_owner),
        start=int(start),
        weight=int(weight),
        min_nonce=int(min_nonce),
        end_accumulated_fee=int(end_accumulated_fee),
    )
