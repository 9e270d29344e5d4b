"""The P-Chain's section of the admin's first page, from a few cheap queries."""

from django.db.models import Count, Sum
from django.utils.safestring import SafeString

from adminkit import dashboard, formats
from adminkit.dashboard import Card, Overview, Panel
from chaindb import clock
from platform_app.admin import display, links
from platform_app.admin.display import round_coins
from platform_app.apps import platform_chain
from platform_app.chain import NoPlatformGenesis
from platform_app.memory.stakers import CurrentSet
from platform_app.models import Block, MempoolTx, Tx
from platform_app.selectors import accepted, figures, stakers
from platform_app.store.blocks import Tip
from primitives.counting import counted
from primitives.ids import PRIMARY_NETWORK_ID

BLOCKS = 5
TXS = 8


def overview() -> Overview | None:
    """Return the state of the chain, or None before its genesis."""
    try:
        tip = platform_chain().tip()
    except NoPlatformGenesis:
        return None
    now, current = clock.now(), stakers.current_validators(platform_chain())
    return Overview(
        name="P-Chain",
        cards=(
            *_tip_cards(tip, now), *_staking_cards(current, now), _mempool_card(),
            _node_card(current),
        ),
        panels=(
            Panel("Rates", _rates(now)),
            Panel("Latest blocks", _block_table()), Panel("Latest transactions", _tx_table()),
        ),
    )  # fmt: skip


def _rates(now: int) -> SafeString:
    minutes = figures.minutes(platform_chain(), now)
    return dashboard.beside(
        dashboard.rate("Transactions", [minute.transactions for minute in minutes]),
        dashboard.rate("Blocks", [minute.blocks for minute in minutes]),
    )


def _tip_cards(tip: Tip, now: int) -> tuple[Card, ...]:
    page = links.block_page(tip.height)
    age = formats.format_age(now - tip.timestamp)
    return (
        Card(
            "Height", display.link(f"{tip.height:,}", page), display.short_link(tip.block_id, page)
        ),
        Card("Chain time", f"{age} ago", display.moment(tip.timestamp)),
    )


def _staking_cards(current: CurrentSet, now: int) -> tuple[Card, ...]:
    count = len(current.validators)
    delegators = sum(validator.delegator_count for validator in current.validators)
    delegated = sum(validator.delegator_weight for validator in current.validators)
    supply = accepted.supply(platform_chain(), PRIMARY_NETWORK_ID)
    # The set is ordered by the end of the staking periods.
    ends = current.validators[0].end if current.validators else None
    return (
        Card(
            "Validators",
            display.link(f"{count:,}", links.list_page("validator")),
            display.link(counted(delegators, "delegator"), links.list_page("delegator")),
        ),
        Card("Stake", round_coins(current.weight), f"{round_coins(delegated)} of it delegated"),
        Card(
            "Supply",
            display.amount(supply),
            f"{formats.format_percent(current.weight, supply)} of it staked" if supply else "",
        ),
        Card(
            "Next validator to end",
            display.NOTHING if ends is None else f"in {formats.format_age(ends - now)}",
            "" if ends is None else display.moment(ends),
        ),
    )


def _mempool_card() -> Card:
    waiting = MempoolTx.objects.aggregate(count=Count("size"), size=Sum("size"))
    page = links.list_page("mempooltx")
    return Card(
        "Mempool",
        display.link(f"{waiting['count']:,} pending", page),
        counted(waiting["size"] or 0, "byte"),
    )


def _node_card(current: CurrentSet) -> Card:
    try:
        node_id = platform_chain().node_id
    except OSError:  # before the first start has created its certificate
        return Card("This node", display.NOTHING)
    is_validating = node_id in current.by_node
    return Card(
        "This node",
        display.node_link(node_id),
        display.badge("validating", "good") if is_validating else display.badge("not validating"),
    )


def _block_table() -> SafeString:
    rows = (
        (
            display.block_link(block.height),
            display.short_link(block.block_id, links.block_page(block.height)),
            display.moment(block.time),
            block.get_kind_display(),
            display.counted_link(block.tx_count, links.search_page("tx", block.height)),
        )
        for block in Block.objects.defer("raw").order_by("-height")[:BLOCKS]
    )
    return display.table(("Block", "ID", "Time", "Type", "Transactions"), rows)


def _tx_table() -> SafeString:
    rows = (
        (
            display.short_link(tx.tx_id, links.tx_page(tx.tx_id)),
            tx.get_kind_display(),
            display.tx_status(tx),
            display.block_link(tx.height),
            display.burned(tx.burned),
        )
        for tx in Tx.objects.defer("raw").order_by("-id")[:TXS]
    )
    return display.table(("Transaction", "Type", "Status", "Block", "Burned"), rows)
