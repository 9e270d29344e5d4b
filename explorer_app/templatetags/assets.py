"""Formats of assets, and of transactions on both ends of a move between chains, on the explorer's pages."""

from typing import Any, Final

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from adminkit import formats
from explorer_app.selectors.assets import AssetName
from explorer_app.selectors.assets import payload_text as text_of_payload
from explorer_app.selectors.moves import MoveEnd
from explorer_app.templatetags.explorer import NOTHING
from explorer_app.templatetags.naming import ALIKE

register = template.Library()

_MAX_PAYLOAD: Final = 1024
"""Limit of characters of a payload on a page."""
_TX_PAGES: Final = {"P": "explorer:p-tx", "X": "explorer:x-tx", "C": "explorer:atomic-tx"}


@register.simple_tag
def asset_link(asset: AssetName, *, full: bool = False) -> SafeString:
    """Return the symbol of an asset, or with `full` its name and symbol, as a link to its page, with a warning."""
    page = reverse("explorer:x-asset", args=[str(asset.asset_id)])
    if not asset.symbol:
        short = formats.shorten(str(asset.asset_id))
        return format_html(
            '<a class="hex" href="{}" title="{}">{}</a>', page, asset.asset_id, short
        )
    text = f"{asset.name} {asset.symbol}" if full else asset.symbol
    shown = format_html(
        '<a href="{}" title="{}"><bdi class="claimed">{}</bdi></a>', page, asset.asset_id, text
    )
    return format_html("{} {}", shown, ALIKE) if asset.is_copy else shown


@register.simple_tag
def asset_amount(
    amount: int | None, asset: AssetName | None, *, exact: bool = False, column: bool = False
) -> SafeString:
    """Return an amount of an asset with its symbol, truncated after six decimals unless `exact`.

    Args:
        amount: In the smallest units.
        asset: The asset; None if it is not known.
        exact: Whether all decimals are shown.
        column: Whether another column has the symbol.
    """
    if amount is None:
        return NOTHING
    whole = formats.format_units(amount, 10 ** (asset.denomination if asset else 0))
    shown = whole if exact else formats.cut_decimals(whole)
    number = format_html(
        '<span class="num" title="{} smallest units">{}</span>', f"{amount:,}", shown
    )
    if column or asset is None:
        return number
    if asset.is_coin:
        return format_html("{} {}", number, asset.symbol)
    return format_html("{} {}", number, asset_link(asset))


@register.simple_tag
def chain_tx(end: MoveEnd) -> SafeString:
    """Return the transaction at an end of a move as a link, shortened."""
    if end.tx_id is None:
        return NOTHING
    text, page = str(end.tx_id), _TX_PAGES.get(end.letter)
    short = formats.shorten(text)
    if page is None:
        return format_html('<span class="hex" title="{}">{}</span>', text, short)
    return format_html(
        '<a class="hex" href="{}" title="{}">{}</a>', reverse(page, args=[text]), text, short
    )


@register.filter
def of_asset(assets: Any, asset_id: Any) -> AssetName | None:
    """Return the name of an asset from those of the page."""
    found: AssetName | None = assets.get(asset_id)
    return found


@register.filter
def payload(content: bytes) -> str:
    """Return the payload of a collectible as text, else as hexadecimal digits. It is a stranger's: never a link or markup."""
    text = text_of_payload(content)
    return text if len(text) <= _MAX_PAYLOAD else f"{text[:_MAX_PAYLOAD]}…"
