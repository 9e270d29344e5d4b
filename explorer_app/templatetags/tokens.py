"""Formats of tokens on pages: untrusted names as plain text, amounts with the token's decimals."""

from typing import Final

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from adminkit import formats
from explorer_app.selectors.tokens import MAX_COUNTED, TokenRow
from explorer_app.templatetags.explorer import checksummed
from explorer_app.tokens.strings import looks_like_a_link

register = template.Library()

_MAX_SHOWN: Final = 24
"""Limit of characters of a name in a list."""

_ALIKE: Final = mark_safe(
    '<span class="badge bad" title="An older token, or the native coin of the chain, has this name or symbol">lookalike</span>'
)


@register.simple_tag
def token_amount(amount: int, token: TokenRow, *, exact: bool = False) -> SafeString:
    """Return an amount of a token, truncated after six decimals unless `exact`; tooltip with the exact amount."""
    if token.decimals is None:
        return format_html('<span class="num">{}</span>', f"{amount:,}")
    whole = formats.format_units(amount, 10**token.decimals)
    shown = whole if exact else formats.cut_decimals(whole)
    return format_html('<span class="num" title="{}">{}</span>', whole, shown)


@register.simple_tag
def token_name(token: TokenRow, *, full: bool = False) -> SafeString:
    """Return a token's symbol, or with `full` its name and symbol, as text and never as a link, with warnings."""
    texts = [token.name, token.symbol] if full else [token.symbol or token.name]
    present = [text for text in texts if text is not None]
    shown = format_html_join(" ", "{}", ((_said(text, cut=not full),) for text in present))
    mark = _ALIKE if token.is_copy else ""
    return format_html("{} {}", shown, mark) if present else format_html("{}", mark)


@register.simple_tag
def token_link(token: TokenRow) -> SafeString:
    """Return a token's shortened address as a link to its page; the address is used because names are not unique."""
    text = checksummed(token.address)
    page = reverse("explorer:token", args=[text])
    return format_html(
        '<a class="hex" href="{}" title="{}">{}</a>', page, text, formats.shorten(text, keep=6)
    )


@register.simple_tag
def token_item(token: TokenRow, token_id: int) -> SafeString:
    """Return a token ID as a link to its page; a long one is shortened."""
    page = reverse("explorer:token-item", args=[checksummed(token.address), token_id])
    shown = formats.shorten(str(token_id))
    return format_html('<a class="num item" href="{}" title="{}">#{}</a>', page, token_id, shown)


@register.filter
def capped(count: int) -> str:
    """Return a number of rows; `10,000+` if counting stopped at the limit."""
    return f"{MAX_COUNTED:,}+" if count > MAX_COUNTED else f"{count:,}"


def _said(text: str, *, cut: bool) -> SafeString:
    short = f"{text[:_MAX_SHOWN]}…" if cut and len(text) > _MAX_SHOWN else text
    kind = "claimed wary" if looks_like_a_link(text) else "claimed"
    return format_html('<bdi class="{}" title="{}">{}</bdi>', kind, text, short)
