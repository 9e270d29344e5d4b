"""Outputs by owner: pages of UTXOs, balances, stake, and rewards of stakers."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from platform_app.chain import PlatformChain
from platform_app.models import Phase
from platform_app.store import rows
from primitives.ids import EMPTY_ID, ID, PRIMARY_NETWORK_ID, ShortID
from primitives.uint64 import MAX

PAGE = 1024
"""The maximum number of UTXOs in one result."""

# Keys first, then the outputs by key: with a join, a database may read all outputs of an owner, or all outputs.
_KEYS = """
SELECT utxo_id FROM platform_app_utxoowner
WHERE address = %s AND utxo_id > %s ORDER BY utxo_id LIMIT %s
"""
_SHARED_KEYS = """
SELECT utxo_id FROM platform_app_sharedutxoowner
WHERE destination_chain = %s AND source_chain = %s AND address = %s AND utxo_id > %s
ORDER BY utxo_id LIMIT %s
"""
# The reference lists an address's outputs from the newest on: it adds each new output at the head of a list.
_NEWEST_KEYS = """
SELECT o.utxo_id, u.height FROM platform_app_utxoowner o
JOIN platform_app_utxo u ON u.utxo_id = o.utxo_id
WHERE o.address = %s AND (u.height < %s OR u.height = %s AND o.utxo_id > %s)
ORDER BY u.height DESC, o.utxo_id LIMIT %s
"""
_NEWEST_SHARED_KEYS = """
SELECT o.utxo_id, u.height FROM platform_app_sharedutxoowner o
JOIN platform_app_sharedutxo u ON u.utxo_id = o.utxo_id
WHERE o.destination_chain = %s AND o.source_chain = %s AND o.address = %s
  AND (u.height < %s OR u.height = %s AND o.utxo_id > %s)
ORDER BY u.height DESC, o.utxo_id LIMIT %s
"""
_HEIGHT = """
SELECT u.height FROM platform_app_utxoowner o JOIN platform_app_utxo u ON u.utxo_id = o.utxo_id
WHERE o.address = %s AND o.utxo_id = %s
"""
_SHARED_HEIGHT = """
SELECT u.height FROM platform_app_sharedutxoowner o
JOIN platform_app_sharedutxo u ON u.utxo_id = o.utxo_id
WHERE o.destination_chain = %s AND o.source_chain = %s AND o.address = %s AND o.utxo_id = %s
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
_NEWEST_FUNDS = _FUNDS.replace("o.address, o.utxo_id", "o.address, u.height DESC, o.utxo_id")
_STAKE = """
SELECT o.staker_id, o.output_index, o.asset_id, o.amount, o.output, o.is_delegator,
       s.phase, s.start_time, s.end_time, s.priority
FROM platform_app_stakeoutput o JOIN platform_app_staker s ON s.tx_id = o.staker_id
WHERE o.address IN ({keys})
"""
_REWARDS = """
SELECT tx_id, output_index, asset_id, output FROM platform_app_rewardutxo
WHERE tx_id = %s ORDER BY output_index
"""

_FEW = 8
"""Up to this number, each address is queried; of more addresses, those that own anything are found first."""


_TOP = 2**63 - 1
"""A height above every block."""


class UtxoCursor(NamedTuple):
    """The last UTXO of a page. UTXOs are ordered by address, then within the address."""

    address: ShortID
    utxo_id: ID


class UtxoPage(NamedTuple):
    """UTXOs as clients get them (starting with the codec version), and the start of the next page."""

    utxos: list[bytes]
    end: UtxoCursor


class Funds(NamedTuple):
    """The amounts of one asset that addresses own; sums are capped at 2^64 - 1."""

    unlocked: int = 0
    locked_stakeable: int = 0
    locked_not_stakeable: int = 0

    @property
    def total(self) -> int:
        """The sum of all amounts."""
        return min(MAX, sum(self))


