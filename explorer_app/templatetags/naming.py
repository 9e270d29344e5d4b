"""HTML of addresses with the names of their contracts, for the tags of `explorer` and for `PageNames.fill`."""

from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from adminkit import formats
from explorer_app.names.page_names import NameForm
from explorer_app.selectors.labels import ContractLabel
from explorer_app.site import ChainPages
from primitives.evm import Address
from primitives.hexadecimal import checksum_address

_MAX_NAME: Final = 24
"""Limit of characters of a name in a list."""
_MAX_FULL_NAME: Final = 80
_LAST_DIGITS: Final = 4
"""Digits of an address beside its name, because names are not unique."""

ALIKE: Final = mark_safe(
    '<span class="badge bad" title="An older token, or the native coin of the chain, has this name or symbol">lookalike</span>'
)
_VERIFIED: Final = '<span class="mark good" role="img" aria-label="verified" title="{}">✓</span>'
_UNVERIFIED: Final = "a token whose source code is not verified"


def shown(
    address: Address, label: ContractLabel | None, form: NameForm, pages: ChainPages
) -> SafeString:
    """Return an address in a form, with its contract's name if it has one; links lead to pages of its chain."""
    match form:
        case NameForm.SHORT | NameForm.FULL:
            return account_link(address, label, pages, full=form is NameForm.FULL)
        case NameForm.PLAIN:
            short = formats.shorten(str(checksum_address(address)), keep=6)
            return format_html("{} {}", "" if label is None else _cut(label.name, _MAX_NAME), short)
        case NameForm.HEADING:
            return mark_safe("") if label is None else _named(label, _MAX_FULL_NAME)
        case NameForm.MARK:
            return mark_safe("") if label is None or not label.is_verified else _verified(label)
        case NameForm.TOKEN:
            return mark_safe("") if label is None else _token_fact(address, label, pages)


def account_link(
    address: Address, label: ContractLabel | None, pages: ChainPages, *, full: bool
) -> SafeString:
    """Return a link to an address: shortened or in full, and with the name of its contract."""
    text = str(checksum_address(address))
    page = pages.reverse("explorer:address", [text])
    if label is None:
        return link(page, text if full else formats.shorten(text, keep=6), text, copy=full)
    if full:
        return format_html(
            '<a class="named" href="{}">{} <span class="hex">{}</span></a>{}',
            page, _named(label, _MAX_FULL_NAME), text, copy_button(text),
        )  # fmt: skip
    return format_html(
        '<a class="named" href="{}" title="{}">{} <small class="hex">…{}</small></a>',
        page, text, _named(label, _MAX_NAME), text[-_LAST_DIGITS:],
    )  # fmt: skip


def link(page: str, text: str, title: str, *, copy: bool) -> SafeString:
    """Return a link to an address or hash; `title` is the whole text, which the button copies."""
    button = copy_button(title) if copy else ""
    if text == title:
        return format_html('<a class="hex" href="{}">{}</a>{}', page, text, button)
    return format_html('<a class="hex" href="{}" title="{}">{}</a>{}', page, title, text, button)


def copy_button(text: str) -> SafeString:
    """Return a button that copies a text."""
    return format_html(
        '<button class="copy" type="button" data-copy="{}" aria-label="Copy" hidden></button>', text
    )


def _named(label: ContractLabel, maximum: int) -> SafeString:
    mark = _verified(label) if label.is_verified else _kind(label)
    alike = format_html(" {}", ALIKE) if label.is_copy else ""
    name = _cut(label.name, maximum)
    return format_html('<bdi class="claimed">{}</bdi> {}{}', name, mark, alike)


def _verified(label: ContractLabel) -> SafeString:
    return format_html(_VERIFIED, f"verified source code: {label.contract}")


def _kind(label: ContractLabel) -> SafeString:
    if label.kind:
        title = format_html(' title="{}"', label.remark) if label.remark else ""
        return format_html("<small{}>{}</small>", title, label.kind)
    return format_html('<small title="{}">token</small>', _UNVERIFIED)


def _token_fact(address: Address, label: ContractLabel, pages: ChainPages) -> SafeString:
    token = label.token
    if token is None:
        return mark_safe("")
    texts = [text for text in (token.name, token.symbol and f"({token.symbol})") if text]
    return format_html(
        '<dt>Token</dt><dd><a href="{}"><bdi class="claimed">{}</bdi></a> <span class="badge note">{}</span></dd>',
        pages.reverse("explorer:token", [str(checksum_address(address))]),
        _cut(" ".join(texts), _MAX_FULL_NAME), token.get_kind_display(),
    )  # fmt: skip


def _cut(text: str, maximum: int) -> str:
    return f"{text[:maximum]}…" if len(text) > maximum else text
