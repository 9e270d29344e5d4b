"""Rows of development changes, overrides for future blocks, and snapshots.

Writers hold the chain's lock and the transaction.
"""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from cchain_app import models
from cchain_app.development.changes import STORAGE, StateEdit
from cchain_app.development.overrides import NextBlockOverrides
from cchain_app.evm.engine import StateChanges
from cchain_app.store import accounts as account_rows
from cchain_app.store import state
from chaindb.database import Database, Row, SqlQuery
from primitives.evm import Address, Hash, Slot, Word

_ONLY: Final = 1
"""The key of the only row."""
_CONDITIONS: Final = (
    "instance_id", "mining", "block_interval", "next_timestamp", "timestamp_interval",
    "next_base_fee", "next_prev_randao", "coinbase", "gas_limit", "next_snapshot", "rewinds",
    "nonces_lowered", "paused",
)  # fmt: skip
_CHANGE: Final = ("id", "number", "kind", "address", "slot", "old", "new", "wrote_history")
_SETTINGS: Final = """
SELECT {columns} FROM cchain_app_developmentsettings WHERE id = %s
""".format(columns=", ".join(_CONDITIONS))
_SETTINGS_QUERY: Final[SqlQuery] = (_SETTINGS, (_ONLY,))
_CHANGES: Final = """
SELECT kind, address, new, old, slot, wrote_history FROM cchain_app_developmentchange
WHERE id >= %s AND id < %s ORDER BY id
"""
_NEXT_ACCOUNT: Final = "SELECT max(id) FROM cchain_app_accountchange WHERE id >= %s AND id < %s"
_NEXT_SLOT: Final = "SELECT max(id) FROM cchain_app_storagechange WHERE id >= %s AND id < %s"
_COUNT: Final = "SELECT count(*) FROM cchain_app_developmentchange WHERE id >= %s AND id < %s"
_FORGET_SNAPSHOTS_OF_CHANGES: Final = (
    "DELETE FROM cchain_app_snapshot WHERE number = %s AND changes > %s"
)
_SET_BEFORE: Final = (
    "SELECT count(*), NULL, NULL FROM cchain_app_developmentchange WHERE id >= %s AND id < %s"
    " UNION ALL SELECT NULL, signature, signer FROM cchain_app_impersonatedsignature WHERE number = %s"
)
KEPT_REWINDS: Final = 10_000
"""Number of rewinds that are kept. A filter that was last polled before them reports from the beginning."""
_CHANGED_ACCOUNTS: Final = (
    "SELECT address FROM cchain_app_accountchange WHERE number = %s AND address IN ({keys})"
)
_CHANGED_SLOTS: Final = (
    "SELECT key FROM cchain_app_storagechange WHERE number = %s AND key IN ({keys})"
)


class RestorableState(NamedTuple):
    """A state of the chain that can be restored."""

    id: int
    number: int
    """Height of the head."""
    hash: Hash
    changes: int
    """Number of development changes on the head before the snapshot."""
    clock_offset: int
    """Seconds."""
    pool: tuple[tuple[bytes, Address, int], ...]
    """Envelope, sender and arrival (Unix seconds) of the pending transactions."""
    next_timestamp: int | None = None
    next_base_fee: int | None = None
    next_prev_randao: Hash | None = None
    chain_id: int | None = None
    """The chain ID for which they are signed; None: the snapshot of an older version, with the chain's ID."""


_SNAPSHOT: Final = """
SELECT {columns} FROM cchain_app_snapshot WHERE id = %s
""".format(columns=", ".join(RestorableState._fields))


def conditions_queries() -> list[SqlQuery]:
    """Return the queries of `conditions`."""
    return [_SETTINGS_QUERY, account_rows.SIGNATURES_QUERY]


def conditions(db: Database) -> NextBlockOverrides:
    """Return the overrides for future blocks."""
    row = db.row(*_SETTINGS_QUERY)
    signatures = account_rows.signatures(db)
    if row is None:
        return NextBlockOverrides(signatures=signatures)
    values: dict[str, Any] = dict(zip(_CONDITIONS, row, strict=True))
    for name in ("instance_id", "next_prev_randao"):
        values[name] = None if values[name] is None else Hash(bytes(values[name]))
    if values["coinbase"] is not None:
        values["coinbase"] = Address(bytes(values["coinbase"]))
    values["next_base_fee"] = _amount(values["next_base_fee"])
    for name in ("nonces_lowered", "paused"):
        values[name] = bool(values[name])
    return NextBlockOverrides(**values, signatures=signatures)


