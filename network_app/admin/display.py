"""HTML for the reports of the network process in the admin; the rest is in `adminkit.display`."""

from collections.abc import Iterable
from datetime import datetime
from math import floor
from typing import Final

from django.db.models import Q
from django.utils.html import format_html
from django.utils.safestring import SafeString

from adminkit.changelist import ListChoice
from adminkit.display import (
    NOTHING,
    PageLinks,
    badge,
    bar,
    box,
    full,
    full_link,
    link,
    moment,
    muted,
    one_per_line,
    short_link,
    side_by_side,
)
from adminkit.formats import format_age
from cchain_app.admin import pages as cchain
from chaindb.chains import P_CHAIN, title
from network_app import selectors
from network_app.apps import node_network
from network_app.models import ChainSync, SyncPhase
from platform_app.admin import links as platform
from platform_app.admin.display import NODE, amount, full_amount, share_bar, short_node
from primitives.counting import counted
from primitives.ids import NodeID

_PAGES: Final = PageLinks("network_app")
page, list_page, search_page = _PAGES.page, _PAGES.list_page, _PAGES.search_page


def proposer_page(node_id: object) -> str:
    """Return the URL of the list of blocks that a node proposed."""
    return search_page("outerblock", node_id)


def validator_page(node_id: object) -> str:
    """Return the URL of the list of a node's staking periods as a validator."""
    return platform.node_page(node_id)


def subnet_page(subnet_id: object) -> str:
    """Return the URL of a subnet's page."""
    return platform.subnet_page(subnet_id)


def outer_page(key: object) -> str:
    """Return the URL of an outer block's page by its key or ID."""
    return page("outerblock", key)


def inner_page(chain: str, height: int) -> str:
    """Return the URL of the page of a chain's own block."""
    return platform.block_page(height) if chain == P_CHAIN else cchain.block_page(height)


def chain_names() -> list[str]:
    """Return the names of this node's chains, those that NODE_CHAINS leaves out included."""
    return node_network().names


def chain_choices() -> tuple[ListChoice, ...]:
    """Return a part of a list for each chain."""
    return tuple(
        ListChoice(chain_name, title(chain_name), (Q(chain=chain_name),))
        for chain_name in chain_names()
    )


_STEP = 1024
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")


def format_bytes(count: int) -> str:
    """Return a human-readable number of bytes: 12.3 MiB."""
    if count < _STEP:
        return f"{count} byte{'' if count == 1 else 's'}"
    size = float(count)
    for unit in _UNITS:
        size /= _STEP
        if size < _STEP or unit == _UNITS[-1]:
            break
    return f"{size:,.1f} {unit}"


def format_rate(blocks_per_second: float | None) -> str | None:
    """Return a rate: 1,234.5 blocks/s; None before the first measurement."""
    return None if blocks_per_second is None else f"{blocks_per_second:,.1f} blocks/s"


def format_left(seconds: float | None) -> str:
    """Return the time left as text."""
    return "time unknown" if seconds is None else f"{format_age(int(seconds))} left"


def format_share(fraction: float) -> str:
    """Return a fraction as percent with one decimal, rounded down, so that 99.99 % does not become 100 %."""
    tenths = int(fraction * 1_000)
    return f"{tenths // 10}.{tenths % 10} %"


def format_known(count: int) -> str:
    """Return the number of known addresses as text; connected peers that are neither kind do not count."""
    return f"{counted(count, 'address', 'addresses')} known of validators and bootstrappers"


def age_of(moment: datetime, now: datetime) -> str:
    """Return the age of a time: 3 min ago."""
    return f"{format_age(int((now - moment).total_seconds()))} ago"


__all__ = [
    "NOTHING",
    "amount",
    "badge",
    "bar",
    "box",
    "chain",
    "clock_time",
    "full",
    "full_amount",
    "full_link",
    "full_node",
    "link",
    "moment",
    "muted",
    "names",
    "node_link",
    "one_per_line",
    "pair",
    "progress",
    "progress_bar",
    "share",
    "share_bar",
    "short_link",
    "short_node",
    "side_by_side",
    "since",
    "sync_phase",
    "title",
    "unbroken",
]  # fmt: skip


def node_link(node_id: NodeID, page: str) -> SafeString:
    """Return a node's ID, shortened, as a link to a page."""
    return short_link(node_id, page, keep=NODE)


def full_node(node_id: NodeID) -> SafeString:
    """Return a node's ID in full, with links to its other pages."""
    return one_per_line(
        full(node_id),
        side_by_side(
            link("As a peer ›", search_page("peer", node_id)),
            link("As a validator ›", validator_page(node_id)),
            link("Its blocks ›", proposer_page(node_id)),
        ),
    )


def chain(alias: str) -> SafeString:
    """Return a chain's name as a label."""
    return badge(title(alias), "plain" if alias == P_CHAIN else "note")


def clock_time(at: datetime | None) -> SafeString:
    """Return a time of the wall clock."""
    return NOTHING if at is None else moment(floor(at.timestamp()))


def pair(value: object, remark: object) -> SafeString:
    """Return a value with a remark below it, both without line breaks."""
    return one_per_line(
        unbroken(value), format_html('<span class="nd-amount nd-muted">{}</span>', remark)
    )


def unbroken(value: object) -> SafeString:
    """Return a value without line breaks."""
    return format_html('<span class="nd-amount">{}</span>', value)


def since(at: datetime | None, now: datetime) -> SafeString:
    """Return the age of a time, with the time itself."""
    return NOTHING if at is None else pair(age_of(at, now), clock_time(at))


def names(values: Iterable[object]) -> SafeString:
    """Return values side by side."""
    found = [badge(str(value)) for value in values]
    return side_by_side(*found) if found else NOTHING


def share(fraction: float) -> SafeString:
    """Return a fraction with a bar beside it."""
    thick = format_html('<span class="nd-way">{}</span>', bar(int(100 * fraction)))
    return side_by_side(format_share(fraction), thick)


NOBODY_TO_FOLLOW = "no node to bootstrap from: NODE_BOOTSTRAP is empty"


def progress(row: ChainSync) -> SafeString:
    """Return a chain's progress: percent and blocks above a bar, or that there is no network to sync with."""
    if not selectors.follows():
        return muted(NOBODY_TO_FOLLOW)
    return format_html(
        '<span class="nd-progress"><span class="nd-ends"><span>{} %</span>{}</span>{}</span>',
        row.percent, muted(row.progress_text), progress_bar(row),
    )  # fmt: skip


def progress_bar(row: ChainSync) -> SafeString:
    """Return a bar for a chain's progress."""
    kind = "good" if row.phase == SyncPhase.BOOTSTRAPPED else "plain"
    return format_html(
        '<span class="nd-way" role="progressbar" aria-label="{} bootstrap" aria-valuemin="0" '
        'aria-valuemax="100" aria-valuenow="{}">{}</span>',
        title(row.chain), row.percent, bar(row.percent, kind),
    )  # fmt: skip


def sync_phase(row: ChainSync, *, is_fresh: bool) -> SafeString:
    """Return a chain's state; bootstrapping counts as interrupted if the network process does not report."""
    if row.obstacle is not None:
        return badge("blocked", "bad")
    if not selectors.follows():
        return badge("no bootstrappers")
    if row.phase == SyncPhase.BOOTSTRAPPED:
        return badge("bootstrapped", "good")
    return badge("bootstrapping", "wait") if is_fresh else badge("interrupted", "bad")
