"""All slots of an account and all accounts as of a block, and the changes of a range of blocks.

As in `evm_state`, each read is a single SQL statement. Results are yielded in parts, because an account may have
millions of slots. After the last row each function checks whether the state is still kept, and raises `StatePruned`
if it is not.
"""

from collections.abc import Iterator
from typing import Final

from cchain_app import models
from cchain_app.store import evm_state
from cchain_app.store.history import verify_state
from chaindb.database import Database
from primitives.evm import ZERO_WORD, Address, Slot, Word

_SLOTS: Final = """
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

_ADDRESSES: Final = """
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
    for key, value in evm_state.in_pieces(db, _SLOTS, params):
        yield Slot(bytes(key)[20:]), Word(bytes(value))
    verify_state(db, number)


def addresses_at(db: Database, number: int) -> Iterator[Address]:
    """Yield the accounts that existed as of block `number`, in no order."""
    params = (number, models.row_id(number + 1), number)
    for (address,) in evm_state.in_pieces(db, _ADDRESSES, params):
        yield Address(bytes(address))
    verify_state(db, number)


def changed_accounts(db: Database, first: int, last: int) -> Iterator[tuple[Address, int]]:
    """Yield the accounts that blocks `first` to `last` changed, and how many of these blocks did."""
    sql = _CHANGED.format(key="address", table="cchain_app_accountchange")
    for address, count in evm_state.in_pieces(db, sql, _range(first, last)):
        yield Address(bytes(address)), count
    verify_state(db, first - 1)


def changed_slots(db: Database, first: int, last: int) -> Iterator[tuple[Address, Slot, int]]:
    """Yield the slots that blocks `first` to `last` changed, and how many of these blocks did."""
    sql = _CHANGED.format(key="key", table="cchain_app_storagechange")
    for key, count in evm_state.in_pieces(db, sql, _range(first, last)):
        yield Address(bytes(key)[:20]), Slot(bytes(key)[20:]), count
    verify_state(db, first - 1)


def _range(first: int, last: int) -> tuple[int, int]:
    return models.row_id(first), models.row_id(last + 1)
