"""Outputs by owner: pages of UTXOs, balances, stake, and rewards of stakers."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from platform_app.chain import PlatformChain
from platform_app.models import Phase
from platform_app.store import rows
from primitives.ids import ID, PRIMARY_NETWORK_ID, ShortID
from primitives.uint64 import MAX
from shared_app.paging import PAGE, OwnedOutputs, UtxoCursor, UtxoPage, raw_utxo
from shared_app.selectors import waiting_outputs

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
    if source_chain is not None:
        return waiting_outputs(
            chain.db,
            addresses,
            destination=PRIMARY_NETWORK_ID,
            source=source_chain,
            after=after,
            limit=limit,
            newest_first=newest_first,
        )
    owned = OwnedOutputs(chain.db, "platform_app_utxo", "platform_app_utxoowner")
    return owned.page(addresses, after=after, limit=limit, newest_first=newest_first)


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
    return [raw_utxo(*row) for row in chain.db.rows(_REWARDS, (tx_id,))]


def _lock(locktime: int, stakeable: int, now: int) -> int:
    """Return the index of the sum in `Funds` that an output belongs to."""
    if locktime > now:
        return 2
    return 1 if stakeable > now else 0