def set_conditions(db: Database, overrides: NextBlockOverrides) -> None:
    """Write the overrides for future blocks; signatures are written one by one (`impersonation`)."""
    row = (_ONLY, *(getattr(overrides, name) for name in _CONDITIONS))
    db.upsert(models.DevelopmentSettings, ("id", *_CONDITIONS), [row])


def changes_query(number: int) -> SqlQuery:
    """Return the query of `changes_before`."""
    return _CHANGES, (models.row_id(number), models.row_id(number + 1))


def changes_before(db: Database, number: int) -> list[StateEdit]:
    """Return the development changes that precede a block, in order."""
    rows = db.rows(*changes_query(number))
    return [_change(row) for row in rows]


def count_before(db: Database, number: int) -> int:
    """Return the number of development changes that precede a block."""
    row = db.row(_COUNT, (models.row_id(number), models.row_id(number + 1)))
    return 0 if row is None else int(row[0])


def set_query(number: int) -> SqlQuery:
    """Return the query of `set_before`."""
    return _SET_BEFORE, (models.row_id(number), models.row_id(number + 1), number)


def set_before(db: Database, number: int) -> tuple[int, dict[bytes, Address]]:
    """Return the number of development changes before a block, and the signers set for it, in one statement."""
    rows = db.rows(*set_query(number))
    (changes,) = (int(row[0]) for row in rows if row[0] is not None)
    signers = {bytes(row[1]): Address(bytes(row[2])) for row in rows if row[0] is None}
    return changes, signers


def has_changes_up_to(db: Database, number: int) -> bool:
    """Return whether there are changes that precede a block or any earlier one."""
    return db.objects(models.DevelopmentChange).filter(id__lt=models.row_id(number + 1)).exists()


def apply(
    db: Database, head: int, changes: Sequence[StateEdit], effect: StateChanges, first_place: int
) -> None:
    """Write changes that were made on the head, and their effect on accounts and slots.

    For accounts and slots that the head's block had not changed, this writes the history rows, so that the state at
    the height before stays as it was.

    Args:
        db: The chain's database.
        head: Height of the head.
        changes: The changes, in order.
        effect: Their combined effect.
        first_place: Number of changes that were made on this head before.
    """
    new_accounts, new_slots = _write_history(db, head, effect) if head else (set(), set())
    rows: list[Row] = []
    for position, edit in enumerate(changes, first_place):
        key = (edit.address, edit.slot)
        fresh = new_slots if edit.kind == STORAGE else new_accounts
        wrote = (key if edit.kind == STORAGE else edit.address) in fresh
        fresh.discard(key if edit.kind == STORAGE else edit.address)
        rows.append(
            (
                models.row_id(head + 1, position), head + 1, edit.kind, edit.address, edit.slot, edit.old,
                edit.new, wrote,
            )
        )  # fmt: skip
    db.insert(models.DevelopmentChange, _CHANGE, rows)
    state.write_now(db, effect)


def _write_history(db: Database, head: int, effect: StateChanges) -> tuple[set[Any], set[Any]]:
    """Write the history rows of accounts and slots that the head's block did not change."""
    changed = _changed_in(db, _CHANGED_ACCOUNTS, head, list(effect.accounts))
    accounts = {key: change for key, change in effect.accounts.items() if key not in changed}
    keys = [address + slot for address, slot in effect.storage]
    changed = _changed_in(db, _CHANGED_SLOTS, head, keys)
    slots = {
        (address, slot): change
        for (address, slot), change in effect.storage.items()
        if address + slot not in changed
    }
    state.write_history(
        db,
        head,
        StateChanges(accounts=accounts, storage=slots),
        first_account=_next_place(db, _NEXT_ACCOUNT, head),
        first_slot=_next_place(db, _NEXT_SLOT, head),
    )
    return set(accounts), set(slots)


def _changed_in(db: Database, sql: str, number: int, keys: Sequence[bytes]) -> set[bytes]:
    return {bytes(key) for (key,) in db.rows_by_keys(sql, keys, (number,))}


