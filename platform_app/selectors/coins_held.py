"""Origins and places of the P-Chain's coins, for the check that coins are conserved."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from chaindb.sums import column_sum
from platform_app.chain import PlatformChain
from platform_app.genesis.genesis import parse_genesis
from platform_app.models import UTXO, RewardUTXO, Staker, Tx
from platform_app.selectors import accepted
from platform_app.txs.base import inner_input, inner_output
from platform_app.txs.codec import parse
from primitives.ids import ID, PRIMARY_NETWORK_ID, utxo_id

_REFUNDING: Final = (37, 39)
"""The types of transactions that may return the rest of an L1 validator's balance: its weight is set, it is disabled."""
_CONTAINS: Final = {
    "postgresql": "position(%s::bytea in raw) > 0",
    "sqlite": "instr(raw, %s) > 0",
}


class PlatformCoins(NamedTuple):
    """Amounts of the staking asset, in its smallest units."""

    genesis: int
    """Coins on this chain at genesis, staked or not."""
    rewards: int
    """Rewards that were paid to stakers."""
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
        rewards=column_sum(chain.db, RewardUTXO, "amount", "asset_id = %s", [asset]),
        refunds=sum(_refunds(chain, asset)),
        outputs=column_sum(chain.db, UTXO, "amount", "asset_id = %s", [asset]),
        stake=column_sum(chain.db, Staker, "weight", staked, [PRIMARY_NETWORK_ID]),
        burned=column_sum(chain.db, Tx, "burned"),
    )


def _refunds(chain: PlatformChain, asset: ID) -> Iterator[int]:
    """Yield the balances that were returned to owners of L1 validators.

    The output with a refund follows those of its transaction. If it is spent, its amount is in the input that spent it.
    """
    rows = chain.db.objects(Tx).filter(kind__in=_REFUNDING, status=Tx.COMMITTED).order_by("id")
    for key, found, raw in rows.values_list("id", "tx_id", "raw").iterator():
        tx_id = ID(bytes(found))
        index = len(parse(bytes(raw)).unsigned.outputs)  # type: ignore[attr-defined]  # both types have outputs
        unspent = chain.db.objects(UTXO).filter(pk=utxo_id(tx_id, index), asset_id=asset).first()
        if unspent is not None:
            yield unspent.amount
            continue
        spent = _amount_spent(chain, key, tx_id, index)
        if spent is not None:
            yield spent


def _amount_spent(chain: PlatformChain, key: int, tx_id: ID, index: int) -> int | None:
    """Return the amount of an output that a transaction after a row has spent; None if none has."""
    contains = _CONTAINS[chain.db.connection.vendor]
    reference = bytes(tx_id) + index.to_bytes(4, "big")
    found = chain.db.rows(
        f"SELECT raw FROM platform_app_tx WHERE id > %s AND {contains} ORDER BY id",  # noqa: S608  # a constant
        (key, reference),
    )
    for (raw,) in found:
        for spent in getattr(parse(bytes(raw)).unsigned, "inputs", ()):
            if (spent.tx_id, spent.output_index) == (tx_id, index):
                return inner_input(spent.input).amount
    return None
