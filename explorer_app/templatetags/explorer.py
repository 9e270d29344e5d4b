"""Formats of addresses, hashes, amounts, times and tokens on the explorer's pages.

Lists truncate amounts after six decimals; the exact amount is in the tooltip, or on the page of the block,
transaction or account. All amounts of a coin are in coins, and all gas prices in Gwei, so that columns can be compared.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from django import template
from django.template.defaulttags import URLNode
from django.template.defaulttags import url as url_of_django
from django.utils.html import conditional_escape, escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from typing_extensions import override

from adminkit import formats
from chaindb import clock
from explorer_app.names.page_names import NameForm, PageNames
from explorer_app.selectors.tokens import MAX_COUNTED, TokenRow
from explorer_app.site import ChainPages
from explorer_app.templatetags import naming
from explorer_app.tokens.strings import looks_like_a_link
from primitives.counting import counted
from primitives.evm import Address
from primitives.hexadecimal import checksum_address

register = template.Library()

_COIN: Final = 10**18
_GWEI: Final = 10**9
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_SMALL_SLOT: Final = 10**9
"""Compilers number variables from 0; larger slots are hashes."""
NOTHING: Final = mark_safe('<span class="faint">–</span>')


class PageURLNode(URLNode):
    """The `url` tag of the explorer's templates: pages that each EVM chain has are those of the page's chain."""

    @override
    def render(self, context: Any) -> str:
        args = [arg.resolve(context) for arg in self.args]
        kwargs = {key: value.resolve(context) for key, value in self.kwargs.items()}
        url = _pages(context).reverse(self.view_name.resolve(context), args, kwargs)
        if self.asvar:
            context[self.asvar] = url
            return ""
        return str(conditional_escape(url)) if context.autoescape else url


@register.tag
def url(parser: Any, token: Any) -> PageURLNode:
    """Return the URL of a page, with the arguments of Django's own tag."""
    node = url_of_django(parser, token)
    return PageURLNode(node.view_name, node.args, node.kwargs, node.asvar)


def _pages(context: Any) -> ChainPages:
    """Return the URLs of the page's chain; error pages have none, and lead to the C-Chain."""
    pages: ChainPages | None = context.get("pages")
    return ChainPages() if pages is None else pages


@register.simple_tag(takes_context=True)
def chain_url(context: Any, blockchain_id: object) -> str:
    """Return the URL of the front page of a blockchain, empty if this node does not run it."""
    return str(context["switch"].urls.get(str(blockchain_id), ""))


@register.filter
def hexed(data: bytes) -> str:
    """Return bytes as 0x-prefixed hex."""
    return "0x" + bytes(data).hex()


@register.filter
def slot(key: bytes) -> str:
    """Return a storage slot: a small number in decimal, a hash in hex."""
    number_of = int.from_bytes(bytes(key), "big")
    return str(number_of) if number_of < _SMALL_SLOT else hexed(key)


@register.filter
def checksummed(address: bytes) -> str:
    """Return an address with EIP-55's checksum."""
    return str(checksum_address(Address(bytes(address))))


@register.filter
def shortened(text: object) -> str:
    """Return a long text without its middle."""
    return formats.shorten(str(text))


@register.filter
def number(value: int | None) -> str:
    """Return a number with thousands separators."""
    return "–" if value is None else f"{value:,}"


@register.filter(name="counted")
def counted_in_template(count: int, noun: str) -> str:
    """Return a number with its noun, given in the singular: 1 block, 2 blocks."""
    return counted(count, noun)


@register.simple_tag(takes_context=True)
def wei(
    context: Any, amount: int | None, *, exact: bool = False, column: bool = False
) -> SafeString:
    """Return an amount of wei in coins with the coin's symbol; tooltip in wei.

    Args:
        context: The page's, with `coin_symbol`.
        amount: Wei.
        exact: Whether all decimals are shown, instead of the first six.
        column: Whether the head of a table's column has the symbol, so that the amount does not need it.
    """
    if amount is None:
        return NOTHING
    return _coin(context, amount, _COIN, f"{amount:,} wei", exact=exact, column=column)