def _next_place(db: Database, sql: str, number: int) -> int:
    row = db.row(sql, (models.row_id(number), models.row_id(number + 1)))
    return 0 if row is None or row[0] is None else int(row[0]) - models.row_id(number) + 1


def forget_changes(
    db: Database, number: int, first_place: int, undone: Sequence[StateEdit]
) -> None:
    """Delete the changes before a block from a position on, and all that precede later blocks.

    The history that they wrote for the block before is deleted too.

    Args:
        db: The chain's database.
        number: Height of the block.
        first_place: Number of the changes before it that stay.
        undone: The other changes before it.
    """
    for change in undone:
        if not change.wrote_history:
            continue
        if change.kind == STORAGE:
            assert change.slot is not None
            key = change.address + change.slot
            db.delete(models.StorageChange, ("key", "number"), [(key, number - 1)])
        else:
            db.delete(models.AccountChange, ("address", "number"), [(change.address, number - 1)])
    first = models.row_id(number, first_place)
    db.execute("DELETE FROM cchain_app_developmentchange WHERE id >= %s", (first,))


def add_rewind(db: Database, count: int, number: int) -> None:
    """Record a rewind to a height, and delete the rows of the oldest rewinds."""
    db.insert(models.Rewind, ("id", "number"), [(count, number)])
    db.execute("DELETE FROM cchain_app_rewind WHERE id <= %s", (count - KEPT_REWINDS,))


def lowest_since(db: Database, seen: int) -> int | None:
    """Return the lowest height to which the chain was rewound after `seen` rewinds; 0 if some rows were deleted."""
    row = db.row("SELECT min(id), min(number) FROM cchain_app_rewind WHERE id > %s", (seen,))
    if row is None or row[0] is None:
        return None
    return int(row[1]) if row[0] == seen + 1 else 0


def add_snapshot(db: Database, snapshot: RestorableState) -> None:
    """Write a snapshot."""
    db.objects(models.Snapshot).create(
        **snapshot._replace(
            pool=[[raw.hex(), sender.hex(), arrival] for raw, sender, arrival in snapshot.pool]  # type: ignore[arg-type]  # as JSON
        )._asdict()
    )


def snapshot(db: Database, number: int) -> RestorableState | None:
    """Return the snapshot with this number, or None."""
    row = db.row(_SNAPSHOT, (number,))
    return None if row is None else _snapshot(row)


def snapshots(db: Database) -> list[tuple[int, int, Hash]]:
    """Return number, height and hash of each snapshot, in order."""
    rows = db.objects(models.Snapshot).order_by("id").values_list("id", "number", "hash")
    return [(number, height, Hash(bytes(block))) for number, height, block in rows]


def forget_snapshots(db: Database, first: int) -> None:
    """Delete a snapshot and all later ones."""
    db.execute("DELETE FROM cchain_app_snapshot WHERE id >= %s", (first,))


def forget_snapshots_above(db: Database, number: int, changes: int | None) -> None:
    """Delete the snapshots that are no longer valid after a rewind to a block.

    Args:
        db: The chain's database.
        number: Height of the block.
        changes: Number of the manual changes on it that were kept; None: all.
    """
    db.execute("DELETE FROM cchain_app_snapshot WHERE number > %s", (number,))
    if changes is not None:
        db.execute(_FORGET_SNAPSHOTS_OF_CHANGES, (number, changes))


def _snapshot(row: Sequence[Any]) -> RestorableState:
    state = RestorableState(*row)
    randao = state.next_prev_randao
    waited = json.loads(row[RestorableState._fields.index("pool")])
    return state._replace(
        hash=Hash(bytes(state.hash)),
        next_base_fee=_amount(state.next_base_fee),
        next_prev_randao=None if randao is None else Hash(bytes(randao)),
        pool=tuple(
            (bytes.fromhex(raw), Address(bytes.fromhex(sender)), arrival)
            for raw, sender, arrival in waited
        ),
    )


def _amount(stored: Any) -> int | None:
    """Return a number of 256 bits as an int, whatever type the database returns."""
    return None if stored is None else int(stored)


def _change(row: tuple[Any, ...]) -> StateEdit:
    kind, address, new, old, slot, wrote_history = row
    return StateEdit(
        kind,
        Address(bytes(address)),
        Word(bytes(new)),
        None if old is None else Word(bytes(old)),
        None if slot is None else Slot(bytes(slot)),
        bool(wrote_history),
    )
