"""HTML formatting of P-Chain values in the admin; `adminkit.display` has what all chains share."""

from collections.abc import Sequence
from functools import lru_cache

from django.utils.html import format_html
from django.utils.safestring import SafeString

from adminkit.display import (
    NOTHING,
    badge,
    bar,
    between_neighbours,
    box,
    coin_symbol,
    counted_link,
    full,
    full_link,
    link,
    moment,
    muted,
    one_per_line,
    short,
    short_link,
    side_by_side,
    table,
)
from adminkit.formats import (
    cut_decimals,
    format_age,
    format_date,
    format_time,
    format_units,
    percent,
)
from platform_app.admin import links
from platform_app.apps import platform_chain
from platform_app.config import MILLION
from platform_app.models import Outcome, Phase, Tx
from platform_app.store import rows
from platform_app.txs.base import LockOut, inner_output
from primitives.addresses import format_address
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID, ShortID
from primitives.networks import REFERENCE_UNIT
from utxo.components import OutputOwners, UtxoContent

CHAIN = "P"
"""The chain alias in addresses."""


def format_coins(amount: int) -> str:
    """Return an exact amount of the staking asset in coins, such as 1,500.25 AVAX."""
    return f"{format_units(amount, platform_chain().config.unit)} {coin_symbol()}"


def round_coins(amount: int) -> str:
    """Return an amount for lists, truncated to at most six decimals."""
    return f"{cut_decimals(format_units(amount, platform_chain().config.unit))} {coin_symbol()}"


def plain_coins(amount: int) -> str:
    """Return an exact amount in coins in machine-readable form, such as 1500.25."""
    return format_units(amount, platform_chain().config.unit).replace(",", "")


def format_share(millionths: int) -> str:
    """Return millionths as an exact percentage, such as 2.5 %."""
    return f"{format_units(millionths, MILLION // 100)} %"


def format_fraction(fraction: float) -> str:
    """Return a fraction as a percentage truncated to two decimals, so that 99.99 % never shows as 100 %."""
    hundredths = int(fraction * 10_000)
    return f"{hundredths // 100}.{hundredths % 100:02} %"


def format_owner(address: ShortID) -> str:
    """Return an address with this network's prefix."""
    return format_address(CHAIN, platform_chain().config.hrp, address)


@lru_cache(maxsize=1024)  # nearly all rows of an export have the same subnet
def format_subnet(subnet_id: ID) -> str:
    """Return a subnet's ID as text."""
    return str(subnet_id)


def format_vm(vm_id: ID) -> str:
    """Return a VM's name if its ID encodes one, else the ID."""
    name = bytes(vm_id).rstrip(b"\0")
    if name and name.isascii() and name.decode("ascii").isprintable():
        return name.decode("ascii")
    return str(vm_id)


__all__ = [
    "NOTHING",
    "amount",
    "asset_amount",
    "badge",
    "between_neighbours",
    "block_link",
    "box",
    "burned",
    "counted_link",
    "full",
    "full_address",
    "full_amount",
    "full_link",
    "full_signers",
    "full_subnet",
    "key",
    "link",
    "locks_of",
    "moment",
    "muted",
    "node_link",
    "one_per_line",
    "owners_of_output",
    "period",
    "phase",
    "share_bar",
    "short",
    "short_address",
    "short_link",
    "short_locks",
    "short_node",
    "side_by_side",
    "signers",
    "subnet",
    "table",
    "tx_status",
    "vm",
    "weight",
]  # fmt: skip

NODE = 13
"""The number of characters shown of a shortened node ID: `NodeID-` and six more."""
ADDRESS = 14
_SMALL_FEE = 1000
"""A fee below this part of a coin is shown in the smallest units."""
MAX_OWNERS = 4
"""The default number of owners named on one line."""

_OUTCOMES = {
    Outcome.REWARDED: "good",
    Outcome.UNREWARDED: "bad",
    Outcome.ENDED: "plain",
    Outcome.REMOVED: "bad",
}
_PHASES = {Phase.PENDING: "wait", Phase.CURRENT: "good", Phase.PAST: "plain"}


def block_link(height: int | None) -> SafeString:
    """Return a block's height, linked to its page."""
    return NOTHING if height is None else link(f"{height:,}", links.block_page(height))


def short_node(node_id: NodeID) -> SafeString:
    """Return a shortened node ID, for a list's first column."""
    return short(node_id, keep=NODE)


def node_link(node_id: NodeID) -> SafeString:
    """Return a shortened node ID, linked to its validator."""
    return short_link(node_id, links.node_page(node_id), keep=NODE)


def short_address(address: ShortID) -> SafeString:
    """Return a shortened address, linked to its outputs."""
    text = format_owner(address)
    return short_link(text, links.address_page(text), keep=ADDRESS)


def full_address(address: ShortID) -> SafeString:
    """Return a full address, linked to its outputs."""
    text = format_owner(address)
    return full_link(text, links.address_page(text))


def subnet(subnet_id: ID) -> SafeString:
    """Return a shortened subnet ID; the Primary Network by its name."""
    if subnet_id == PRIMARY_NETWORK_ID:
        return link("Primary Network", links.subnet_page(subnet_id))
    return short_link(subnet_id, links.subnet_page(subnet_id))


def full_subnet(subnet_id: ID) -> SafeString:
    """Return a subnet with its full ID."""
    if subnet_id == PRIMARY_NETWORK_ID:
        return subnet(subnet_id)
    return full_link(subnet_id, links.subnet_page(subnet_id))


def vm(vm_id: ID) -> SafeString:
    """Return a VM's name with its ID as title; if it has no name, the shortened ID."""
    name = format_vm(vm_id)
    if name == str(vm_id):
        return short(vm_id)
    return format_html('<span title="{}">{}</span>', str(vm_id), name)


