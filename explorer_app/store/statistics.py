"""Writes the summaries of the C-Chain: sums by day, and copies of the accounts' balances, each block exactly once.

The progress is one row, which each writer locks first. So two writers never count the same blocks, and a writer that was
killed is continued. A revert of the chain deletes the days of the removed blocks, which are then counted again, and marks
the copies that the removed blocks had changed.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from cchain_app.models import Account, AccountChange, DevelopmentChange
from chaindb.database import Database
from chaindb.fields import HexBytes, UInt256Field, for_database, height_of, row_id
from explorer_app import models
from primitives.evm import Address

_ONLY: Final = 1
"""The key of the single row."""

_READ: Final = """
SELECT next_block, next_change, copied_to, copied_at, accounts, supply,
  coalesce((SELECT max(id) FROM cchain_app_rewind), 0),
  coalesce((SELECT number FROM chaindb_generation WHERE id = 1), 0)
FROM explorer_app_statisticsprogress WHERE id = %s
"""
# Updates the row even though nothing changes: its lock stops other writers, and on SQLite starts the write.
_LOCK: Final = "UPDATE explorer_app_statisticsprogress SET id = id WHERE id = %s"
# If two processes start at the same time, the second one sees the progress of the first.
_BEGIN: Final = """
INSERT INTO explorer_app_statisticsprogress (id, next_block, next_change, copied_to, copied_at, accounts, supply)
VALUES (%s, %s, %s, %s, %s, 0, %s) ON CONFLICT (id) DO NOTHING
"""
_BALANCES: Final = "SELECT address, balance FROM cchain_app_account WHERE address IN ({keys})"
_COPIES: Final = "SELECT address, balance FROM explorer_app_rankedaccount WHERE address IN ({keys})"
_REVERTED: Final = "UPDATE explorer_app_rankedaccount SET is_stale = %s WHERE block > %s"

_PROGRESS: Final = (
    "id",
    "next_block",
    "next_change",
    "copied_to",
    "copied_at",
    "accounts",
    "supply",
)
_COPY: Final = ("address", "balance", "block", "is_stale")
_DAY: Final = (
    "day", "first_block", "last_block", "blocks", "transactions", "gas_used", "gas_limit", "burned",
    "new_accounts", "contracts",
)  # fmt: skip
_FIRST_ADDRESS: Final = bytes(20)
_LAST_ADDRESS: Final = b"\xff" * 20
_MAX_EDITS: Final = 10_000
"""Limit of the manual changes before one block that are looked at."""


class SummaryProgress(NamedTuple):
    """The progress of the summaries, and the totals of the copied accounts."""

    next_block: int
    """The next block to be counted by day."""
    next_change: int
    """The key of the next change of an account."""
    copied_to: bytes | None
    """The last account of the initial copy so far; None if all accounts are copied."""
    copied_at: int
    """The height of the head when the initial copy began: an account that had no balance then has no copy."""
    accounts: int
    """Number of accounts with a balance."""
    supply: int
    """Sum of their balances, in wei."""
    rewinds: int = 0
    """Number of reverts of the development chain at that time."""
    generation: int = 0
    """How often the database's rows had been replaced by earlier ones at that time (`chaindb.generation`)."""


class SummaryMoved(Exception):
    """Another writer has counted the same blocks, or the chain was reverted and may have other blocks now."""


class CountedDay(NamedTuple):
    """The sums over consecutive blocks of one day."""

    day: int
    """Days since 1970-01-01."""
    first_block: int
    last_block: int
    blocks: int
    transactions: int
    gas_used: int
    gas_limit: int
    burned: int
    """In wei."""
    new_accounts: int | None
    """None if a part of the changes was pruned."""
    contracts: int


def progress(db: Database) -> SummaryProgress | None:
    """Return the progress; None before the first block is counted."""
    row = db.row(_READ, [_ONLY])
    if row is None:
        return None
    next_block, next_change, copied_to, copied_at, accounts, supply, *others = row
    copied = None if copied_to is None else bytes(copied_to)
    return SummaryProgress(
        next_block, next_change, copied, copied_at, accounts, int(supply), *others
    )


def begin(db: Database, first: int) -> SummaryProgress:
    """Start unless that was done before; return the progress.

    All accounts are copied in the order of their addresses, and the changes of later blocks one by one.

    Args:
        db: The chain's database.
        first: The first block after the genesis.
    """
    current = progress(db)
    if current is None:
        with db.atomic():
            head = _head(db)
            nothing = for_database(0, UInt256Field.digits, db.connection.vendor)
            db.execute(_BEGIN, (_ONLY, first, row_id(head + 1), _FIRST_ADDRESS, head, nothing))
            current = progress(db)
            assert current is not None
    return current


