"""The C-Chain's part of the admin's first page, from a few cheap queries, and its two actions.

The actions pause and resume block production, as the development methods do (devnet.md 2).
"""

from collections.abc import Callable
from typing import Final

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from adminkit import dashboard, formats
from adminkit.actions import ActionEffect, ActionRefused, ActionTarget, AdminAction, ask
from adminkit.dashboard import ActionLink, Card, Overview, Panel
from cchain_app.admin import display, pages
from cchain_app.admin.pages import objects
from cchain_app.apps import evm_chain, evm_chains
from cchain_app.chain import EvmChain
from cchain_app.development.errors import DevelopmentError, DevelopmentReason
from cchain_app.forking.origin import ForkOrigin
from cchain_app.models import Block, Transaction
from cchain_app.selectors import blocks, development, figures, pool
from cchain_app.services import manual_mining
from chaindb import clock
from chaindb.fields import HexBytes
from primitives.counting import counted
from primitives.networks import name_of

WORDS: Final = {
    "auto": "on arrival",
    "interval": "by the clock",
    "mixed": "on arrival and by the clock",
    "manual": "manual only",
}
"""When blocks are made, by mining mode, unless production is paused."""

_P_CHAIN: Final = (
    "continues: its blocks follow the clock, because staking periods start and end at fixed times"
)


def _obstacle(chain: EvmChain) -> str:
    """Return why this chain's production cannot be paused or resumed; an empty text if it can."""
    if not chain.is_development:
        return (
            "other nodes rely on this chain's blocks: production can only be paused on a local chain to develop against "
            "(NODE_DEVELOPMENT), without NODE_BOOTSTRAP and without voting. To stop block production on this node, "
            "stop the process that produces the blocks."
        )
    return f"{DevelopmentReason.HAS_PEERS}." if chain.has_peers() else ""


def _cannot_pause(chain: EvmChain) -> str:
    if obstacle := _obstacle(chain):
        return obstacle
    if development.is_paused(chain):
        return "production is already paused."
    return "blocks are already made manually only." if _is_manual(chain) else ""


def _cannot_resume(chain: EvmChain) -> str:
    if obstacle := _obstacle(chain):
        return obstacle
    if development.is_paused(chain):
        return ""
    if _is_manual(chain) and not chain.has_development_methods:
        return "production is not paused. Mining is manual, as set by NODE_MINING."
    if _is_manual(chain):
        return (
            "production is not paused. Mining is manual, as set by NODE_MINING or evm_setAutomine: "
            "evm_setAutomine changes the mode."
        )
    return "blocks are already being produced."


def _is_manual(chain: EvmChain) -> bool:
    return development.mining(chain) == "manual"


def _change(how: Callable[[EvmChain], None], done: str) -> Callable[[EvmChain], ActionEffect]:
    def do(chain: EvmChain) -> ActionEffect:
        try:
            how(chain)
        except DevelopmentError as error:
            raise ActionRefused(f"{error}.") from error
        number = blocks.head(chain).number
        pending, queued = pool.counts(chain)
        details = (
            f"The head is block {number:,}; {pending:,} transaction{'' if pending == 1 else 's'} pending, "
            f"{queued:,} behind a gap."
        )
        links = ("Block", pages.block_page(number)), ("Mempool", pages.list_page("pooltransaction"))
        return ActionEffect(done, details, links)

    return do


_PERMISSION: Final = "cchain_app.change_developmentsettings"

PAUSE: Final = AdminAction(
    name="pause",
    button="Pause",
    question="Pause the production of blocks?",
    consequence="The C-Chain produces no blocks automatically, in any process and after any restart, until production is "
    "resumed, or in the embedded profile until evm_setAutomine or evm_setIntervalMining enables it. Transactions are "
    "still accepted and stay pending. Manual blocks (produce_block, evm_mine) still work.",
    permission=_PERMISSION,
    do=_change(manual_mining.pause, "Paused the C-Chain's production of blocks."),
    obstacle=_cannot_pause,
)
RESUME: Final = AdminAction(
    name="resume",
    button="Resume",
    question="Resume the production of blocks?",
    consequence="The C-Chain makes blocks again in the mode before the pause, or in the mode set over RPC since: on "
    "arrival, at intervals, or manually.",
    permission=_PERMISSION,
    do=_change(manual_mining.resume, "Resumed the C-Chain's production of blocks."),
    obstacle=_cannot_resume,
)


