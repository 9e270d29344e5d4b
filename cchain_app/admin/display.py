"""How the admin shows values as HTML.

Class names begin with `nd-`: templates/admin/node_style.html gives them their looks, and its script
copies what `data-copy` holds.
"""

from collections.abc import Iterable

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from cchain_app.admin import formats, links
from chaindb.fields import HexBytes
from primitives.evm import Address
from primitives.hexadecimal import checksum_address

NOTHING = mark_safe('<span class="nd-faint">–</span>')
ZERO = mark_safe('<span class="nd-faint">0</span>')
MOST_BYTES = 16 * 1024
"""So much of input, data or code is shown; the rest is only counted."""


def short(value: bytes) -> SafeString:
    """Return shortened hex with the full text as its title; for a list's first column."""
    text = str(HexBytes(value))
    return format_html('<span class="nd-hex" title="{}">{}</span>', text, formats.shorten(text))


def short_link(value: bytes, page: str) -> SafeString:
    """Return shortened hex that leads to a page and can be copied."""
    text = str(HexBytes(value))
    return format_html(
        '<span class="nd-hex"><a href="{}" title="{}">{}</a>{}</span>',
        page, text, formats.shorten(text), _copy(text),
    )  # fmt: skip


def full(value: bytes) -> SafeString:
    """Return hex in full that can be copied."""
    text = str(HexBytes(value))
    return format_html('<span class="nd-hex nd-full">{}{}</span>', text, _copy(text))


def full_link(value: bytes, page: str) -> SafeString:
    """Return hex in full that leads to a page and can be copied."""
    text = str(HexBytes(value))
    return format_html(
        '<span class="nd-hex nd-full"><a href="{}">{}</a>{}</span>', page, text, _copy(text)
    )


def short_account(address: bytes | None) -> SafeString:
    """Return an address, shortened, that leads to its account."""
    return NOTHING if address is None else short_link(address, links.account_page(address))


def full_account(address: bytes | None) -> SafeString:
    """Return an address in the mixed case of EIP-55 that leads to its account."""
    if address is None:
        return NOTHING
    text = checksum_address(Address(bytes(address)))
    return format_html(
        '<span class="nd-hex nd-full"><a href="{}">{}</a>{}</span>',
        links.account_page(HexBytes(address)), text, _copy(text),
    )  # fmt: skip


def block_link(number: int) -> SafeString:
    """Return a block's number that leads to its page."""
    return link(f"{number:,}", links.block_page(number))


def link(text: str, page: str) -> SafeString:
    """Return a text that leads to a page."""
    return format_html('<a class="nd-link" href="{}">{}</a>', page, text)


def counted_link(count: int, page: str) -> SafeString:
    """Return a count that leads to what was counted; nothing to follow for zero."""
    return link(f"{count:,}", page) if count else ZERO


def amount(wei: int | None) -> SafeString:
    """Return an amount as lists show it, with the wei as its title."""
    if wei is None:
        return NOTHING
    return format_html(
        '<span class="nd-amount" title="{} wei">{}</span>', f"{wei:,}", formats.round_wei(wei)
    )


def full_amount(wei: int | None) -> SafeString:
    """Return an amount in full, with the wei as its title."""
    if wei is None:
        return NOTHING
    return format_html('<span title="{} wei">{}</span>', f"{wei:,}", formats.format_wei(wei))


def gas_share(used: int, limit: int) -> SafeString:
    """Return gas and which part of its limit that is, with a bar."""
    share = formats.percent(used, limit)
    return format_html(
        '<span class="nd-gas" title="{} of {} gas">{} <span class="nd-faint">{} %</span>'
        '<span class="nd-bar"><span style="width:{}%"></span></span></span>',
        f"{used:,}", f"{limit:,}", f"{used:,}", share, min(share, 100),
    )  # fmt: skip


def moment(seconds: int) -> SafeString:
    """Return a time in UTC with the Unix seconds as its title."""
    return format_html(
        '<time class="nd-time" title="{}">{}</time>', seconds, formats.format_time(seconds)
    )


def badge(text: str, kind: str = "plain") -> SafeString:
    """Return a small label; kinds are plain, good, bad, wait and note."""
    return format_html('<span class="nd-badge nd-{}">{}</span>', kind, text)


def status(*, succeeded: bool) -> SafeString:
    """Return what became of a transaction."""
    return badge("success", "good") if succeeded else badge("failed", "bad")


def box(data: bytes) -> SafeString:
    """Return bytes as hex in a box that scrolls, with their number."""
    if not data:
        return NOTHING
    more = len(data) - MOST_BYTES
    return format_html(
        '<div class="nd-box" tabindex="0">{}{}</div><div class="nd-faint">{} bytes</div>',
        HexBytes(data[:MOST_BYTES]), f"… and {more:,} bytes more" if more > 0 else "",
        f"{len(data):,}",
    )  # fmt: skip


def table(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> SafeString:
    """Return a small table that scrolls sideways where it does not fit."""
    return format_html(
        '<div class="nd-scroll"><table class="nd-table"><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>",
        format_html_join("", "<th>{}</th>", ((heading,) for heading in headings)),
        format_html_join(
            "",
            "<tr>{}</tr>",
            ((format_html_join("", "<td>{}</td>", ((cell,) for cell in row)),) for row in rows),
        ),
    )


def line(*parts: object) -> SafeString:
    """Return parts side by side, wrapping where they must."""
    return format_html(
        '<span class="nd-line">{}</span>', format_html_join("", "{}", ((part,) for part in parts))
    )


def stack(*parts: object) -> SafeString:
    """Return parts one under the other."""
    return format_html(
        '<span class="nd-stack">{}</span>',
        format_html_join("", "<span>{}</span>", ((part,) for part in parts)),
    )


def _copy(text: str) -> SafeString:
    return format_html(
        '<button type="button" class="nd-copy" data-copy="{}" title="Copy" aria-label="Copy">'
        "</button>",
        text,
    )
