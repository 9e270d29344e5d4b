"""The X-Chain's API: only the methods that clients call before they build transactions (gaps.md 8)."""

from typing import Final

from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from platform_app.api.errors import NOT_FOUND, refused, shortened
from platform_app.api.params import text
from platform_app.api.rpc import Methods, PlatformRpc
from platform_app.api.wire import Json
from primitives.cb58 import Cb58Error
from primitives.ids import ID, WrongIdLength

SYMBOLS: Final = frozenset({"AVAX", "LUX"})
"""Symbols by which clients request the staking asset, whatever its own name is."""


def get_asset_description(rpc: PlatformRpc, asset: str) -> Json:
    """avm.getAssetDescription: the staking asset's ID, name, symbol and decimals.

    Unspecified: there is one asset. Clients request it by symbol, by ID, or without a name.
    """
    known = rpc.staking_asset
    if asset not in {*SYMBOLS, known.alias, known.symbol, str(known.asset_id)}:
        raise refused(NOT_FOUND if _is_id(asset) else f"asset '{shortened(asset)}' not found")
    return {
        "assetID": str(known.asset_id),
        "name": known.name,
        "symbol": known.symbol,
        "denomination": str(known.denomination),
    }


def get_tx_fee(rpc: PlatformRpc) -> Json:
    """avm.getTxFee: the fees of transactions on the X-Chain."""
    fees = rpc.chain.config.fees
    return {"txFee": str(fees.tx), "createAssetTxFee": str(fees.create_asset)}


def _is_id(asset: str) -> bool:
    try:
        ID.parse(asset)
    except (Cb58Error, WrongIdLength):
        return False
    return True


def registry(rpc: PlatformRpc) -> MethodRegistry:
    """Return the `avm.*` methods that go with a P-Chain."""
    methods = Methods(rpc)
    methods.add(
        "avm.getAssetDescription", get_asset_description, params=[Param("assetID", text, "AVAX")]
    )
    methods.add("avm.getTxFee", get_tx_fee, hot=True)
    return methods.registry
