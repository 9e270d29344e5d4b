"""Transactions and blocks as JSON on a page, in the format of the API, with links to the objects they name."""

from collections.abc import Callable, Collection, Iterator, Mapping
from json import dumps
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from platform_app.admin import links
from primitives.ids import ID, PRIMARY_NETWORK_ID

MAX_LINES = 2_000
"""The maximum number of JSON lines shown; a full block would have ten times as many."""
MAX_CHARACTERS = 400
"""The maximum length of a string shown: the genesis of a blockchain may be a megabyte long."""

_INDENT = "  "


def show_json(value: Any, known_txs: Collection[ID]) -> SafeString:
    """Return JSON in a scrolling box; the IDs of known transactions are links."""
    walk = _LazyJson({str(tx_id) for tx_id in known_txs})
    lines: list[SafeString] = []
    for item in walk.lines(value, key="", depth=0, prefix="", suffix=""):
        if len(lines) == MAX_LINES:
            lines.append(format_html('<span class="nd-faint">{}</span>', "… and so on"))
            break
        lines.append(item)
    return format_html(
        '<pre class="nd-box nd-json" tabindex="0">{}</pre>',
        format_html_join("\n", "{}", ((line,) for line in lines)),
    )


class _LazyJson:
    """Writes JSON lazily, line by line."""

    def __init__(self, known_txs: Collection[str]) -> None:
        def known(text: str) -> str | None:
            return links.tx_page(text) if text in known_txs else None

        self._links: Mapping[str, Callable[[str], str | None]] = {
            "id": known,
            "txID": known,
            "parentID": links.block_page,
            "subnetID": links.subnet_page,
            "nodeID": links.node_page,
            "addresses": links.address_page,
            "blockchainID": _blockchain_page,
            "sourceChain": _blockchain_page,
            "destinationChain": _blockchain_page,
        }

    def lines(
        self, value: Any, *, key: str, depth: int, prefix: object, suffix: str
    ) -> Iterator[SafeString]:
        """Yield the lines of a value; the prefix contains its key, the suffix a comma."""
        indent = _INDENT * depth
        if not value or not isinstance(value, dict | list):
            yield format_html("{}{}{}{}", indent, prefix, self._leaf(value, key), suffix)
            return
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        yield format_html("{}{}{}", indent, prefix, opening)
        last = len(value) - 1
        for place, part in enumerate(value):
            # Elements of a list have the key of the list: `addresses` are addresses.
            name, inner = (part, value[part]) if isinstance(value, dict) else (key, part)
            yield from self.lines(
                inner,
                key=name,
                depth=depth + 1,
                prefix=_named(name) if isinstance(value, dict) else "",
                suffix="," if place < last else "",
            )
        yield format_html("{}{}{}", indent, closing, suffix)

    def _leaf(self, value: Any, key: str) -> SafeString | str:
        if not isinstance(value, str):
            return dumps(value)
        shown = dumps(value[:MAX_CHARACTERS], ensure_ascii=False)
        if len(value) > MAX_CHARACTERS:
            more = f" … {len(value):,} characters"
            return format_html('{}<span class="nd-faint">{}</span>', shown, more)
        find = self._links.get(key)
        page = find(value) if find else None
        return shown if page is None else format_html('<a href="{}">{}</a>', page, shown)


def _named(name: str) -> SafeString:
    return format_html('<span class="nd-key">{}</span>: ', dumps(name))


def _blockchain_page(text: str) -> str | None:
    return None if text == str(PRIMARY_NETWORK_ID) else links.page("blockchain", text)
