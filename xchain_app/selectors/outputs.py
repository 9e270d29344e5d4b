"""Outputs by owner: pages of UTXOs, balances, and the transactions of an address."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from chaindb.database import Database
from primitives.ids import ID, ShortID
from primitives.uint64 import MAX
from shared_app.paging import PAGE, OwnedOutputs, UtxoCursor, UtxoPage
from shared_app.selectors import waiting_outputs

if TYPE_CHECKING:  # the start reads balances before the chain's modules are loaded
    from xchain_app.chain import AvmChain

_COINS = 7
"""The type of outputs with an amount."""

# The number of owners follows type, amount, locktime and threshold within the bytes of an output. The owners themselves are
# not read: anybody may give outputs of 64 KiB to any address.
_OWNED = """
SELECT u.tx_id, u.output_index, u.amount, u.locktime, substr(u.output, 25, 4)
FROM xchain_app_xowner o JOIN xchain_app_xoutput u ON u.utxo_id = o.utxo_id
WHERE o.address = %s AND u.kind = %s AND u.asset_id = %s
ORDER BY u.height DESC, u.utxo_id
"""
_ALL_OWNED = """
SELECT u.asset_id, u.amount, u.locktime, substr(u.output, 25, 4)
FROM xchain_app_xowner o JOIN xchain_app_xoutput u ON u.utxo_id = o.utxo_id
WHERE o.address = %s AND u.kind = %s
"""
_ADDRESS_TXS = """
SELECT t.tx_id FROM xchain_app_xaddresstx a JOIN xchain_app_xtransaction t ON t.id = a.position
WHERE a.address = %s AND a.asset_id = %s ORDER BY a.position LIMIT %s OFFSET %s
"""


_FEE_ASSET = "SELECT fee_asset_id FROM xchain_app_xchain"


class CoinBalance(NamedTuple):
    """The coins of one asset that an address owns."""

    amount: int
    """Capped at 2^64 - 1."""
    utxos: tuple[tuple[ID, int], ...]
    """Transaction and index of each output counted, the latest block's first."""


def fee_asset(db: Database) -> ID | None:
    """Return the asset of an X-Chain in which fees are paid; None before the genesis."""
    row = db.row(_FEE_ASSET)
    return None if row is None else ID(bytes(row[0]))


def utxos_of(
    chain: "AvmChain",
    addresses: Iterable[ShortID],
    *,
    after: UtxoCursor | None = None,
    limit: int = PAGE,
    source_chain: ID | None = None,
) -> UtxoPage:
    """Return a page of the outputs that any of these addresses can sign for, after the cursor.

    Outputs of all extensions are included. Within an address the outputs of the latest block come first; those exported by another
    chain have that order on networks of avalanchego, otherwise that of their IDs.

    Args:
        chain: The chain.
        addresses: In any order.
        after: The end of the previous page; without it, the page starts with the first output.
        limit: Maximum number of UTXOs, 1 to `PAGE`.
        source_chain: Select the outputs that this chain exported to the X-Chain; default: the X-Chain's own.
    """
    if source_chain is not None:
        return waiting_outputs(
            chain.db,
            addresses,
            destination=chain.stored().chain_id,
            source=source_chain,
            after=after,
            limit=limit,
            newest_first=chain.node.parameters == "avalanchego",
        )
    owned = OwnedOutputs(
        chain.db, "xchain_app_xoutput", "xchain_app_xowner", owners_have_heights=True
    )
    return owned.page(addresses, after=after, limit=limit, newest_first=True)


def balance(
    db: Database, address: ShortID, asset_id: ID, *, now: int, with_partial: bool
) -> CoinBalance:
    """Return the coins of an asset that an address owns.

    Args:
        db: The database with the chain's rows.
        address: The owner.
        asset_id: The asset.
        now: Unix seconds.
        with_partial: Whether outputs count that have other owners too, or that are still locked.
    """
    amount = 0
    utxos = []
    for tx_id, index, of_output, locktime, owners in db.rows(_OWNED, (address, _COINS, asset_id)):
        if with_partial or _is_spendable_alone(int(locktime), bytes(owners), now):
            amount += int(of_output)
            utxos.append((ID(bytes(tx_id)), index))
    return CoinBalance(min(MAX, amount), tuple(utxos))


def balances(chain: "AvmChain", address: ShortID, *, now: int, with_partial: bool) -> dict[ID, int]:
    """Return the coins that an address owns, by asset; see `balance`."""
    amounts: dict[ID, int] = {}
    for asset_id, amount, locktime, owners in chain.db.rows(_ALL_OWNED, (address, _COINS)):
        if with_partial or _is_spendable_alone(int(locktime), bytes(owners), now):
            key = ID(bytes(asset_id))
            amounts[key] = min(MAX, amounts.get(key, 0) + int(amount))
    return amounts


def address_txs(
    chain: "AvmChain", address: ShortID, asset_id: ID, *, cursor: int, limit: int
) -> list[ID]:
    """Return transactions that consumed or created an output of an asset that names the address, oldest first."""
    rows = chain.db.rows(_ADDRESS_TXS, (address, asset_id, limit, cursor))
    return [ID(bytes(tx_id)) for (tx_id,) in rows]


def _is_spendable_alone(locktime: int, owners: bytes, now: int) -> bool:
    return locktime <= now and int.from_bytes(owners, "big") == 1