class Balance(NamedTuple):
    """The balance of addresses: amounts by asset, and the (transaction, index) of each UTXO counted."""

    funds: dict[ID, Funds]
    utxos: list[tuple[ID, int]]
    since: int = 0
    """When the last of them was unlocked, in Unix seconds; 0 if none was ever locked."""
    until: int | None = None
    """When the next of them is unlocked, in Unix seconds; None if none is locked."""


class StakedOutput(NamedTuple):
    """An output that is staked by a current or a pending staker."""

    asset_id: ID
    amount: int
    raw: bytes
    """Asset and output, starting with the codec version."""


def utxos_of(
    chain: PlatformChain,
    addresses: Iterable[ShortID],
    *,
    after: UtxoCursor | None = None,
    limit: int = PAGE,
    source_chain: ID | None = None,
    newest_first: bool = False,
) -> UtxoPage:
    """Return a page of the outputs that any of these addresses can sign for, after the cursor.

    The outputs of an address are ordered by ID, or with `newest_first` by block, the latest first, then by ID. With
    `newest_first`, a page whose cursor was spent meanwhile starts again with the address's first output. Both are
    rules of the reference. Each such page costs a query that reads all outputs of the address.

    Args:
        chain: The chain.
        addresses: In any order.
        after: The end of the previous page; without it, the page starts with the first output.
        limit: Maximum number of UTXOs, 1 to `PAGE`.
        source_chain: Select the outputs that this chain exported to the P-Chain; default: the P-Chain's own.
        newest_first: Whether the latest block's outputs come first.
    """
    place = after or UtxoCursor(ShortID(bytes(ShortID.SIZE)), EMPTY_ID)
    asked = sorted({address for address in addresses if address >= place.address})
    shared = () if source_chain is None else (PRIMARY_NETWORK_ID, source_chain)
    walk = _owned(chain, asked, place, shared, limit, newest_first=newest_first)
    raws: dict[ID, bytes] = {}
    last = place
    while len(raws) < limit and (batch := list(islice(walk, limit - len(raws)))):
        keys = [cursor.utxo_id for cursor in batch]
        raws.update(_raws(chain, [key for key in keys if key not in raws], shared))
        last = batch[-1]
    if len(raws) < limit and asked and asked[-1] != last.address:
        # As in the reference: in shared memory the cursor applies to outputs of its own address only.
        last = UtxoCursor(asked[-1], EMPTY_ID if shared else last.utxo_id)
    return UtxoPage(list(raws.values()), last)


def balance(
    chain: PlatformChain,
    addresses: Iterable[ShortID],
    *,
    now: int,
    newest_first: bool = False,
) -> Balance:
    """Return the balance of these addresses at the time `now`; each UTXO counts once (pchain.md 8.2).

    A UTXO that also needs signatures of other owners counts in full. The UTXOs have the order of `utxos_of`.
    """
    sums: dict[bytes, list[int]] = {}
    utxos: dict[bytes, tuple[ID, int]] = {}
    locks: set[int] = set()
    for utxo_id, tx_id, index, asset_id, amount, locktime, stakeable in chain.db.rows_by_keys(
        _NEWEST_FUNDS if newest_first else _FUNDS, sorted(set(addresses))
    ):
        if utxo_id not in utxos:
            utxos[utxo_id] = (ID(tx_id), index)
            of_asset = sums.setdefault(asset_id, [0, 0, 0])
            of_asset[_lock(int(locktime), int(stakeable), now)] += int(amount)
            locks.update((int(locktime), int(stakeable)))
    funds = {
        ID(asset): Funds(*(min(MAX, amount) for amount in amounts))
        for asset, amounts in sums.items()
    }
    since = max((lock for lock in locks if lock <= now), default=0)
    until = min((lock for lock in locks if lock > now), default=None)
    return Balance(funds, list(utxos.values()), since, until)


