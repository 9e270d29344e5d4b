"""The C-Chain's part of the admin's first page, from a few cheap queries."""

from django.urls import reverse
from django.utils.safestring import SafeString

from adminkit import charts, formats
from adminkit.overview import ActionLink, Card, Overview, Panel
from cchain_app.admin import display, links, production
from cchain_app.admin.rows_admin import objects
from cchain_app.apps import evm_chain, evm_chains
from cchain_app.forking.origin import ForkOrigin
from cchain_app.models import Block, Transaction
from cchain_app.selectors import development, figures, rates
from chaindb import clock
from chaindb.chains import title
from chaindb.fields import HexBytes
from primitives.networks import name_of

BLOCKS = 10
TRANSACTIONS = 8


def overview() -> Overview | None:
    """Return the state of the chain, or None if it has no genesis yet."""
    recent = list(objects(Block).order_by("-number").defer("header")[:BLOCKS])
    if not recent:
        return None
    return Overview(
        name=title(evm_chain().name),
        cards=(
            *_head_cards(recent[0]),
            _pool_card(recent[0]),
            _rate_card(recent),
            *_node_cards(),
            *_choices(),
        ),
        panels=(
            Panel("Rates", _rates()),
            Panel("Latest blocks", _block_table(recent)),
            Panel("Latest transactions", _transaction_table()),
        ),
    )


def _choices() -> tuple[Card, ...]:
    """Return a card for each other EVM chain of the node, which leads to its pages."""
    shown = evm_chain()
    return tuple(
        Card(title(item.name), display.link("show its pages ›", f"?chain={item.name}"))
        for item in evm_chains()
        if item is not shown
    )


def _head_cards(head: Block) -> tuple[Card, ...]:
    page = links.block_page(head.number)
    age = formats.format_age(clock.cchain_now() - head.timestamp)
    return (
        Card("Head", display.link(f"{head.number:,}", page), display.short_link(head.hash, page)),
        Card("Chain time", f"{age} ago", display.moment(head.timestamp)),
        Card("Gas used", display.gas_share(head.gas_used, head.gas_limit), "in the head"),
        Card("Base fee", display.gas_price(head.base_fee), "of the head"),
    )


def _pool_card(head: Block) -> Card:
    found = figures.waiting(evm_chain(), head.number)
    page = links.list_page("pooltransaction")
    return Card(
        "Mempool",
        display.link(f"{found.pending:,} pending", page),
        f"{found.queued:,} queued, {found.size:,} bytes in all",
    )


def _rate_card(recent: list[Block]) -> Card:
    """Return the number of transactions in the latest blocks, and their rate."""
    newer = recent[:-1] or recent
    count = sum(block.transaction_count for block in newer)
    seconds = recent[0].timestamp - recent[-1].timestamp
    rate = f", {10 * count // seconds / 10:,} a second" if seconds else ""
    return Card("Throughput", f"{count:,} transactions", f"in {len(newer)} blocks{rate}")


def _rates() -> SafeString:
    found = rates.minutes(evm_chain(), clock.cchain_now())
    return charts.beside(
        charts.rate("Transactions", [entry.transactions for entry in found]),
        charts.rate("Gas", [other.gas_used for other in found]),
        charts.rate("Blocks", [item.blocks for item in found]),
    )


def _node_cards() -> tuple[Card, ...]:
    chain = evm_chain()
    network, fork = chain.node.network_id, chain.fork
    forked = () if fork is None else (Card("Fork of", fork.url, _about_fork(fork)),)
    return (
        *forked,
        Card("Chain ID", chain.config.chain_id, f"{name_of(network)}, network {network}"),
        Card("Engine", chain.engine.name),
        _production_card(),
        *_by_hand_card(),
    )


def _production_card() -> Card:
    """Return when blocks are made, with a button that pauses or resumes production."""
    development.refresh_mining_settings(evm_chain())
    mining, paused = development.mining(evm_chain()), development.is_paused(evm_chain())
    words, note = "paused" if paused else production.WORDS[mining], f"mining {mining}"
    if mining == "manual" and not paused:
        return Card("Production", words, note)
    action = production.RESUME if paused else production.PAUSE
    action_link = ActionLink(
        action.button, reverse("admin_production", args=[action.name]), action.permission
    )
    return Card("Production", words, note, action_link)


def _by_hand_card() -> tuple[Card, ...]:
    """Return the number of values set over RPC for later blocks, if there are any."""
    conditions = development.conditions(evm_chain())
    count = conditions.values_set
    if not count:
        return ()
    words = "1 value" if count == 1 else f"{count} values"
    shown = display.link(words, links.list_page("developmentsettings"))
    note = "some for the next block only" if conditions.has_next else "for all following blocks"
    return (Card("Overrides", shown, note),)


def _about_fork(fork: ForkOrigin) -> str:
    """Return the block from which a fork continues, and how it differs from the upstream chain."""
    replayed = (
        "" if fork.transaction is None else f", with the next up to 0x{fork.transaction.hex()}"
    )
    return f"from block {fork.number:,} on{replayed}; state roots are of what changed since"


def _block_table(blocks: list[Block]) -> SafeString:
    rows = (
        (
            display.block_link(block.number),
            display.short_link(block.hash, links.block_page(block.number)),
            display.moment(block.timestamp),
            display.counted_link(
                block.transaction_count, links.search_page("transaction", block.number)
            ),
            display.gas_share(block.gas_used, block.gas_limit),
            display.gas_price(block.base_fee),
        )
        for block in blocks
    )
    return display.table(("Block", "Hash", "Time", "Transactions", "Gas used", "Base fee"), rows)


def _transaction_table() -> SafeString:
    latest = objects(Transaction).select_related("receipt").defer("raw").order_by("-id")
    rows = (
        (
            display.short_link(HexBytes(row.hash), links.transaction_page(row.pk)),
            display.status(succeeded=row.receipt.succeeded),
            display.block_link(row.block_id),
            display.short_account(row.sender),
            display.short_account(row.to or row.receipt.contract_address),
            display.amount(row.value),
        )
        for row in latest[:TRANSACTIONS]
    )
    return display.table(("Transaction", "Status", "Block", "From", "To", "Value"), rows)
