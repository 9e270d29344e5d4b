"""Assets, balances of addresses, and fees."""

from typing import Final

from chaindb import clock
from jsonrpc.dispatch.values import refused, shortened
from primitives.cb58 import Cb58Error
from primitives.ids import ID, ShortID, WrongIdLength
from xchain_app.api.rpc import ERRORS, NOT_FOUND, AvmRpc, Json
from xchain_app.selectors import accepted, assets, outputs
from xchain_app.selectors.assets import StoredAsset

SYMBOLS: Final = frozenset({"AVAX", "LUX"})
"""Symbols by which clients request the fee asset, whatever its own name is."""


def get_asset_description(rpc: AvmRpc, text: str) -> Json:
    """avm.getAssetDescription: an asset's ID, name, symbol and decimals.

    Unspecified: without an argument it is the asset in which fees are paid; clients also request that one by the
    symbols AVAX and LUX.
    """
    asset_id = asset_id_of(rpc, text)
    asset = assets.asset(rpc.chain, asset_id)
    if asset is None:
        is_tx = accepted.tx(rpc.chain, asset_id) is not None
        raise refused("transaction doesn't create an asset" if is_tx else NOT_FOUND)
    return {
        "assetID": str(asset.asset_id),
        "name": asset.name,
        "symbol": asset.symbol,
        "denomination": str(asset.denomination),
    }


def get_tx_fee(rpc: AvmRpc) -> Json:
    """avm.getTxFee: the fees of transactions on the X-Chain, in the smallest unit of the fee asset."""
    config = rpc.chain.config
    return {"txFee": str(config.tx_fee), "createAssetTxFee": str(config.create_asset_tx_fee)}


def get_balance(rpc: AvmRpc, address: str, asset: str, include_partial: bool) -> Json:  # noqa: FBT001
    """avm.getBalance: the coins of an asset that an address owns, and their outputs.

    Outputs with several owners or with a locktime that has not passed count only with `includePartial`. Collectibles and
    property do not count.
    """
    short_id = _address(rpc, address)
    asset_id = asset_id_of(rpc, asset)
    found = outputs.balance(
        rpc.chain.db, short_id, asset_id, now=clock.now(), with_partial=include_partial
    )
    # Base58 takes most of the time; a transaction often pays an address many times.
    texts = {tx_id: str(tx_id) for tx_id in {tx_id for tx_id, _ in found.utxos}}
    utxos = [{"txID": texts[tx_id], "outputIndex": index} for tx_id, index in found.utxos]
    return {"balance": str(found.amount), "utxoIDs": utxos}


def get_all_balances(rpc: AvmRpc, address: str, include_partial: bool) -> Json:  # noqa: FBT001
    """avm.getAllBalances: the coins that an address owns by asset, as `avm.getBalance` counts them."""
    short_id = _address(rpc, address)
    amounts = outputs.balances(rpc.chain, short_id, now=clock.now(), with_partial=include_partial)
    names = assets.aliases(rpc.chain)
    shown = [
        {"asset": names.get(asset_id) or str(asset_id), "balance": str(amount)}
        for asset_id, amount in amounts.items()
    ]
    return {"balances": shown}


def asset_id_of(rpc: AvmRpc, text: str) -> ID:
    """Return the ID of an asset from its name in the genesis, from its ID, or from a symbol of the fee asset.

    Raises:
        JsonRpcError: -32000, no asset has this name.
    """
    named: StoredAsset | None = assets.asset_named(rpc.chain, text)
    if named is not None:
        return named.asset_id
    try:
        return ID.parse(text)
    except (Cb58Error, WrongIdLength):
        if text in SYMBOLS:
            return rpc.chain.stored().fee_asset_id
        raise refused(f"asset '{shortened(text)}' not found") from None


def _address(rpc: AvmRpc, text: str) -> ShortID:
    with ERRORS.saying(f"problem parsing address '{shortened(text)}'"):
        short_id: ShortID = rpc.read_address(text)
    return short_id