def stake_of(
    chain: PlatformChain, addresses: Iterable[ShortID], *, validators_only: bool = False
) -> list[StakedOutput]:
    """Return staked outputs of which any of these addresses is an owner, each output once.

    Current stakers come first, by end time, then pending ones, by start time (the order of pchain.md 5.4).
    """
    staked: dict[tuple[Any, ...], StakedOutput] = {}
    for (
        tx_id, index, asset_id, amount, output, is_delegator, phase, start, end, priority
    ) in chain.db.rows_by_keys(_STAKE, sorted(set(addresses))):  # fmt: skip
        if validators_only and is_delegator:
            continue
        pending = phase == Phase.PENDING
        place = pending, start if pending else end, priority, bytes(tx_id), index
        staked[place] = StakedOutput(
            ID(bytes(asset_id)), int(amount), rows.raw_stake(asset_id, output)
        )
    return [staked[place] for place in sorted(staked)]


def reward_utxos(chain: PlatformChain, tx_id: ID) -> list[bytes]:
    """Return the reward outputs of the staker that a transaction added, whether spent or not."""
    return [rows.raw_utxo(*row) for row in chain.db.rows(_REWARDS, (tx_id,))]


def _owned(
    chain: PlatformChain,
    addresses: Sequence[ShortID],
    place: UtxoCursor,
    shared: tuple[ID, ...],
    limit: int,
    *,
    newest_first: bool,
) -> Iterator[UtxoCursor]:
    """Iterate over the UTXOs of addresses after a place, reading `limit` keys at a time."""
    keys_of = _newest_keys if newest_first else _keys
    for address in _owners_among(chain, addresses, shared):
        start = place.utxo_id if address == place.address else EMPTY_ID
        for key in keys_of(chain, address, start, shared, limit):
            yield UtxoCursor(address, key)


def _keys(
    chain: PlatformChain, address: ShortID, start: ID, shared: tuple[ID, ...], limit: int
) -> Iterator[ID]:
    """Iterate over the UTXOs of an address after one of them, by ID."""
    query = _SHARED_KEYS if shared else _KEYS
    more = True
    while more:
        keys = [ID(key) for (key,) in chain.db.rows(query, (*shared, address, start, limit))]
        yield from keys
        more = len(keys) == limit
        start = keys[-1] if more else start


def _newest_keys(
    chain: PlatformChain, address: ShortID, start: ID, shared: tuple[ID, ...], limit: int
) -> Iterator[ID]:
    """Iterate over the UTXOs of an address after one of them, the latest first.

    If the address does not, or no longer, own that UTXO, iterate over all.
    """
    query = _NEWEST_SHARED_KEYS if shared else _NEWEST_KEYS
    row = chain.db.row(_SHARED_HEIGHT if shared else _HEIGHT, (*shared, address, start))
    height, last = (_TOP, EMPTY_ID) if row is None else (row[0], start)
    more = True
    while more:
        page = chain.db.rows(query, (*shared, address, height, height, last, limit))
        yield from (ID(key) for key, _ in page)
        more = len(page) == limit
        if more:
            key, height = page[-1]
            last = ID(key)


def _raws(
    chain: PlatformChain, keys: Sequence[ID], shared: tuple[ID, ...]
) -> Iterator[tuple[ID, bytes]]:
    """Yield those of the outputs that still exist, in the given order."""
    read = chain.db.rows_by_keys(_SHARED if shared else _UTXOS, keys)
    columns_of = {bytes(key): columns for key, *columns in read}
    return ((key, rows.raw_utxo(*columns_of[key])) for key in keys if key in columns_of)


def _owners_among(
    chain: PlatformChain, addresses: Sequence[ShortID], shared: tuple[ID, ...]
) -> list[ShortID]:
    """Return those addresses that own anything, in order."""
    if len(addresses) <= _FEW:
        return list(addresses)
    question = _SHARED_OWNERS if shared else _OWNERS
    marks = ", ".join(["(%s)"] * len(addresses))
    owners = chain.db.rows(question.format(marks=marks), (*addresses, *shared))
    return sorted(ShortID(bytes(address)) for (address,) in owners)


def _lock(locktime: int, stakeable: int, now: int) -> int:
    """Return the index of the sum in `Funds` that an output belongs to."""
    if locktime > now:
        return 2
    return 1 if stakeable > now else 0