@register.simple_tag
def gwei(amount: int | None, *, column: bool = False) -> SafeString:
    """Return a gas price in Gwei, with at most nine decimals; tooltip in wei. `column` as for `wei`."""
    if amount is None:
        return NOTHING
    shown = formats.format_units(amount, _GWEI)
    if amount >= 1000 * _GWEI:
        shown = formats.cut_decimals(shown)
    return _amount(shown, "" if column else "Gwei", f"{amount:,} wei")


@register.simple_tag(takes_context=True)
def coins(
    context: Any, amount: int | None, *, exact: bool = False, column: bool = False
) -> SafeString:
    """Return an amount of the P-Chain's smallest units in coins, as `wei`; the context has also the `unit`."""
    if amount is None:
        return NOTHING
    tooltip = f"{amount:,} smallest units"
    return _coin(context, amount, context["unit"], tooltip, exact=exact, column=column)


@register.simple_tag(takes_context=True)
def age(context: Any, seconds: int) -> SafeString:
    """Return how long ago a time was, with the time as tooltip."""
    # Once per template and not per row of a list, because the clock queries the database.
    cache = context.render_context
    if "now" not in cache:
        cache["now"] = clock.now()
    since = formats.format_age(max(0, cache["now"] - seconds))
    return format_html(
        '<time datetime="{}" title="{}">{} ago</time>',
        formats.format_iso(seconds), formats.format_time(seconds), since,
    )  # fmt: skip


@register.simple_tag
def until(seconds: int) -> SafeString:
    """Return the time until or since a time, with the time as tooltip."""
    left = seconds - clock.now()
    words = f"in {formats.format_age(left)}" if left > 0 else f"{formats.format_age(-left)} ago"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        formats.format_iso(seconds), formats.format_time(seconds), words,
    )  # fmt: skip


@register.filter
def utc(seconds: int) -> str:
    """Return a time as date and time in UTC."""
    return formats.format_time(seconds)


@register.filter
def duration(seconds: int) -> str:
    """Return an exact duration: 2 d, 1 h 30 min."""
    return formats.format_duration(seconds)


@register.simple_tag
def share(part: float, whole: float) -> SafeString:
    """Return a share in percent with a bar."""
    percent = 100 * part / whole if whole else 0.0
    # A CSP without unsafe-inline forbids style attributes; a meter element needs none.
    return format_html(
        '<meter min="0" max="100" value="{}"></meter> <span class="num">{}</span>',
        f"{percent:.1f}", formats.format_percent(part, whole),
    )  # fmt: skip


@register.simple_tag
def share_of_one(part: float) -> SafeString:
    """Return a share from 0 to 1 in percent with a bar."""
    return share(part, 1)


@register.simple_tag
def fee(shares: int | None) -> str:
    """Return a delegation fee, given in millionths, in percent."""
    return "–" if shares is None else f"{shares / 10_000:.4f}".rstrip("0").rstrip(".") + " %"


@register.filter
def values(points: Sequence[Any]) -> list[float]:
    """Return the values of points in time."""
    return [point.value for point in points]


@register.simple_tag(takes_context=True)
def account(context: Any, address: bytes | str | None, *, full: bool = False) -> SafeString:
    """Return an EVM address as a link, shortened or in full, with the name of its contract if it has one."""
    if address is None:
        return NOTHING
    if isinstance(address, str):
        if not _ADDRESS.fullmatch(
            address
        ):  # a storage layout may place an address across the end of a slot
            return format_html('<span class="hex">{}</span>', address)
        address = bytes.fromhex(address.removeprefix("0x"))
    return named(context, address, "full" if full else "short")


@register.simple_tag(takes_context=True)
def named(context: Any, address: bytes, form: str) -> SafeString:
    """Return an EVM address in a form (`NameForm`); `PageNames.fill` inserts it after the page is rendered."""
    names: PageNames | None = context.get("names")
    place = Address(bytes(address))
    if names is None:
        return naming.shown(place, None, NameForm(form), _pages(context))
    return format_html("{}", names.place(place, NameForm(form)))