def ask_for(request: HttpRequest, chain: EvmChain, name: str) -> HttpResponse:
    """Ask for confirmation before pausing or resuming production, then do it.

    Raises:
        Http404: The name is neither of the two actions.
    """
    action = {value.name: value for value in (PAUSE, RESUME)}.get(name)
    if action is None:
        raise Http404
    development.refresh_mining_settings(chain)
    facts = (("C-Chain", f"mining {development.mining(chain)}"), ("P-Chain", _P_CHAIN))
    front = reverse("admin:index")
    return ask(
        request, action, ActionTarget(chain, "production of the C-Chain", facts, front, front)
    )


BLOCKS = 10
TRANSACTIONS = 8


def overview() -> Overview | None:
    """Return the state of the chain, or None if it has no genesis yet."""
    recent = list(objects(Block).order_by("-number").defer("header")[:BLOCKS])
    if not recent:
        return None
    return Overview(
        name=evm_chain().title,
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
        Card(item.title, display.link("show its pages ›", f"?chain={item.name}"))
        for item in evm_chains()
        if item is not shown
    )


def _head_cards(head: Block) -> tuple[Card, ...]:
    page = pages.block_page(head.number)
    age = formats.format_age(clock.cchain_now() - head.timestamp)
    return (
        Card("Head", display.link(f"{head.number:,}", page), display.short_link(head.hash, page)),
        Card("Chain time", f"{age} ago", display.moment(head.timestamp)),
        Card("Gas used", display.gas_share(head.gas_used, head.gas_limit), "in the head"),
        Card("Base fee", display.gas_price(head.base_fee), "of the head"),
    )


def _pool_card(head: Block) -> Card:
    found = figures.waiting(evm_chain(), head.number)
    page = pages.list_page("pooltransaction")
    return Card(
        "Mempool",
        display.link(f"{found.pending:,} pending", page),
        f"{found.queued:,} queued, {counted(found.size, 'byte')} in total",
    )


def _rate_card(recent: list[Block]) -> Card:
    """Return the number of transactions in the latest blocks, and their rate."""
    newer = recent[:-1] or recent
    count = sum(block.transaction_count for block in newer)
    seconds = recent[0].timestamp - recent[-1].timestamp
    rate = f", {10 * count // seconds / 10:,} a second" if seconds else ""
    return Card(
        "Throughput", counted(count, "transaction"), f"in {counted(len(newer), 'block')}{rate}"
    )


def _rates() -> SafeString:
    found = figures.minutes(evm_chain(), clock.cchain_now())
    return dashboard.beside(
        dashboard.rate("Transactions", [entry.transactions for entry in found]),
        dashboard.rate("Gas", [other.gas_used for other in found]),
        dashboard.rate("Blocks", [item.blocks for item in found]),
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
        *_overrides_card(),
    )


def _production_card() -> Card:
    """Return when blocks are made, with a button that pauses or resumes production."""
    development.refresh_mining_settings(evm_chain())
    mining, paused = development.mining(evm_chain()), development.is_paused(evm_chain())
    words, note = "paused" if paused else WORDS[mining], f"mining {mining}"
    if mining == "manual" and not paused:
        return Card("Production", words, note)
    action = RESUME if paused else PAUSE
    action_link = ActionLink(
        action.button, reverse("admin_production", args=[action.name]), action.permission
    )
    return Card("Production", words, note, action_link)


def _overrides_card() -> tuple[Card, ...]:
    """Return the number of values set over RPC for later blocks, if there are any."""
    conditions = development.conditions(evm_chain())
    count = conditions.values_set
    if not count:
        return ()
    shown = display.link(counted(count, "value"), pages.list_page("developmentsettings"))
    note = "some for the next block only" if conditions.has_next else "for all following blocks"
    return (Card("Overrides", shown, note),)


def _about_fork(fork: ForkOrigin) -> str:
    """Return the block from which a fork continues, and how it differs from the upstream chain."""
    replayed = (
        "" if fork.transaction is None else f", with the next up to 0x{fork.transaction.hex()}"
    )
    return f"from block {fork.number:,} on{replayed}; state roots cover only later changes"


def _block_table(blocks: list[Block]) -> SafeString:
    rows = (
        (
            display.block_link(block.number),
            display.short_link(block.hash, pages.block_page(block.number)),
            display.moment(block.timestamp),
            display.counted_link(
                block.transaction_count, pages.search_page("transaction", block.number)
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
            display.short_link(HexBytes(row.hash), pages.transaction_page(row.pk)),
            display.status(succeeded=row.receipt.succeeded),
            display.block_link(row.block_id),
            display.short_account(row.sender),
            display.short_account(row.to or row.receipt.contract_address),
            display.amount(row.value),
        )
        for row in latest[:TRANSACTIONS]
    )
    return display.table(("Transaction", "Status", "Block", "From", "To", "Value"), rows)
