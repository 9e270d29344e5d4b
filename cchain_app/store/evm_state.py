"""The state at a height, read from the rows for the EVM engines.

A value at height N is in the oldest change after N; without such a change it is the current row. Each read is a single
SQL statement, so that it is correct while a writer commits the next block or prunes old states. A row of rank -1 means
that the state was pruned. Reads that take several statements check that after the last one (`history`).

All slots of an account and all accounts are yielded in parts, because an account may have millions of slots; after the
last row each function checks whether the state is still kept, and raises `StatePruned` if it is not.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from cchain_app import models
from cchain_app.development.dump import DumpedAccount
from cchain_app.evm.engine import AccountState
from cchain_app.store.history import state_pruned, verify_state
from chaindb.database import Database, SqlQuery
from primitives.evm import ZERO_HASH, ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH

_PRUNED = -1
"""The rank of the row that means that the state was pruned."""

_PIECE = 2_000
"""Number of rows that are fetched together from a large result."""

_ACCOUNT = """
SELECT nonce, balance, code_hash, 0 AS rank FROM (
  SELECT nonce, balance, code_hash FROM cchain_app_accountchange
  WHERE address = %s AND number > %s ORDER BY number LIMIT 1) AS past
UNION ALL
SELECT nonce, balance, code_hash, 1 FROM cchain_app_account WHERE address = %s
UNION ALL
SELECT NULL, NULL, NULL, -1 FROM cchain_app_kepthistory WHERE id = 1 AND first_state > %s
ORDER BY rank LIMIT 1
"""

_SLOT = """
SELECT value, 0 AS rank FROM (
  SELECT value FROM cchain_app_storagechange
  WHERE key = %s AND number > %s ORDER BY number LIMIT 1) AS past
UNION ALL
SELECT value, 1 FROM cchain_app_storageslot WHERE key = %s
UNION ALL
SELECT NULL, -1 FROM cchain_app_kepthistory WHERE id = 1 AND first_state > %s
ORDER BY rank LIMIT 1
"""

_HAS_STORAGE = """
SELECT 1 FROM cchain_app_storageslot AS slot
WHERE slot.key BETWEEN %s AND %s AND NOT EXISTS (
  SELECT 1 FROM cchain_app_storagechange AS later
  WHERE later.key = slot.key AND later.number > %s)
UNION ALL
SELECT 1 FROM cchain_app_storagechange AS oldest
WHERE oldest.key BETWEEN %s AND %s AND oldest.number > %s AND oldest.value <> %s AND NOT EXISTS (
  SELECT 1 FROM cchain_app_storagechange AS older
  WHERE older.key = oldest.key AND older.number > %s AND older.number < oldest.number)
