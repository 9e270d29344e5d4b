"""Balances of holders and owners of NFTs: rows that are derived from transfers.

The caller holds the progress (`tokens.hold`), so no other process writes these rows at the same time.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from chaindb.database import Database, Row
from explorer_app import models
from explorer_app.tokens.events import BalanceChange
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