@register.simple_tag(takes_context=True)
def tx(context: Any, tx_hash: bytes, *, full: bool = False) -> SafeString:
    """Return a transaction's hash as a link."""
    text = hexed(tx_hash)
    shown = text if full else formats.shorten(text, keep=6)
    return naming.link(_pages(context).reverse("explorer:tx", [text]), shown, text, copy=full)


@register.simple_tag(takes_context=True)
def blocklink(context: Any, height: int) -> SafeString:
    """Return a block's height as a link."""
    page = _pages(context).reverse("explorer:block", [height])
    return format_html('<a class="num" href="{}">{}</a>', page, f"{height:,}")


@register.simple_tag
def copyable(text: object) -> SafeString:
    """Return a text in a monospace font with a button that copies it."""
    return format_html('<code class="hex">{}</code>{}', text, naming.copy_button(str(text)))


@register.simple_tag
def sparkline(
    values: Sequence[float], label: str, texts: Sequence[str] = (), *, from_zero: bool = True
) -> SafeString:
    """Return a small line chart as SVG, 100 units wide.

    Args:
        values: The values, oldest first.
        label: Describes the values.
        texts: For each value the text at the pointer, if the chart has any.
        from_zero: Whether zero is at the bottom, or the smallest value. The largest value is at the top.
    """
    if len(values) < 2:
        return mark_safe('<svg class="spark" viewBox="0 0 100 28" aria-hidden="true"></svg>')
    bottom = 0 if from_zero else min(values)
    height = (max(values) - bottom) or 1
    step = 100 / (len(values) - 1)
    points = " ".join(
        f"{index * step:.1f},{27 - 26 * (value - bottom) / height:.1f}"
        for index, value in enumerate(values)
    )
    spots = "".join(
        f'<rect x="{(index - 0.5) * step:.1f}" width="{step:.1f}" height="28"><title>{escape(text)}</title></rect>'
        for index, text in enumerate(texts)
    )
    return format_html(
        '<svg class="spark" viewBox="0 0 100 28" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<polygon points="0,28 {} 100,28"/><polyline points="{}"/>{}</svg>',
        label, points, points, mark_safe(spots),  # noqa: S308  # its texts are escaped
    )  # fmt: skip


def _coin(
    context: Any, amount: int, unit: int, tooltip: str, *, exact: bool, column: bool
) -> SafeString:
    symbol = "" if column else context["coin_symbol"]
    return _amount(_decimal(amount, unit, exact=exact), symbol, tooltip)


def _amount(number: str, unit: str, tooltip: str) -> SafeString:
    shown = f"{number} {unit}".rstrip()
    return format_html('<span class="num" title="{}">{}</span>', tooltip, shown)


def _decimal(amount: int, unit: int, *, exact: bool) -> str:
    whole = formats.format_units(amount, unit)
    return whole if exact else formats.cut_decimals(whole)


_MAX_SHOWN: Final = 24
"""Limit of characters of a name in a list."""


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
    mark = naming.ALIKE if token.is_copy else ""
    return format_html("{} {}", shown, mark) if present else format_html("{}", mark)


@register.simple_tag(takes_context=True)
def token_symbol(context: Any, token: TokenRow) -> SafeString:
    """Return a token's symbol, else its name, as a link to its page; its address if these are missing or look like a link."""
    text = token.symbol or token.name
    if text is None or looks_like_a_link(text):
        return token_link(context, token)
    page = _pages(context).reverse("explorer:token", [checksummed(token.address)])
    mark = format_html(" {}", naming.ALIKE) if token.is_copy else ""
    return format_html('<a href="{}">{}</a>{}', page, _said(text, cut=True), mark)


@register.simple_tag(takes_context=True)
def token_link(context: Any, token: TokenRow) -> SafeString:
    """Return a token's shortened address as a link to its page; the address is used because names are not unique."""
    text = checksummed(token.address)
    page = _pages(context).reverse("explorer:token", [text])
    return format_html(
        '<a class="hex" href="{}" title="{}">{}</a>', page, text, formats.shorten(text, keep=6)
    )


@register.simple_tag(takes_context=True)
def token_item(context: Any, token: TokenRow, token_id: int) -> SafeString:
    """Return a token ID as a link to its page; a long one is shortened."""
    page = _pages(context).reverse("explorer:token-item", [checksummed(token.address), token_id])
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