LIMIT 1
"""

_ACCOUNTS = """
SELECT address, nonce, balance, code_hash FROM cchain_app_account WHERE address IN ({keys})
"""
_SLOTS = "SELECT key, value FROM cchain_app_storageslot WHERE key IN ({keys})"
_SLOTS_OF = "SELECT key, value FROM cchain_app_storageslot WHERE key >= %s AND key <= %s"
_ALL_SLOTS = "SELECT key, value FROM cchain_app_storageslot ORDER BY key"
_ALL_ACCOUNTS = """
SELECT address, nonce, balance, code FROM cchain_app_account LEFT JOIN cchain_app_code ON hash = code_hash
ORDER BY address
"""
_NO_SLOTS: tuple[bytes, Iterator[Any]] = (b"", iter(()))
_NODES = "SELECT key, rlp FROM cchain_app_trienode WHERE key IN ({keys})"


def account_at(db: Database, address: Address, number: int) -> AccountState | None:
    """Return an account as of block `number`, or None if it did not exist.

    Raises:
        StatePruned: The state at that height was pruned.
    """
    row = db.row(_ACCOUNT, (address, number, address, number))
    if row is not None and row[3] == _PRUNED:
        raise state_pruned(db, number)
    return None if row is None else account_of(row[0], row[1], row[2])


def slot_query(address: Address, slot: Slot, number: int) -> SqlQuery:
    """Return the query of `slot_at`."""
    key = address + slot
    return _SLOT, (key, number, key, number)


def slot_at(db: Database, address: Address, slot: Slot, number: int) -> Word:
    """Return a storage slot as of block `number`; zero if it was not set. Raises as `account_at`."""
    row = db.row(*slot_query(address, slot, number))
    if row is not None and row[1] == _PRUNED:
        raise state_pruned(db, number)
    return ZERO_WORD if row is None else Word(bytes(row[0]))


def has_storage_at(db: Database, address: Address, number: int) -> bool:
    """Return whether an account had a nonzero slot as of block `number`. Raises as `account_at`."""
    first, last = address + bytes(32), address + b"\xff" * 32
    row = db.row(_HAS_STORAGE, (first, last, number, first, last, number, ZERO_WORD, number))
    verify_state(db, number)
    return row is not None


def code(db: Database, code_hash: Hash) -> bytes:
    """Return code by its hash; empty if it does not exist (the hash of no bytes)."""
    row = db.row("SELECT code FROM cchain_app_code WHERE hash = %s", (code_hash,))
    return b"" if row is None else bytes(row[0])


def codes(db: Database, hashes: Iterable[Hash]) -> dict[Hash, bytes]:
    """Return the codes with these hashes; one statement reads hundreds."""
    sql = "SELECT hash, code FROM cchain_app_code WHERE hash IN ({keys})"
    rows = db.rows_by_keys(sql, sorted(hashes))
    return {Hash(bytes(code_hash)): bytes(code) for code_hash, code in rows}


def block_hash(db: Database, number: int) -> Hash:
    """Return the hash of an accepted block, or zero if it does not exist."""
    row = db.row("SELECT hash FROM cchain_app_block WHERE number = %s", (number,))
    return ZERO_HASH if row is None else Hash(bytes(row[0]))


def accounts_queries(db: Database, addresses: Iterable[Address]) -> list[SqlQuery]:
    """Return the queries of `accounts_now`."""
    return db.key_queries(_ACCOUNTS, sorted(addresses))


def accounts_now(db: Database, addresses: Iterable[Address]) -> dict[Address, AccountState]:
    """Return those of the accounts that exist at the head; one statement reads hundreds."""
    accounts: dict[Address, AccountState] = {}
    for address, nonce, balance, code_hash in db.rows_by_keys(_ACCOUNTS, sorted(addresses)):
        state = AccountState(int(nonce), int(balance), Hash(bytes(code_hash)))
        accounts[Address(bytes(address))] = state
    return accounts


def slots_now(db: Database, keys: Iterable[bytes]) -> dict[bytes, Word]:
    """Return the values of slots at the head by key (address and slot); zero if not set."""
    wanted = list(keys)
    values = dict.fromkeys(wanted, ZERO_WORD)
    rows = db.rows_by_keys(_SLOTS, wanted)
    values.update((bytes(key), Word(bytes(value))) for key, value in rows)
    return values


Values = tuple[dict[Address, AccountState | None], dict[tuple[Address, Slot], Word]]
"""Accounts and slots of one height; an account that does not exist is None."""


def before_blocks(db: Database, first: int, last: int) -> dict[int, Values]:
    """Return the accounts and slots that each block of a range changed, as they were before it, in three statements.

    Raises as `account_at`, for the state before the first block.
    """
    keys = {"id__gte": models.row_id(first), "id__lt": models.row_id(last + 1)}
    values_before: dict[int, Values] = {number: ({}, {}) for number in range(first, last + 1)}
    accounts = db.objects(models.AccountChange).filter(**keys)
    for key, address, *values in accounts.values_list(
        "id", "address", "nonce", "balance", "code_hash"
    ):
        values_before[models.height_of(key)][0][Address(bytes(address))] = account_of(*values)
    slots = db.objects(models.StorageChange).filter(**keys)
    for key, slot_key, value in slots.values_list("id", "key", "value"):
        slot = Address(bytes(slot_key[:20])), Slot(bytes(slot_key[20:]))
        values_before[models.height_of(key)][1][slot] = Word(bytes(value))
    verify_state(db, max(first - 1, 0))
    return values_before


def all_accounts(db: Database) -> Iterator[tuple[Address, DumpedAccount]]:
    """Yield all accounts as of the head, ordered by address, from two statements.

    The caller reads the database in one consistent snapshot.
    """
    slots = groupby(in_pieces(db, _ALL_SLOTS), key=lambda row: bytes(row[0][:20]))
    owner, of_owner = next(slots, _NO_SLOTS)
    for raw, nonce, balance, code in in_pieces(db, _ALL_ACCOUNTS):
        address, storage = Address(bytes(raw)), dict[Slot, Word]()
        if owner == address:
            storage = {Slot(bytes(key[20:])): Word(bytes(word)) for key, word in of_owner}
            owner, of_owner = next(slots, _NO_SLOTS)
        yield address, DumpedAccount(int(nonce), int(balance), bytes(code or b""), storage)


def in_pieces(db: Database, sql: str, params: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query, fetched in parts, because the result may not fit into memory."""
    with db.connection.chunked_cursor() as cursor:
        cursor.execute(sql, params)
        while piece := cursor.fetchmany(_PIECE):
            yield from piece


