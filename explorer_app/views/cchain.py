"""Pages of an EVM chain's blocks, and lists of its transactions and of the pool."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse

from cchain_app.rules.coreth.description import described
from cchain_app.selectors import blocks as chain_blocks
from cchain_app.selectors import pool as chain_pool
from cchain_app.txs.transaction import Transaction
from explorer_app.names.book import NO_ABI, Abi
from explorer_app.selectors import cchain, verified
from explorer_app.selectors.cchain import PAGE, TransactionRow
from explorer_app.site import Explorer
from explorer_app.views.moves import atomic_rows
from explorer_app.views.page import cchain_page, list_pages, read_number, rendered, shown_of
from network_app.selectors import block_proposer
from primitives.evm import Address, Hash

_HASH_DIGITS = 66
_MAX_WAITING = 200
_NO_BLOCK: Final = (
    "The chain has no block with this height or hash. It may not have reached this height yet."
)


class TransactionListRow(NamedTuple):
    """A transaction in a list."""

    tx: TransactionRow
    method: str
    """The called function, or the kind of transaction."""
    direction: str = ""
    """On the page of an address: `in`, `out` or `self`."""


class PendingRow(NamedTuple):
    """A transaction in the pool."""

    tx: Transaction
    method: str
    reason: str
    """Why it is not in a block yet."""


@cchain_page
def blocks(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the latest blocks, or those below a height (`?before=`)."""
    before = read_number(request.GET.get("before"))
    rows, has_more = shown_of(cchain.blocks(site.evm, before=before, count=PAGE + 1), PAGE)
    more = list_pages(request, rows, lambda row: row.number, has_more=has_more)
    return rendered(site, request, "blocks.html", {"section": "blocks", "rows": rows, **more})


