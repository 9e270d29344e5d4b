"""The X-Chain's door: what clients ask it before they build anything (gaps.md 8), and no more."""

from functools import lru_cache
from typing import Final

from jsonrpc.params import Param
from jsonrpc.registry import MethodRegistry
from platform_app.api.errors import NOT_FOUND, refused, shortened, to_error_object
from platform_app.api.params import text
from platform_app.api.wire import Json
from platform_app.apps import platform_chain
from platform_app.genesis.asset import Asset, asset_of
from platform_app.selectors import accepted
from platform_app.txs.chains import CreateChainTx
from platform_app.txs.codec import GENESIS_CODEC, parse
from primitives.cb58 import Cb58Error
from primitives.ids import ID, WrongIdLength

SYMBOLS: Final = frozenset({"AVAX", "LUX"})
"""What clients call the staking asset, whatever its own name is."""

AVM: Final = MethodRegistry(to_error_object)


def get_asset_description(asset: str) -> Json:
    """avm.getAssetDescription: the staking asset's ID, name, symbol and decimals.

    Unspecified: there is one asset. Clients ask for it by symbol or by ID, or without naming it.
    """
    known = _staking_asset(platform_chain().network().x_chain_id)
    if asset not in {*SYMBOLS, known.alias, known.symbol, str(known.asset_id)}:
        raise refused(NOT_FOUND if _is_id(asset) else f"asset '{shortened(asset)}' not found")
    return {
        "assetID": str(known.asset_id),
        "name": known.name,
        "symbol": known.symbol,
        "denomination": str(known.denomination),
    }


def get_tx_fee() -> Json:
    """avm.getTxFee: what transactions of the X-Chain cost."""
    fees = platform_chain().config.fees
    return {"txFee": str(fees.tx), "createAssetTxFee": str(fees.create_asset)}


@lru_cache(maxsize=4)
def _staking_asset(x_chain_id: ID) -> Asset:
    """Return the asset that the X-Chain's genesis creates; it never changes."""
    found = accepted.tx(platform_chain(), x_chain_id)
    assert found is not None, "every genesis creates an X-Chain"
    created = parse(found.raw, GENESIS_CODEC).unsigned
    assert isinstance(created, CreateChainTx)
    return asset_of(created.genesis_data)


def _is_id(asset: str) -> bool:
    try:
        ID.parse(asset)
    except (Cb58Error, WrongIdLength):
        return False
    return True


AVM.add("avm.getAssetDescription", get_asset_description, params=[Param("assetID", text, "AVAX")])
AVM.add("avm.getTxFee", get_tx_fee, hot=True)
