"""Reverts the token index with a development chain: removes everything derived from removed blocks.

The result is as if those blocks had never existed, whatever contracts have emitted; answers that contracts gave above
the height are queried again. The cost depends on the removed rows only, because each statement uses an index.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final

from django.db.models import Case, F, Q, Value, When

from chaindb.database import Database, Row
from chaindb.fields import UInt256Field, for_database, row_id
from explorer_app import models
from explorer_app.tokens.events import MAX_OWNERS, BalanceChange, TokenStandard, Transfer, changes
from primitives.evm import ZERO_ADDRESS, Address

_BALANCES: Final = "SELECT key, summed, amount FROM explorer_app_tokenbalance WHERE key IN ({keys})"
_ITEMS: Final = "SELECT token_id FROM explorer_app_tokenitem WHERE key >= %s AND key <= %s"
_BALANCE: Final = (
    "key", "contract", "holder", "kind", "token_id", "summed", "amount", "differs", "to_ask",
)  # fmt: skip
_ITEM: Final = ("key", "contract", "token_id", "owner")

MODULUS: Final = 2**256
"""Sums are kept modulo this, like arithmetic in contracts, so false amounts cause no overflow."""


def balance_key(contract: Address, change: BalanceChange) -> bytes:
    """Return the key of the balance that a change belongs to."""
    token_id = b"" if change.token_id is None else change.token_id.to_bytes(32, "big")
    return contract + change.holder + change.kind.to_bytes(2, "big") + token_id


def item_key(contract: Address, token_id: int) -> bytes:
    """Return the key of an NFT of a collection."""
    return contract + token_id.to_bytes(32, "big")


def add(db: Database, changed: Iterable[tuple[Address, BalanceChange]]) -> None:
    """Add changes to balances."""
    added: defaultdict[bytes, int] = defaultdict(int)
    whose: dict[bytes, tuple[Address, BalanceChange]] = {}
    for contract, change in changed:
        key = balance_key(contract, change)
        added[key] += change.amount
        whose[key] = contract, change
    sums_before = sums(db, list(added))
    rows: list[Row] = []
    for key, amount in added.items():
        contract, change = whose[key]
        summed, shown = sums_before.get(key, (0, 0))
        rows.append((
            key, contract, change.holder, change.kind, change.token_id, (summed + amount) % MODULUS,
            min(max(shown + amount, 0), MODULUS - 1), False, True,
        ))  # fmt: skip
    db.insert(models.TokenBalance, _BALANCE, (row for row in rows if row[0] not in sums_before))
    old = ((*row[5:7], True, row[0]) for row in rows if row[0] in sums_before)
    db.update(models.TokenBalance, ("key",), ("summed", "amount", "to_ask"), old)


def set_owners(db: Database, owners: Mapping[tuple[Address, int], Address]) -> None:
    """Write the new owners of NFTs; the zero address means that the NFT was burned."""
    rows = (
        (item_key(contract, token_id), contract, token_id, None if owner == ZERO_ADDRESS else owner)
        for (contract, token_id), owner in owners.items()
    )
    db.upsert(models.TokenItem, _ITEM, rows)


def known_items(db: Database, contract: Address, token_ids: range) -> list[int]:
    """Return the token IDs of a collection that have rows, within a non-empty range."""
    ends = item_key(contract, token_ids[0]), item_key(contract, token_ids[-1])
    return [int(token_id) for (token_id,) in db.rows(_ITEMS, ends)]


def sums(db: Database, keys: Sequence[bytes]) -> dict[bytes, tuple[int, int]]:
    """Return sums and amounts of balances by key."""
    rows = db.rows_by_keys(_BALANCES, keys)
    return {bytes(key): (int(summed), int(amount)) for key, summed, amount in rows}


_ROWS_AT_ONCE: Final = 2000
_KEYS_AT_ONCE: Final = 500

# Updates the row even if nothing changes: its lock stops writers of transfers until this commits.
_CUT: Final = """
UPDATE explorer_app_tokenprogress SET
  next_log = CASE WHEN next_log > %s THEN %s ELSE next_log END,
  next_transfer = CASE WHEN next_transfer > %s THEN %s ELSE next_transfer END
"""
_ASK_TOKENS: Final = (
    "UPDATE explorer_app_token SET asks_at = %s, attempts = 0 WHERE asked_height > %s"
)
_NO_ERC20_EVENT: Final = (
    "UPDATE explorer_app_token SET first_erc20_log = NULL, asks_at = %s WHERE first_erc20_log >= %s"
)
_OF_ITEMS: Final = """
SELECT id, token_id, 1, "to", 0 FROM explorer_app_tokentransfer
WHERE contract_id = %s AND kind = %s AND last_token_id IS NULL AND token_id IN ({keys})
"""
_OF_RANGES: Final = """
SELECT id, token_id, noted, "to", 1 FROM explorer_app_tokentransfer
WHERE contract_id = %s AND last_token_id IS NOT NULL AND token_id >= %s AND token_id <= %s
"""
_NEW_TOKENS: Final = "SELECT address FROM explorer_app_token WHERE first_log >= %s"
# Keys begin with the contract's address.
_OF_TOKEN: Final = tuple(
    f"DELETE FROM explorer_app_{table} WHERE key >= %s AND key <= %s"  # noqa: S608  # table names of this module
    for table in ("tokenitem", "tokenbalance")
)
_LAST: Final = b"\xff" * 54
"""The largest suffix of a key after the contract's address."""


