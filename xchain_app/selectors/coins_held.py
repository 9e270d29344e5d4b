"""Origins and places of the X-Chain's coins, for the check that coins are conserved."""

from typing import Final, NamedTuple

from chaindb.sums import column_sum
from utxo.components import TransferOutput
from xchain_app.chain import AvmChain
from xchain_app.genesis.genesis import parse_genesis
from xchain_app.models import XOutput, XOutputKind, XTransaction

_UNSPENT: Final = "asset_id = %s AND kind = %s AND spent_height IS NULL"


class AvmCoins(NamedTuple):
    """Amounts of the fee asset, in its smallest units."""

    genesis: int
    """Coins on this chain at genesis."""
    outputs: int
    """Unspent outputs."""
    burned: int
    """Burned by transactions."""


def coins_held(chain: AvmChain) -> AvmCoins:
    """Return the sums over all rows. The caller reads one state of the database (`Database.consistent_read`).

    Raises:
        NoXChain: The database holds no chain.
    """
    stored = chain.stored()
    genesis = parse_genesis(chain.genesis_bytes, stored.chain_id)
    return AvmCoins(
        genesis=sum(
            item.output.amount
            for item in genesis.utxos()
            if item.asset_id == stored.fee_asset_id and isinstance(item.output, TransferOutput)
        ),
        outputs=column_sum(
            chain.db, XOutput, "amount", _UNSPENT, [stored.fee_asset_id, XOutputKind.COINS.value]
        ),
        burned=column_sum(chain.db, XTransaction, "burned"),
    )