def write_days(db: Database, days: Sequence[CountedDay], before: SummaryProgress) -> None:
    """Add sums over the blocks from the next one on to their days, and update the progress.

    Args:
        db: The chain's database.
        days: The sums, in order.
        before: The progress before any of the blocks was read.

    Raises:
        SummaryMoved: The progress has changed meanwhile; nothing is written.
    """
    with db.atomic():
        held = _hold(db)
        if held is None or not _is_same_chain(held, before) or held.next_block != before.next_block:
            raise SummaryMoved
        known = {
            row.day: CountedDay(*(getattr(row, name) for name in _DAY))
            for row in db.objects(models.DayFigures).filter(day__in=[day.day for day in days])
        }
        sums = [_added(known[day.day], day) if day.day in known else day for day in days]
        db.upsert(models.DayFigures, _DAY, sums)
        _write(db, held._replace(next_block=days[-1].last_block + 1))


def copy_accounts(
    db: Database, head: int, first_state: int, maximum: int, *, can_revert: bool
) -> bool:
    """Copy the balances of some accounts that have changed; return whether there are more.

    Args:
        db: The chain's database.
        head: A height, up to which the changes are copied.
        first_state: The first block whose state is kept: changes up to it may have been pruned.
        maximum: Limit of the accounts.
        can_revert: Whether blocks can be reverted. Then an account that has lost its balance has a copy too, so that a
            revert finds it.
    """
    known = progress(db)
    if known is None or not _has_work(db, known, head, first_state):
        return False  # an idle node writes nothing
    with db.atomic():
        held = _hold(db)
        if held is None:
            return False
        if height_of(held.next_change) <= first_state:
            # Changes that were not copied are gone: compare all accounts again.
            held = _from_the_start(held, head)
        stale = db.objects(models.RankedAccount).filter(is_stale=True).order_by("address")
        addresses = [bytes(key) for key in stale.values_list("address", flat=True)[:maximum]]
        if addresses:
            _write(db, _copy(db, held, addresses))
            return True
        if held.copied_to is not None:
            _write(db, _copy_next(db, held, held.copied_to, maximum))
            return True
        _write(db, after := _copy_changes(db, held, head, maximum, with_empty=can_revert))
        return after.next_change < row_id(head + 1)


def forget_above(db: Database, number: int) -> None:
    """Undo what blocks above a height have changed, within the transaction that removes them; all if it is negative."""
    held = _hold(db)
    if held is None:
        return
    if number < 0:
        for model in (models.DayFigures, models.RankedAccount, models.StatisticsProgress):
            db.objects(model)._raw_delete(db.alias)  # noqa: SLF001  # one statement without a query before it
        return
    next_block = min(held.next_block, number + 1)
    undone = db.objects(models.DayFigures).filter(last_block__gt=number)
    if firsts := list(undone.values_list("first_block", flat=True)):
        next_block = min(firsts)
        undone.delete()
    db.execute(_REVERTED, [True, number])
    next_change = min(held.next_change, row_id(number + 1))
    held = held._replace(next_block=next_block, next_change=next_change)
    _write(db, _from_the_start(held, number) if number < held.copied_at else held)


def _hold(db: Database) -> SummaryProgress | None:
    """Lock out other writers and reverts of the chain until the transaction ends; return the progress, if any."""
    db.execute(_LOCK, [_ONLY])
    return progress(db)


def _has_work(db: Database, known: SummaryProgress, head: int, first_state: int) -> bool:
    return (
        known.copied_to is not None
        or known.next_change < row_id(head + 1)
        or height_of(known.next_change) <= first_state
        or db.objects(models.RankedAccount).filter(is_stale=True).exists()
        or bool(_edited(db, known.next_change))
    )


def _from_the_start(held: SummaryProgress, head: int) -> SummaryProgress:
    """Return the progress with which all accounts are compared again."""
    return held._replace(copied_to=_FIRST_ADDRESS, copied_at=head, next_change=row_id(head + 1))


def _is_same_chain(one: SummaryProgress, other: SummaryProgress) -> bool:
    return (one.rewinds, one.generation) == (other.rewinds, other.generation)


def _write(db: Database, after: SummaryProgress) -> None:
    db.upsert(models.StatisticsProgress, _PROGRESS, [(_ONLY, *after[: len(_PROGRESS) - 1])])


