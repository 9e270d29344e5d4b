"""Reverts the token index with a development chain: removes everything derived from removed blocks.

The result is as if those blocks had never existed, whatever contracts have emitted; answers that contracts gave above
the height are queried again. The cost depends on the removed rows only, because each statement uses an index.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Final

from django.db.models import Case, F, Q, Value, When

from chaindb.database import Database
from chaindb.fields import UInt256Field, for_database, row_id
from explorer_app import models
from explorer_app.store import token_holdings
from explorer_app.tokens.events import MAX_OWNERS, TokenStandard, Transfer, changes
from primitives.evm import ZERO_ADDRESS, Address

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
    token_holdings.add(db, removed)
    keys = list({token_holdings.balance_key(*balance) for balance in removed})
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        _trust_sums(db, Q(key__in=keys[start : start + _KEYS_AT_ONCE]))


def _trust_sums(db: Database, which: Q) -> None:
    """Use sums as balances: a sum in the upper half is negative, so that the balance is zero."""
    given_more = Q(summed__gte=token_holdings.MODULUS // 2)
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
        gone = (
            (token_holdings.item_key(contract, token_id),) for token_id in token_ids - owners.keys()
        )
        db.delete(models.TokenItem, ("key",), gone)
        token_holdings.set_owners(
            db, {(contract, token_id): owner for token_id, owner in owners.items()}
        )


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
    for place, token_id in enumerate(token_ids):
        if place + 1 == len(token_ids) or token_ids[place + 1] - token_id >= MAX_OWNERS:
            yield token_ids[start], token_id
            start = place + 1


def _number(db: Database, value: int) -> object:
    return for_database(value, UInt256Field.digits, db.connection.vendor)
