"""Outputs by owner: pages of UTXOs, balances, stake, and what stakers were rewarded with."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from platform_app.chain import PlatformChain
from platform_app.store import rows
from primitives.ids import EMPTY_ID, ID, PRIMARY_NETWORK_ID, ShortID
from primitives.uint64 import MAX

PAGE = 1024
"""The most that one answer holds."""

# Keys first, then the outputs by key: joined, a database may read all outputs of an owner, or all.
_KEYS = """
SELECT utxo_id FROM platform_app_utxoowner
WHERE address = %s AND utxo_id > %s ORDER BY utxo_id LIMIT %s
"""
_SHARED_KEYS = """
SELECT utxo_id FROM platform_app_sharedutxoowner
WHERE destination_chain = %s AND source_chain = %s AND address = %s AND utxo_id > %s
ORDER BY utxo_id LIMIT %s
"""
_UTXOS = """
SELECT utxo_id, tx_id, output_index, asset_id, output FROM platform_app_utxo
WHERE utxo_id IN ({keys})
"""
_SHARED = """
SELECT utxo_id, tx_id, output_index, asset_id, output FROM platform_app_sharedutxo
WHERE utxo_id IN ({keys})
"""
_OWNERS = """
WITH asked (address) AS (VALUES {marks})
SELECT address FROM asked WHERE EXISTS (
  SELECT 1 FROM platform_app_utxoowner o WHERE o.address = asked.address
)
"""
_SHARED_OWNERS = """
WITH asked (address) AS (VALUES {marks})
SELECT address FROM asked WHERE EXISTS (
  SELECT 1 FROM platform_app_sharedutxoowner o
  WHERE o.destination_chain = %s AND o.source_chain = %s AND o.address = asked.address
)
"""
_FUNDS = """
SELECT u.utxo_id, u.tx_id, u.output_index, u.asset_id, u.amount, u.locktime, u.stakeable_locktime
FROM platform_app_utxoowner o JOIN platform_app_utxo u ON u.utxo_id = o.utxo_id
WHERE o.address IN ({keys}) ORDER BY o.address, o.utxo_id
"""
_STAKE = """
SELECT staker_id, output_index, asset_id, amount, output, is_delegator
FROM platform_app_stakeoutput WHERE address IN ({keys}) ORDER BY address, staker_id, output_index
"""
_REWARDS = """
SELECT tx_id, output_index, asset_id, output FROM platform_app_rewardutxo
WHERE tx_id = %s ORDER BY output_index
"""

_FEW = 8
"""So many addresses are each asked for; of more, first those that own anything are found."""


class Cursor(NamedTuple):
    """A place among the UTXOs of several addresses: they are in order of address, then of UTXO."""

    address: ShortID
    utxo_id: ID


class Page(NamedTuple):
    """UTXOs as clients get them (codec version in front), and where the next page begins."""

    utxos: list[bytes]
    end: Cursor


class Funds(NamedTuple):
    """What addresses own of one asset; sums end at 2^64 - 1."""

    unlocked: int = 0
    locked_stakeable: int = 0
    locked_not_stakeable: int = 0

    @property
    def total(self) -> int:
        """Everything."""
        return min(MAX, sum(self))


class Balance(NamedTuple):
    """What addresses own: amounts by asset, and the (transaction, index) of each UTXO counted."""

    funds: dict[ID, Funds]
    utxos: list[tuple[ID, int]]
    since: int = 0
    """When the last of them was unlocked, Unix seconds; 0 where none was ever locked."""
    until: int | None = None
    """When the next of them is unlocked, Unix seconds; None where none is locked."""


class StakedOutput(NamedTuple):
    """An output that is staked, now or from a start in the future."""

    asset_id: ID
    amount: int
    raw: bytes
    """Asset and output, the codec's version in front."""


def utxos_of(
    chain: PlatformChain,
    addresses: Iterable[ShortID],
    *,
    after: Cursor | None = None,
    limit: int = PAGE,
    source_chain: ID | None = None,
) -> Page:
    """Return a page of what any of these addresses can sign for, behind the cursor.

    Args:
        chain: Where.
        addresses: In any order.
        after: The end of the page before; the start of everything without.
        limit: Most UTXOs, 1 to `PAGE`.
        source_chain: Of what this chain exported to the P-Chain; of the P-Chain's own without.
    """
    place = after or Cursor(ShortID(bytes(ShortID.SIZE)), EMPTY_ID)
    asked = sorted({address for address in addresses if address >= place.address})
    shared = () if source_chain is None else (PRIMARY_NETWORK_ID, source_chain)
    walk = _owned(chain, asked, place, shared, limit)
    found: dict[ID, bytes] = {}
    last = place
    while len(found) < limit and (batch := list(islice(walk, limit - len(found)))):
        keys = [one.utxo_id for one in batch]
        found.update(_raws(chain, [key for key in keys if key not in found], shared))
        last = batch[-1]
    if len(found) < limit and asked:
        last = last._replace(address=asked[-1])
    return Page(list(found.values()), last)