@cchain_page
def txs(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the latest transactions, or those before one (`?before=`, its key)."""
    before = read_number(request.GET.get("before"))
    rows, has_more = shown_of(cchain.transactions(site.evm, before=before, count=PAGE + 1), PAGE)
    more = list_pages(request, rows, lambda row: row.id, has_more=has_more)
    context = {"section": "txs", "rows": transaction_rows(site, rows), **more}
    return rendered(site, request, "txs.html", context)


@cchain_page
def block(site: Explorer, request: HttpRequest, height: str) -> HttpResponse:
    """Show a block by its height or hash, with its transactions starting at an index (`?before=`)."""
    number = _number(site, height)
    block = None if number is None else cchain.block(site.evm, number)
    if block is None:
        raise Http404(_NO_BLOCK)
    first = read_number(request.GET.get("before")) or 0
    rows, has_more = shown_of(
        cchain.transactions_of_block(site.evm, block.number, first=first, count=PAGE + 1), PAGE
    )
    more = list_pages(request, rows, lambda row: row.position + 1, has_more=has_more)
    context = {
        "section": "blocks",
        "found": block,
        "looked_at": str(block.hash),
        "first": site.evm.first_number,
        "head": chain_blocks.head(site.evm).number,
        "burned": None if block.base_fee is None else block.base_fee * block.gas_used,
        "proposer": block_proposer(site.evm.db, site.evm.name, block.number),
        "header": _header(site, bytes(block.header)),
        "rows": transaction_rows(site, rows),
        "nothing": "The block has no transactions.",
        **atomic_rows(site, block.number),
        **more,
    }
    return rendered(site, request, "block.html", context)


@cchain_page
def pool(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the transactions in the pool, and why they wait."""
    content = chain_pool.content(site.evm)
    head = chain_blocks.head(site.evm)
    fee = chain_blocks.base_fee_after(site.evm, head) or 0
    waiting = [tx for txs in content.pending.values() for tx in txs][:_MAX_WAITING]
    waiting += [tx for txs in content.queued.values() for tx in txs][:_MAX_WAITING]
    abis = _abis(site, ((tx.to, tx.data) for tx in waiting))
    pending = [
        _waiting(site, tx, abis, _pending_reason(tx, fee))
        for txs in content.pending.values()
        for tx in txs
    ]
    queued = [
        _waiting(site, tx, abis, _queued_reason(tx, content.pending.get(sender, ())))
        for sender, txs in content.queued.items()
        for tx in txs
    ]
    context = {
        "section": "pool",
        "base_fee": fee,
        "parts": [
            ("Pending", pending[:_MAX_WAITING], len(pending)),
            ("Queued", queued[:_MAX_WAITING], len(queued)),
        ],
    }
    return rendered(site, request, "pool.html", context)


def transaction_rows(
    site: Explorer, rows: Iterable[TransactionRow], of: Address | None = None
) -> list[TransactionListRow]:
    """Return transactions with the columns of lists.

    Args:
        site: The explorer.
        rows: The transactions.
        of: The address whose page shows the list, if any.
    """
    listed = [(row, row.data) for row in rows]
    abis = _abis(site, ((row.to, data) for row, data in listed))
    return [
        TransactionListRow(row, _method(site, row.to, data, abis), _direction(row, of))
        for row, data in listed
    ]


def _method(site: Explorer, to: Address | None, data: bytes, abis: Mapping[Address, Abi]) -> str:
    """Return the called function of a transaction, or its kind."""
    if to is None:
        return "Contract creation"
    if data and to not in abis and message_of(data):
        return "Message"
    name = site.names.method(data, abis.get(to, NO_ABI))
    return name or ("Message" if data else "Transfer")


def message_of(data: bytes) -> str:
    """Return input as text if it is printable (a message between people); else an empty text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    is_printable = all(character.isprintable() or character in "\r\n\t" for character in text)
    return text if is_printable else ""


def _abis(site: Explorer, calls: Iterable[tuple[Address | None, bytes]]) -> dict[Address, Abi]:
    """Return the ABIs of the contracts that transactions of a list call."""
    called = {Address(bytes(to)) for to, data in calls if to is not None and data}
    return verified.abis(site.evm, called) if called else {}


def _direction(row: TransactionRow, of: Address | None) -> str:
    if of is None:
        return ""
    if row.sender == row.recipient == of:
        return "self"
    return "out" if row.sender == of else "in"


def _number(site: Explorer, text: str) -> int | None:
    if text.startswith("0x") and len(text) == _HASH_DIGITS:
        try:
            return cchain.number_of(site.evm, Hash(bytes.fromhex(text[2:])))
        except ValueError:
            return None
    return read_number(text)


def _header(site: Explorer, raw: bytes) -> list[tuple[str, str]]:
    """Return the header fields that the page does not show elsewhere."""
    header = site.evm.format.decode_header(raw)
    shown: list[tuple[str, Any]] = [
        ("State root", header.state_root),
        ("Transactions root", header.transactions_root),
        ("Receipts root", header.receipts_root),
        ("prevRandao", header.mix_hash),
        ("Extra data", header.extra_data),
        ("Parent beacon block root", header.parent_beacon_block_root),
        ("Requests hash", header.requests_hash),
    ]
    own = [(name, "0x" + value.hex()) for name, value in shown if value is not None]
    return own + described(header, site.evm.genesis.upgrades)


def _waiting(
    site: Explorer, tx: Transaction, abis: Mapping[Address, Abi], reason: str
) -> PendingRow:
    return PendingRow(tx, _method(site, tx.to, tx.data, abis), reason)


def _pending_reason(tx: Transaction, base_fee: int) -> str:
    if tx.max_fee_per_gas < base_fee:
        return "the fee cap is below the base fee of the next block"
    return "will be in the next block that has enough gas left"


def _queued_reason(tx: Transaction, pending: Sequence[Transaction]) -> str:
    if pending and tx.nonce == pending[-1].nonce + 1:
        return "the sender's balance does not cover this transaction and those before it"
    return f"is queued behind a missing transaction of the sender with a nonce below {tx.nonce:,}"
