"""HTML of values in the admin; values of only one chain are in that chain's `admin.display`.

Class names begin with `nd-`: nodeproject/templates/admin/node_style.html styles them, and its script
copies the value of `data-copy`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from adminkit import formats
from chaindb.fields import HexBytes
from primitives.counting import counted

NOTHING = mark_safe('<span class="nd-muted">–</span>')
ZERO = mark_safe('<span class="nd-muted">0</span>')
MAX_BYTES = 16 * 1024
"""Bytes of input, data or code that are shown; of the rest only the length is shown."""


def coin_symbol() -> str:
    """Return the symbol of the network's coin, which the operator chooses."""
    symbol: str = settings.NODE.common.coin_symbol
    return symbol


def short(value: object, *, keep: int = 8) -> SafeString:
    """Return a shortened identifier with the full one as its title, for a list's first column."""
    text = str(value)
    return format_html(
        '<span class="nd-hex" title="{}">{}</span>', text, formats.shorten(text, keep=keep)
    )


def short_link(value: object, page: str, *, keep: int = 8) -> SafeString:
    """Return a shortened identifier that links to a page, with a copy button."""
    text = str(value)
    return format_html(
        '<span class="nd-hex"><a href="{}" title="{}">{}</a>{}</span>',
        page, text, formats.shorten(text, keep=keep), copy_button(text),
    )  # fmt: skip


def full(value: object) -> SafeString:
    """Return a full identifier with a copy button."""
    text = str(value)
    return format_html('<span class="nd-hex nd-full">{}{}</span>', text, copy_button(text))


def full_link(value: object, page: str) -> SafeString:
    """Return a full identifier that links to a page, with a copy button."""
    text = str(value)
    return format_html(
        '<span class="nd-hex nd-full"><a href="{}">{}</a>{}</span>', page, text, copy_button(text)
    )


def link(text: str, page: str) -> SafeString:
    """Return a text that links to a page."""
    return format_html('<a class="nd-link" href="{}">{}</a>', page, text)


def counted_link(count: int, page: str) -> SafeString:
    """Return a count that links to the counted rows; plain text for zero."""
    return link(f"{count:,}", page) if count else ZERO


def muted(text: str) -> SafeString:
    """Return a remark in a faint colour."""
    return format_html('<span class="nd-muted">{}</span>', text)


def moment(seconds: int) -> SafeString:
    """Return a time in UTC with the Unix seconds as its title."""
    return format_html(
        '<time class="nd-time" title="{}">{}</time>', seconds, formats.format_time(seconds)
    )


def badge(text: str, kind: str = "plain") -> SafeString:
    """Return a small label; the kinds are plain, good, bad, wait and note."""
    return format_html('<span class="nd-badge nd-{}">{}</span>', kind, text)


def bar(share: int, kind: str = "plain") -> SafeString:
    """Return a bar filled to a percentage; the kinds are those of `badge`."""
    return format_html(
        '<span class="nd-bar nd-{}"><span style="width:{}%"></span></span>',
        kind, min(max(share, 0), 100),
    )  # fmt: skip


def box(data: bytes) -> SafeString:
    """Return bytes as hex in a scrolling box, with their number."""
    if not data:
        return NOTHING
    more = len(data) - MAX_BYTES
    return format_html(
        '<div class="nd-box" tabindex="0">{}{}</div><div class="nd-muted">{}</div>',
        HexBytes(data[:MAX_BYTES]), f"… and {counted(more, 'byte')} more" if more > 0 else "",
        counted(len(data), "byte"),
    )  # fmt: skip


def table(headings: Sequence[str], rows: Iterable[Iterable[object]]) -> SafeString:
    """Return a small table that scrolls sideways if it does not fit; on narrow screens each row becomes a block."""
    return format_html('<div class="nd-scroll">{}</div>', _stacking_table("", headings, rows))


def prose_table(headings: Sequence[str], rows: Iterable[Iterable[object]]) -> SafeString:
    """Return a table of sentences that wrap; on narrow screens each row becomes a block."""
    return _stacking_table("nd-prose", headings, rows)


def _stacking_table(
    kind: str, headings: Sequence[str], rows: Iterable[Iterable[object]]
) -> SafeString:
    return format_html(
        '<table class="nd-table nd-stacking {}"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>',
        kind,
        format_html_join("", "<th>{}</th>", ((heading,) for heading in headings)),
        format_html_join(
            "",
            "<tr>{}</tr>",
            (
                (
                    format_html_join(
                        "", '<td data-title="{}">{}</td>', zip(headings, row, strict=True)
                    ),
                )
                for row in rows
            ),
        ),
    )


def side_by_side(*parts: object) -> SafeString:
    """Return parts side by side, wrapped if they do not fit."""
    return format_html(
        '<span class="nd-line">{}</span>', format_html_join("", "{}", ((part,) for part in parts))
    )


def between_neighbours(number: int, page: Callable[[int], str], *, has_next: bool) -> SafeString:
    """Return a block number between links to the pages of the previous and the next block."""
    return side_by_side(
        f"{number:,}",
        link("‹ previous", page(number - 1)) if number else "",
        link("next ›", page(number + 1)) if has_next else "",
    )


def one_per_line(*parts: object) -> SafeString:
    """Return parts below one another."""
    return format_html(
        '<span class="nd-stack">{}</span>',
        format_html_join("", "<span>{}</span>", ((part,) for part in parts)),
    )


def copy_button(text: str) -> SafeString:
    """Return the button that copies a text."""
    return format_html(
        '<button type="button" class="nd-copy" data-copy="{}" title="Copy" aria-label="Copy">'
        "</button>",
        text,
    )


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The addresses of one app's pages; models are named in lower case."""

    app: str
    """The app's label."""

    def page(self, model: str, key: object) -> str:
        """Return the address of a row's page, by its primary key or another key that the admin accepts."""
        return reverse(f"admin:{self.app}_{model}_change", args=[key])

    def list_page(self, model: str) -> str:
        """Return the address of a list."""
        return reverse(f"admin:{self.app}_{model}_changelist")

    def search_page(self, model: str, term: object, **choice: str) -> str:
        """Return the address of a list with a search term, in the given part of the list."""
        return self.list_page(model) + "?" + urlencode({"q": str(term), **choice})