def values_at(db: Database, number: int) -> Values:
    """Return the accounts and slots that blocks above a height changed, as of that height. Raises as `account_at`."""
    above = {"id__gte": models.row_id(number + 1)}
    accounts: dict[Address, AccountState | None] = {}
    changed = db.objects(models.AccountChange).filter(**above).order_by("id")
    for address, *values in changed.values_list("address", "nonce", "balance", "code_hash"):
        accounts.setdefault(Address(bytes(address)), account_of(*values))
    slots: dict[tuple[Address, Slot], Word] = {}
    written = db.objects(models.StorageChange).filter(**above).order_by("id")
    for key, value in written.values_list("key", "value"):
        slots.setdefault((Address(bytes(key[:20])), Slot(bytes(key[20:]))), Word(bytes(value)))
    verify_state(db, number)
    return accounts, slots


def slots_of(db: Database, address: Address) -> dict[Slot, Word]:
    """Return all slots of an account that are set at the head."""
    rows = db.rows(_SLOTS_OF, (address + bytes(32), address + b"\xff" * 32))
    return {Slot(bytes(key[20:])): Word(bytes(value)) for key, value in rows}


class NodeRows:
    """Reads trie nodes at the head, many per statement (a `NodeReader`)."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the nodes with these keys, in the same order; None for those that do not exist."""
        rows_by_key = {
            bytes(key): bytes(rlp) for key, rlp in self._db.rows_by_keys(_NODES, list(keys))
        }
        return [rows_by_key.get(key) for key in keys]


def account_of(nonce: Any, balance: Any, code_hash: Any) -> AccountState | None:
    """Return an account from the values of a row; nulls mean that it did not exist.

    The history has empty bytes instead of the hash of an account without code; rows of older versions have that hash.
    """
    if nonce is None:
        return None
    return AccountState(int(nonce), int(balance), Hash(bytes(code_hash)) or EMPTY_HASH)


_SLOTS_OF_ACCOUNT: Final = """
SELECT slot.key, slot.value FROM cchain_app_storageslot AS slot
WHERE slot.key BETWEEN %s AND %s AND NOT EXISTS (
  SELECT 1 FROM cchain_app_storagechange AS later
  WHERE later.key = slot.key AND later.number > %s)
UNION ALL
SELECT oldest.key, oldest.value FROM cchain_app_storagechange AS oldest
WHERE oldest.key BETWEEN %s AND %s AND oldest.number > %s AND oldest.value <> %s AND NOT EXISTS (
  SELECT 1 FROM cchain_app_storagechange AS older
  WHERE older.key = oldest.key AND older.number > %s AND older.number < oldest.number)
"""

_ALL_ADDRESSES: Final = """
SELECT account.address FROM cchain_app_account AS account
WHERE NOT EXISTS (
  SELECT 1 FROM cchain_app_accountchange AS later
  WHERE later.address = account.address AND later.number > %s)
UNION ALL
SELECT oldest.address FROM cchain_app_accountchange AS oldest
WHERE oldest.id >= %s AND oldest.nonce IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM cchain_app_accountchange AS older
  WHERE older.address = oldest.address AND older.number > %s AND older.number < oldest.number)
"""

_CHANGED: Final = """
SELECT {key}, COUNT(*) FROM {table} WHERE id >= %s AND id < %s GROUP BY {key}
"""


def slots_at(db: Database, address: Address, number: int) -> Iterator[tuple[Slot, Word]]:
    """Yield the slots of an account that were nonzero as of block `number`, in no order."""
    first, last = address + bytes(32), address + b"\xff" * 32
    params = (first, last, number, first, last, number, ZERO_WORD, number)
    for key, value in in_pieces(db, _SLOTS_OF_ACCOUNT, params):
        yield Slot(bytes(key)[20:]), Word(bytes(value))
    verify_state(db, number)


def addresses_at(db: Database, number: int) -> Iterator[Address]:
    """Yield the accounts that existed as of block `number`, in no order."""
    params = (number, models.row_id(number + 1), number)
    for (address,) in in_pieces(db, _ALL_ADDRESSES, params):
        yield Address(bytes(address))
    verify_state(db, number)


def changed_accounts(db: Database, first: int, last: int) -> Iterator[tuple[Address, int]]:
    """Yield the accounts that blocks `first` to `last` changed, and how many of these blocks did."""
    sql = _CHANGED.format(key="address", table="cchain_app_accountchange")
    for address, count in in_pieces(db, sql, _row_ids(first, last)):
        yield Address(bytes(address)), count
    verify_state(db, first - 1)


def changed_slots(db: Database, first: int, last: int) -> Iterator[tuple[Address, Slot, int]]:
    """Yield the slots that blocks `first` to `last` changed, and how many of these blocks did."""
    sql = _CHANGED.format(key="key", table="cchain_app_storagechange")
    for key, count in in_pieces(db, sql, _row_ids(first, last)):
        yield Address(bytes(key)[:20]), Slot(bytes(key)[20:]), count
    verify_state(db, first - 1)


def _row_ids(first: int, last: int) -> tuple[int, int]:
    return models.row_id(first), models.row_id(last + 1)