def _added(one: CountedDay, other: CountedDay) -> CountedDay:
    new = None
    if one.new_accounts is not None and other.new_accounts is not None:
        new = one.new_accounts + other.new_accounts
    return CountedDay(
        one.day, one.first_block, other.last_block, one.blocks + other.blocks,
        one.transactions + other.transactions, one.gas_used + other.gas_used,
        one.gas_limit + other.gas_limit, one.burned + other.burned, new,
        one.contracts + other.contracts,
    )  # fmt: skip


def _copy_next(db: Database, held: SummaryProgress, after: bytes, maximum: int) -> SummaryProgress:
    """Copy the next accounts in the order of their addresses, and clear copies of accounts that no longer exist."""
    # The zero address is the start, and an account too.
    there = {"address__gte" if after == _FIRST_ADDRESS else "address__gt": HexBytes(after)}
    found = [
        bytes(key)
        for key in db.objects(Account)
        .filter(**there)
        .order_by("address")
        .values_list("address", flat=True)[:maximum]
    ]
    last = found[-1] if len(found) == maximum else _LAST_ADDRESS
    copies = db.objects(models.RankedAccount).filter(**there, address__lte=HexBytes(last))
    held = _copy(db, held, {*found, *map(bytes, copies.values_list("address", flat=True))})
    return held._replace(copied_to=last if len(found) == maximum else None)


def _copy_changes(
    db: Database, held: SummaryProgress, head: int, maximum: int, *, with_empty: bool
) -> SummaryProgress:
    """Copy the accounts of the next changes, and those that were changed manually since the last copied block."""
    end = row_id(head + 1)
    first = held.next_change
    changes = db.objects(AccountChange).filter(id__gte=first, id__lt=end).order_by("id")
    rows = list(changes.values_list("id", "address")[:maximum])
    held = _copy(db, held, {bytes(address) for _, address in rows}, with_empty=with_empty)
    held = held._replace(next_change=rows[-1][0] + 1 if len(rows) == maximum else end)
    return _copy(db, held, _edited(db, first), with_empty=with_empty)


def _edited(db: Database, first: int) -> list[bytes]:
    """Return accounts that were changed manually since the block of a change, and whose copies differ or are missing.

    Such a change has no row among those of the blocks if its block had changed the account too.
    """
    keys = _edits(db, row_id(height_of(first)))
    balances = _by_address(db.rows_by_keys(_BALANCES, keys))
    copies = _by_address(db.rows_by_keys(_COPIES, keys))
    return [key for key in keys if key not in copies or balances.get(key, 0) != copies[key]]


def _edits(db: Database, first: int) -> list[bytes]:
    """Return the accounts of manual changes from a key on."""
    rows = db.objects(DevelopmentChange).filter(id__gte=first).order_by("-id")
    return list({bytes(key) for key in rows.values_list("address", flat=True)[:_MAX_EDITS]})


def _copy(
    db: Database, held: SummaryProgress, addresses: Collection[bytes], *, with_empty: bool = False
) -> SummaryProgress:
    """Copy the balances of accounts; return the progress with the new totals.

    The balances are those of the head, even if the copied changes are of earlier blocks, so a revert to any earlier
    height has to copy these accounts again. Manually changed accounts count as of the next block, because a revert
    to the head itself can undo that.

    Args:
        db: The chain's database.
        held: The progress.
        addresses: The accounts.
        with_empty: Whether an account without a balance gets a copy.
    """
    keys = list(addresses)
    if not keys:
        return held
    balances = _by_address(db.rows_by_keys(_BALANCES, keys))
    copies = _by_address(db.rows_by_keys(_COPIES, keys))
    head = _head(db)  # read after the balances: others may have accepted a block meanwhile
    edited = set(_edits(db, row_id(head + 1)))
    rows = [
        (Address(key), balances.get(key, 0), head + (key in edited), False)
        for key in keys
        if with_empty or balances.get(key) or key in copies
    ]
    db.upsert(models.RankedAccount, _COPY, rows)
    before = [copies.get(bytes(row[0]), 0) for row in rows]
    after = [int(row[1]) for row in rows]
    return held._replace(
        accounts=held.accounts + _positive(after) - _positive(before),
        supply=held.supply + sum(after) - sum(before),
    )


def _head(db: Database) -> int:
    row = db.row("SELECT max(number) FROM cchain_app_block")
    return 0 if row is None or row[0] is None else int(row[0])


def _by_address(rows: Iterable[tuple[object, object]]) -> dict[bytes, int]:
    return {bytes(address): int(balance) for address, balance in rows}  # type: ignore[call-overload]  # columns


def _positive(balances: Iterable[int]) -> int:
    return sum(balance > 0 for balance in balances)
