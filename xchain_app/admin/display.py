"""HTML formatting of X-Chain values in the admin; `adminkit.display` has the parts that all chains share.

Names, symbols and payloads come from untrusted transactions, so they are shown as escaped text only.
"""

from json import dumps
from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString

from adminkit.display import PageLinks, full, muted, one_per_line, short, side_by_side
from adminkit.formats import format_units
from utxo.components import UtxoContent
from utxo.rendering import Json
from xchain_app.apps import avm_runtime
from xchain_app.models import XAsset
from xchain_app.txs.extensions import owners_of

_PAGES: Final = PageLinks("xchain_app")
page, list_page, search_page = _PAGES.page, _PAGES.list_page, _PAGES.search_page

_MAX_JSON: Final = 200_000
"""Maximum characters of a decoded object on a page."""
_MAX_OWNERS: Final = 50
"""Maximum number of owners on a page."""


def json_box(value: Json) -> SafeString:
    """Return JSON in a scrolling box."""
    text = dumps(value, indent=2, ensure_ascii=False)
    more = "\n…" if len(text) > _MAX_JSON else ""
    return format_html(
        '<pre class="nd-box nd-json" tabindex="0">{}{}</pre>', text[:_MAX_JSON], more
    )


def amount(units: int, asset: XAsset | None) -> str:
    """Return an amount of an asset with its symbol."""
    if asset is None:
        return f"{units:,}"
    return f"{format_units(units, 10**asset.denomination)} {printable(asset.symbol)}"


def printable(text: str) -> str:
    """Return a text whose bytes may not be UTF-8, with replacement characters."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def payload_text(payload: bytes) -> str:
    """Return a payload as text if it is UTF-8 without control characters, else as hexadecimal digits."""
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        return f"0x{payload.hex()}"
    return text if text.isprintable() else f"0x{payload.hex()}"


def owners(content: UtxoContent) -> SafeString:
    """Return the owners of an output, one per line, and the number of them that must sign."""
    found = owners_of(content)
    chain = avm_runtime().chain
    lines = [full(chain.address(address)) for address in found.addresses[:_MAX_OWNERS]]
    rest = len(found.addresses) - len(lines)
    needed = f"{found.threshold} of {len(found.addresses)} must sign"
    return one_per_line(*lines, *([muted(f"and {rest:,} others")] if rest else []), muted(needed))


def first_owner(content: UtxoContent) -> SafeString:
    """Return the first owner of an output for lists, and the number of others."""
    found = owners_of(content).addresses
    if not found:
        return muted("nobody")
    shown = short(avm_runtime().chain.address(found[0]), keep=12)
    return side_by_side(shown, muted(f"+{len(found) - 1}")) if len(found) > 1 else shown