def amount(units: int | None) -> SafeString:
    """Return an amount of the staking asset for lists, with the smallest units as title."""
    return NOTHING if units is None else _amount(units, round_coins(units))


def full_amount(units: int | None) -> SafeString:
    """Return the full amount of the staking asset."""
    return NOTHING if units is None else _amount(units, format_coins(units))


def burned(units: int | None) -> SafeString:
    """Return the amount a transaction burned; a small fee in smallest units, which six decimals would truncate."""
    unit = platform_chain().config.unit
    if not units or units * _SMALL_FEE >= unit:
        return amount(units or None)
    return _amount(units, f"{units:,} {'nAVAX' if unit == REFERENCE_UNIT else 'units'}")


def weight(units: int, subnet_id: ID) -> SafeString | str:
    """Return a stake: in coins on the Primary Network, a plain number on other subnets."""
    if subnet_id == PRIMARY_NETWORK_ID:
        return amount(units)
    return format_html("{} {}", f"{units:,}", muted("weight"))


def asset_amount(units: int, asset_id: ID, staking_asset: ID) -> SafeString:
    """Return an amount of any asset; for assets other than the staking asset in the smallest units."""
    if asset_id == staking_asset:
        return full_amount(units)
    return side_by_side(f"{units:,}", badge("other asset", "note"), short(asset_id))


def _amount(units: int, text: str) -> SafeString:
    return format_html('<span class="nd-amount" title="{} units">{}</span>', f"{units:,}", text)


def period(start: int, end: int, now: int, *, left: int | None = None) -> SafeString:
    """Return a staking period as a progress bar of the elapsed part, or of the part elapsed when the staker left."""
    until = now if left is None else left
    share = percent(min(max(until - start, 0), end - start), end - start)
    return format_html(
        '<span class="nd-period" title="{} to {}"><span class="nd-ends"><span>{}</span>'
        "<span>{}</span></span>{}{}</span>",
        format_time(start), format_time(end), format_date(start), format_date(end),
        bar(share, "plain" if left is None else "over"), muted(_progress(start, end, now, left)),
    )  # fmt: skip


def _progress(start: int, end: int, now: int, left: int | None) -> str:
    whole = format_age(end - start)
    if left is not None:
        return f"{whole}, over" if left >= end else f"left after {format_age(left - start)}"
    if now < start:
        return f"{whole}, starts in {format_age(start - now)}"
    return f"{format_age(end - now)} left of {whole}" if now < end else f"{whole}, due"


def share_bar(text: str, share: int, *, enough: bool) -> SafeString:
    """Return a share with a bar that shows whether it is enough."""
    return format_html(
        '<span class="nd-gas">{}{}</span>', text, bar(share, "good" if enough else "bad")
    )


def phase(of_phase: int, outcome: int | None) -> SafeString:
    """Return the phase of a staker, and for a past staker the outcome."""
    if outcome is not None:
        kind = Outcome(outcome)
        return badge(kind.label, _OUTCOMES[kind])
    return badge(Phase(of_phase).label, _PHASES[Phase(of_phase)])


def tx_status(tx: Tx) -> SafeString:
    """Return the status of an accepted transaction."""
    return badge(tx.get_status_display(), "good" if tx.status == Tx.COMMITTED else "bad")


def signers(threshold: int, addresses: Sequence[ShortID], *, most: int = MAX_OWNERS) -> SafeString:
    """Return the threshold and the addresses that can sign, on one line that names some of them."""
    named = [short_address(address) for address in addresses[:most]]
    more = len(addresses) - len(named)
    if len(addresses) == 1 and threshold == 1:
        return named[0]
    return side_by_side(
        muted(f"{threshold} of {len(addresses)}:"), *named, f"and {more} more" if more else ""
    )


def full_signers(owners: OutputOwners | None) -> SafeString:
    """Return the addresses that must sign, and the locktime, one address per line."""
    if owners is None or not owners.addresses:
        return NOTHING
    count = len(owners.addresses)
    needed = [] if count == 1 else [muted(f"{owners.threshold} of {count} must sign")]
    return one_per_line(*needed, *map(full_address, owners.addresses), *_locks(owners.locktime, 0))


def owners_of_output(data: bytes, *, most: int = MAX_OWNERS) -> SafeString:
    """Return the owners of an output stored in a column."""
    owners = inner_output(rows.output_of(data)).owners
    return signers(owners.threshold, owners.addresses, most=most)


def locks_of(output: UtxoContent) -> SafeString:
    """Return the time until which an output is locked."""
    stakeable = output.locktime if isinstance(output, LockOut) else 0
    lines = _locks(inner_output(output).owners.locktime, stakeable)
    return one_per_line(*lines) if lines else NOTHING


def short_locks(locktime: int, stakeable: int) -> SafeString:
    """Return the dates until which an output is locked, for a list."""
    badges = [
        format_html('<span title="{}">{}</span>', format_time(seconds), badge(text, "wait"))
        for text, seconds in (
            (f"locked until {format_date(locktime)}", locktime),
            (f"only for staking until {format_date(stakeable)}", stakeable),
        )
        if seconds
    ]
    return one_per_line(*badges) if badges else NOTHING


def _locks(locktime: int, stakeable: int) -> list[SafeString]:
    return [
        side_by_side(badge(text, "wait"), moment(seconds))
        for text, seconds in (("locked until", locktime), ("only for staking until", stakeable))
        if seconds
    ]


def key(data: bytes | None) -> SafeString:
    """Return a full BLS key or proof."""
    return NOTHING if data is None else full(data)
