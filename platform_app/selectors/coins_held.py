"""Origins and places of the P-Chain's coins, for the check that coins are conserved."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from chaindb.sums import column_sum
from platform_app.chain import PlatformChain
from platform_app.genesis.genesis import parse_genesis
from platform_app.models import UTXO, AutoRenewedValidator, Phase, RewardUTXO, Staker, Tx
from platform_app.selectors import accepted
from platform_app.txs.base import inner_input, inner_output
from platform_app.txs.codec import parse
from primitives.ids import ID, PRIMARY_NETWORK_ID, utxo_id

_REFUNDING: Final = (37, 39)
"""The types of transactions that may return the rest of an L1 validator's balance: its weight is set, it is disabled."""
_CHUNK: Final = 500
"""Rows that are read together; each transaction may have 64 KiB."""


class _Refund(NamedTuple):
    """Where the output with a refund is, if the transaction has one."""

    key: int
    """The key of the transaction's row."""
    reference: tuple[ID, int]
    """The transaction's ID and the output's index."""


class PlatformCoins(NamedTuple):
    """Amounts of the staking asset, in its smallest units."""

    genesis: int
    """Coins on this chain at genesis, staked or not."""
    rewards: int
    """Rewards that were paid to stakers, or added to the stake of current auto-renewed validators."""
    refunds: int
    """Balances that were returned to owners of L1 validators; `burned` includes the amounts paid into them."""
    outputs: int
    """Unspent outputs."""
    stake: int
    """Stake of pending and current stakers of the Primary Network."""
    burned: int
    """Burned by transactions: fees, and amounts paid into balances of L1 validators."""


def coins_held(chain: PlatformChain) -> PlatformCoins | None:
    """Return the sums over all rows; None if the database has no genesis bytes.

    The caller reads one state of the database (`Database.consistent_read`). It takes a scan of each table.
    """
    raw = accepted.genesis_bytes(chain)
    if raw is None:
        return None
    genesis, asset = parse_genesis(raw), chain.network().asset_id
    founders = sum(tx.unsigned.validator.weight for tx in genesis.validators)  # type: ignore[attr-defined]  # all of them add validators
    allocated = sum(inner_output(utxo.output).amount for utxo in genesis.utxos)
    staked = "phase < 3 AND subnet_id = %s"
    return PlatformCoins(
        genesis=allocated + founders,
        rewards=column_sum(chain.db, RewardUTXO, "amount", "asset_id = %s", [asset])
        + _restaked(chain),
        refunds=_refunds(chain, asset),
        outputs=column_sum(chain.db, UTXO, "amount", "asset_id = %s", [asset]),
        stake=column_sum(chain.db, Staker, "weight", staked, [PRIMARY_NETWORK_ID]),
        burned=column_sum(chain.db, Tx, "burned"),
    )


def _restaked(chain: PlatformChain) -> int:
    """Return the sum of the rewards in the stake of current auto-renewed validators; they are paid when these leave."""
    rows = chain.db.objects(AutoRenewedValidator).filter(staker__phase=Phase.CURRENT)
    accrued = rows.values_list("accrued_validation_rewards", "accrued_delegatee_rewards")
    return sum(map(sum, accrued))


def _refunds(chain: PlatformChain, asset: ID) -> int:
    """Return the sum of the balances that were returned to owners of L1 validators.

    The output with a refund follows those of its transaction. If it is spent, its amount is in the input that spent
    it: all of them are found in one pass through the later transactions.
    """
    wanted = _possible_refunds(chain)
    found = 0
    keys = list(wanted)
    for start in range(0, len(keys), _CHUNK):
        part = keys[start : start + _CHUNK]
        for unspent in chain.db.objects(UTXO).filter(pk__in=part, asset_id=asset):
            found += unspent.amount
            del wanted[unspent.pk]
    references = {place.reference for place in wanted.values()}
    if references:
        first = min(place.key for place in wanted.values())
        found += sum(_amounts_spent(chain, first, references))
    return found


def _possible_refunds(chain: PlatformChain) -> dict[ID, _Refund]:
    """Return the places of the outputs that may have refunds, by their IDs as unspent outputs."""
    rows = chain.db.objects(Tx).filter(kind__in=_REFUNDING, status=Tx.COMMITTED).order_by("id")
    places = {}
    for key, tx_id, raw in rows.values_list("id", "tx_id", "raw").iterator(chunk_size=_CHUNK):
        index = len(parse(bytes(raw)).unsigned.outputs)  # type: ignore[attr-defined]  # both types have outputs
        found = ID(bytes(tx_id))
        places[utxo_id(found, index)] = _Refund(key, (found, index))
    return places


def _amounts_spent(chain: PlatformChain, after: int, wanted: set[tuple[ID, int]]) -> Iterator[int]:
    """Yield the amounts of those outputs that a transaction after a row has spent."""
    rows = chain.db.objects(Tx).filter(id__gt=after).order_by("id")
    for raw in rows.values_list("raw", flat=True).iterator(chunk_size=_CHUNK):
        for spent in getattr(parse(bytes(raw)).unsigned, "inputs", ()):
            if (spent.tx_id, spent.output_index) in wanted:
                yield inner_input(spent.input).amount
