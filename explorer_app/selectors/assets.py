"""Names and units of assets for pages: the network's coin, and the assets of the X-Chain.

Anybody can create an asset with any name, so pages mark one that has the name or the symbol of the coin.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from adminkit.formats import format_units
from platform_app.chain import PlatformChain
from primitives.ids import ID
from primitives.settings import CommonSettings
from xchain_app.chain import AvmChain
from xchain_app.models import XAsset

_REFERENCE_COIN: Final = ("avax", "avalanche")
"""Symbol and name of the coin in the genesis of most networks, in lower case."""


class AssetName(NamedTuple):
    """An asset, as pages name it."""

    asset_id: ID
    name: str
    symbol: str
    """Empty for an asset that this node does not know."""
    denomination: int
    """Number of decimals."""
    is_coin: bool = False
    """Whether it is the network's coin, in which fees are paid."""
    is_copy: bool = False
    """Whether it is another asset with the name or the symbol of the coin."""

    def amount(self, units: int) -> str:
        """Return an exact amount with the symbol."""
        return f"{format_units(units, 10**self.denomination)} {self.symbol}".rstrip()


class AssetBook:
    """The names of the assets that a node knows.

    Args:
        platform: The P-Chain.
        avm: The X-Chain; None if the node does not take part in it.
        node: The settings with the coin's name and symbol.
    """

    def __init__(self, platform: PlatformChain, avm: AvmChain | None, node: CommonSettings) -> None:
        self._avm = avm
        self.coin: Final = AssetName(
            platform.network().asset_id,
            node.coin_name or node.coin_symbol,
            node.coin_symbol,
            platform.config.decimals,
            is_coin=True,
        )
        """The network's coin."""

    def names(self, asset_ids: Iterable[ID]) -> Mapping[ID, AssetName]:
        """Return the names of assets; one that this node does not know has no symbol. At most one statement."""
        wanted = set(asset_ids)
        found = {self.coin.asset_id: self.coin}
        others = wanted - found.keys()
        if others and self._avm is not None:
            rows = self._avm.db.objects(XAsset).filter(pk__in=others).order_by("pk")
            found.update((row.asset_id, self.name_of(row)) for row in rows)
        return {key: found.get(key) or AssetName(key, "", "", 0) for key in wanted}

    def name_of(self, row: XAsset) -> AssetName:
        """Return the name of an asset of the X-Chain."""
        if row.asset_id == self.coin.asset_id:
            return self.coin
        name, symbol = printable(row.name), printable(row.symbol)
        taken = {self.coin.name.lower(), self.coin.symbol.lower(), *_REFERENCE_COIN}
        is_copy = not taken.isdisjoint({name.strip().lower(), symbol.lower()})
        return AssetName(row.asset_id, name, symbol, row.denomination, is_copy=is_copy)


def printable(text: str) -> str:
    """Return a text whose bytes may not be UTF-8, with replacement characters."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def payload_text(payload: Any) -> str:
    """Return a payload or memo as text if it is UTF-8 without control characters, else as hexadecimal digits."""
    raw = bytes(payload)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return f"0x{raw.hex()}"
    return text if text.isprintable() else f"0x{raw.hex()}"