def forget_above(db: Database, number: int, now: int) -> None:
    """Delete everything derived from blocks above a height, within the transaction that deletes the blocks.

    Args:
        db: The chain's database.
        number: The height.
        now: Wall time in Unix seconds, from which contracts are queried again.
    """
    first = row_id(number + 1)
    db.execute(_CUT, [first] * 4)
    if not db.objects(models.Token).exists():
        return
    undone = list(_transfers_from(db, first))
    db.execute("DELETE FROM explorer_app_tokentransfer WHERE id >= %s", [first])
    for address in [bytes(token) for (token,) in db.rows(_NEW_TOKENS, [first])]:
        for statement in _OF_TOKEN:
            db.execute(statement, [address, address + _LAST])
    db.execute("DELETE FROM explorer_app_token WHERE first_log >= %s", [first])
    db.execute(_NO_ERC20_EVENT, [now, first])
    db.execute(_ASK_TOKENS, [now, number])
    _take_back(db, undone)
    _trust_sums(db, Q(asked_height__gt=number))
    _give_back(db, undone)


def _transfers_from(db: Database, first: int) -> Iterator[tuple[Address, Transfer]]:
    """Yield the transfers from a key on whose contracts emitted earlier transfers."""
    rows = db.objects(models.TokenTransfer).filter(id__gte=first, contract__first_log__lt=first)
    columns = ("contract_id", "kind", "sender", "to", "value", "token_id", "last_token_id", "noted")
    transfers = rows.order_by("id").values_list(*columns)
    for contract, kind, sender, to, *numbers, noted in transfers.iterator(_ROWS_AT_ONCE):
        parties = Address(bytes(sender)), Address(bytes(to))
        transfer = Transfer(TokenStandard(kind), *parties, *numbers)
        yield (
            Address(bytes(contract)),
            transfer if noted is None else transfer._replace(noted=noted),
        )


def _take_back(db: Database, undone: Iterable[tuple[Address, Transfer]]) -> None:
    """Subtract transfers from the sums, which serve as balances until the contracts are queried again."""
    removed = [
        (contract, change._replace(amount=-change.amount))
        for contract, transfer in undone
        for change in changes(transfer)
    ]
    add(db, removed)
    keys = list({balance_key(*balance) for balance in removed})
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        _trust_sums(db, Q(key__in=keys[start : start + _KEYS_AT_ONCE]))


def _trust_sums(db: Database, which: Q) -> None:
    """Use sums as balances: a sum in the upper half is negative, so that the balance is zero."""
    given_more = Q(summed__gte=MODULUS // 2)
    amount = Case(When(given_more, then=Value(0, UInt256Field())), default=F("summed"))
    db.objects(models.TokenBalance).filter(which).update(
        amount=amount, asked_height=None, differs=False, to_ask=True
    )


def _give_back(db: Database, undone: Iterable[tuple[Address, Transfer]]) -> None:
    """Restore the previous owners of NFTs."""
    moved_ids: defaultdict[Address, set[int]] = defaultdict(set)
    for contract, transfer in undone:
        moved_ids[contract].update(transfer.token_ids)
    for contract, token_ids in moved_ids.items():
        owners = _owners(db, contract, token_ids)
        gone = ((item_key(contract, token_id),) for token_id in token_ids - owners.keys())
        db.delete(models.TokenItem, ("key",), gone)
        set_owners(db, {(contract, token_id): owner for token_id, owner in owners.items()})


def _owners(db: Database, contract: Address, token_ids: set[int]) -> dict[int, Address]:
    """Return the last recipients of NFTs according to the remaining transfers."""
    sorted_ids = sorted(token_ids)
    keys = [_number(db, balance) for balance in sorted_ids]
    rows = db.rows_by_keys(_OF_ITEMS, keys, [contract, TokenStandard.ERC721])
    for first, last in _neighbours(sorted_ids):
        # Ranges that start earlier have no recorded owners for these token IDs.
        ends = _number(db, max(first - MAX_OWNERS + 1, 0)), _number(db, last)
        rows += db.rows(_OF_RANGES, [contract, *ends])
    owners: dict[int, Address] = {}
    for _, token_id, noted, to, is_range in sorted(rows, key=itemgetter(0)):
        owner, start = Address(bytes(to)), int(token_id)
        ids_in_range = sorted_ids[
            bisect_left(sorted_ids, start) : bisect_left(sorted_ids, start + noted)
        ]
        burns_range = is_range and owner == ZERO_ADDRESS
        owners.update(
            (token_id, owner) for token_id in ids_in_range if token_id in owners or not burns_range
        )
    return owners


def _neighbours(token_ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of groups of sorted token IDs that a single range may cover."""
    start = 0
    for index, token_id in enumerate(token_ids):
        if index + 1 == len(token_ids) or token_ids[index + 1] - token_id >= MAX_OWNERS:
            yield token_ids[start], token_id
            start = index + 1


def _number(db: Database, value: int) -> object:
    return for_database(value, UInt256Field.digits, db.connection.vendor)
