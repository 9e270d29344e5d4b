"""Going back with a development chain: what follows from transfers of blocks that are gone.

It is as if those blocks had never been, whatever contracts have emitted; what contracts were asked above the height
they are asked again. It costs what is taken back, however much is there: each statement goes by an index.
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
from explorer_app.tokens.events import MOST_OWNERS, Kind, Transfer, changes
from primitives.evm import ZERO_ADDRESS, Address

_ROWS_AT_ONCE: Final = 2000
_KEYS_AT_ONCE: Final = 500

# Of the one row, whatever it has: then nobody writes transfers until this is committed.
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
# Keys begin with the contract.
_OF_TOKEN: Final = tuple(
    f"DELETE FROM explorer_app_{table} WHERE key >= %s AND key <= %s"  # noqa: S608  # names of this module's own
    for table in ("tokenitem", "tokenbalance")
)
_LAST: Final = b"\xff" * 54
"""What the longest key has behind its contract, at most."""


def forget_above(db: Database, number: int, now: int) -> None:
    """Delete what follows from blocks above a height; within the transaction in which they are deleted.

    Args:
        db: Where the chain is.
        number: The height.
        now: Wall time in Unix seconds, from which on contracts are to be asked again.
    """
    first = row_id(number + 1)
    db.execute(_CUT, [first] * 4)
    if not db.objects(models.Token).exists():
        return
    undone = list(_transfers_from(db, first))
    db.execute("DELETE FROM explorer_app_tokentransfer WHERE id >= %s", [first])
    for address in [bytes(one) for (one,) in db.rows(_NEW_TOKENS, [first])]:
        for statement in _OF_TOKEN:
            db.execute(statement, [address, address + _LAST])
    db.execute("DELETE FROM explorer_app_token WHERE first_log >= %s", [first])
    db.execute(_NO_ERC20_EVENT, [now, first])
    db.execute(_ASK_TOKENS, [now, number])
    _take_back(db, undone)
    _trust_sums(db, Q(asked_height__gt=number))
    _give_back(db, undone)


def _transfers_from(db: Database, first: int) -> Iterator[tuple[Address, Transfer]]:
    """Walk the transfers from a key on whose contracts had emitted others before."""
    rows = db.objects(models.TokenTransfer).filter(id__gte=first, contract__first_log__lt=first)
    columns = ("contract_id", "kind", "sender", "to", "value", "token_id", "last_token_id", "noted")
    found = rows.order_by("id").values_list(*columns)
    for contract, kind, sender, to, *numbers, noted in found.iterator(_ROWS_AT_ONCE):
        parties = Address(bytes(sender)), Address(bytes(to))
        transfer = Transfer(Kind(kind), *parties, *numbers)
        yield (
            Address(bytes(contract)),
            transfer if noted is None else transfer._replace(noted=noted),
        )


def _take_back(db: Database, undone: Iterable[tuple[Address, Transfer]]) -> None:
    """Take transfers back from the sums, which alone tell what holders have until the contracts are asked again."""
    taken = [
        (contract, change._replace(amount=-change.amount))
        for contract, transfer in undone
        for change in changes(transfer)
    ]
    token_holdings.add(db, taken)
    keys = list({token_holdings.balance_key(*one) for one in taken})
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        _trust_sums(db, Q(key__in=keys[start : start + _KEYS_AT_ONCE]))


def _trust_sums(db: Database, which: Q) -> None:
    """Let sums be what holders have: who gave more than they got, which is a sum of the upper half, has nothing."""
    given_more = Q(summed__gte=token_holdings.MODULUS // 2)
    amount = Case(When(given_more, then=Value(0, UInt256Field())), default=F("summed"))
    db.objects(models.TokenBalance).filter(which).update(
        amount=amount, asked_height=None, differs=False, to_ask=True
    )


def _give_back(db: Database, undone: Iterable[tuple[Address, Transfer]]) -> None:
    """Let tokens of collections be whose they were."""
    moved: defaultdict[Address, set[int]] = defaultdict(set)
    for contract, transfer in undone:
        moved[contract].update(transfer.token_ids)
    for contract, token_ids in moved.items():
        owners = _owners(db, contract, token_ids)
        gone = ((token_holdings.item_key(contract, one),) for one in token_ids - owners.keys())
        db.delete(models.TokenItem, ("key",), gone)
        token_holdings.set_owners(db, {(contract, one): owner for one, owner in owners.items()})


def _owners(db: Database, contract: Address, token_ids: set[int]) -> dict[int, Address]:
    """Return who got tokens of a collection last, by the transfers that there are."""
    wanted = sorted(token_ids)
    keys = [_number(db, one) for one in wanted]
    found = db.rows_by_keys(_OF_ITEMS, keys, [contract, Kind.ERC721])
    for first, last in _neighbours(wanted):
        # A range that begins earlier has no owner noted for them.
        ends = _number(db, max(first - MOST_OWNERS + 1, 0)), _number(db, last)
        found += db.rows(_OF_RANGES, [contract, *ends])
    owners: dict[int, Address] = {}
    for _, token_id, noted, to, is_range in sorted(found, key=itemgetter(0)):
        owner, start = Address(bytes(to)), int(token_id)
        moved = wanted[bisect_left(wanted, start) : bisect_left(wanted, start + noted)]
        burns_range = is_range and owner == ZERO_ADDRESS
        owners.update((one, owner) for one in moved if one in owners or not burns_range)
    return owners


def _neighbours(token_ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return the first and last of sorted ids that one range may have together."""
    start = 0
    for place, one in enumerate(token_ids):
        if place + 1 == len(token_ids) or token_ids[place + 1] - one >= MOST_OWNERS:
            yield token_ids[start], one
            start = place + 1


def _number(db: Database, value: int) -> object:
    return for_database(value, UInt256Field.digits, db.connection.vendor)