def balance(chain: PlatformChain, addresses: Iterable[ShortID], *, now: int) -> Balance:
    """Return what these addresses own at the time `now`, a UTXO counted once (pchain.md 8.2).

    One that needs signatures of others besides counts whole.
    """
    sums: dict[bytes, list[int]] = {}
    utxos: dict[bytes, tuple[ID, int]] = {}
    locks: set[int] = set()
    for utxo_id, tx_id, index, asset_id, amount, locktime, stakeable in chain.db.rows_by_keys(
        _FUNDS, sorted(set(addresses))
    ):
        if utxo_id not in utxos:
            utxos[utxo_id] = (ID(tx_id), index)
            of_asset = sums.setdefault(asset_id, [0, 0, 0])
            of_asset[_lock(int(locktime), int(stakeable), now)] += int(amount)
            locks.update((int(locktime), int(stakeable)))
    funds = {ID(asset): Funds(*(min(MAX, one) for one in found)) for asset, found in sums.items()}
    since = max((lock for lock in locks if lock <= now), default=0)
    until = min((lock for lock in locks if lock > now), default=None)
    return Balance(funds, list(utxos.values()), since, until)


def stake_of(
    chain: PlatformChain, addresses: Iterable[ShortID], *, validators_only: bool = False
) -> list[StakedOutput]:
    """Return staked outputs of which any of these addresses is an owner, each once."""
    found: dict[tuple[bytes, int], StakedOutput] = {}
    for tx_id, index, asset_id, amount, output, is_delegator in chain.db.rows_by_keys(
        _STAKE, sorted(set(addresses))
    ):
        if not (validators_only and is_delegator):
            found[bytes(tx_id), index] = StakedOutput(
                ID(bytes(asset_id)), int(amount), rows.raw_stake(asset_id, output)
            )
    return list(found.values())


def reward_utxos(chain: PlatformChain, tx_id: ID) -> list[bytes]:
    """Return what the staker that a transaction added was rewarded with, spent since or not."""
    return [rows.raw_utxo(*row) for row in chain.db.rows(_REWARDS, (tx_id,))]


def _owned(
    chain: PlatformChain,
    addresses: Sequence[ShortID],
    place: Cursor,
    shared: tuple[ID, ...],
    limit: int,
) -> Iterator[Cursor]:
    """Walk the UTXOs of addresses behind a place, reading `limit` keys at a time."""
    question = _SHARED_KEYS if shared else _KEYS
    for address in _owners_among(chain, addresses, shared):
        start = place.utxo_id if address == place.address else EMPTY_ID
        more = True
        while more:
            keys = [ID(key) for (key,) in chain.db.rows(question, (*shared, address, start, limit))]
            yield from (Cursor(address, key) for key in keys)
            more = len(keys) == limit
            start = keys[-1] if more else start


def _raws(
    chain: PlatformChain, keys: Sequence[ID], shared: tuple[ID, ...]
) -> Iterator[tuple[ID, bytes]]:
    """Walk those of the outputs that are still there, in the given order."""
    read = chain.db.rows_by_keys(_SHARED if shared else _UTXOS, keys)
    found = {bytes(key): columns for key, *columns in read}
    return ((key, rows.raw_utxo(*found[key])) for key in keys if key in found)


def _owners_among(
    chain: PlatformChain, addresses: Sequence[ShortID], shared: tuple[ID, ...]
) -> list[ShortID]:
    """Return those addresses that own anything, in their order."""
    if len(addresses) <= _FEW:
        return list(addresses)
    question = _SHARED_OWNERS if shared else _OWNERS
    marks = ", ".join(["(%s)"] * len(addresses))
    found = chain.db.rows(question.format(marks=marks), (*addresses, *shared))
    return sorted(ShortID(bytes(address)) for (address,) in found)


def _lock(locktime: int, stakeable: int, now: int) -> int:
    """Return which of the sums of `Funds` an output belongs to."""
    if locktime > now:
        return 2
    return 1 if stakeable > now else 0
