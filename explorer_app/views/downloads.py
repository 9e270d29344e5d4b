"""Lists of an EVM chain as CSV files: of all transactions and blocks, and of the activity of an address."""

from collections.abc import Sequence
from typing import Any, Final

from django.http import Http404, HttpRequest

from adminkit.export import Cells
from adminkit.formats import format_iso
from adminkit.terms import parse_term
from cchain_app.services import calls
from explorer_app.selectors import accounts, cchain, tokens, verified
from explorer_app.services import indexes
from explorer_app.site import Explorer
from explorer_app.views.addresses import SHOWN, SHOWN_TRANSFERS
from explorer_app.views.cchain import transaction_rows
from explorer_app.views.csv_lists import CsvList, CsvPart, listed, of_cchain, units
from explorer_app.views.page import NO_PART
from explorer_app.views.tokens import ListedTransfer, transfer_rows
from primitives.evm import Address
from primitives.hexadecimal import checksum_address

MAX_DATA: Final = 1_000
"""Limit of bytes of a log's data in a cell."""

_COIN: Final = 10**18
_NO_ADDRESS: Final = "Not an EVM address. An address is 0x followed by 40 hexadecimal digits."


@of_cchain
def transactions(site: Explorer, request: HttpRequest, text: str) -> CsvList:
    """Return the transactions that an address sent or received; `?show=` as on its page."""
    address, show = _address(text), _shown(request, SHOWN)

    def read(before: int | None, count: int) -> CsvPart:
        found = cchain.history(
            site.evm,
            address,
            sent=show != "received",
            received=show != "sent",
            before=before,
            count=count,
        )
        return listed(_transaction_cells(site, found), count)

    return CsvList(f"transactions-{_text(address)}", _transaction_headings(site), read)


@of_cchain
def all_transactions(site: Explorer, _request: HttpRequest) -> CsvList:
    """Return the chain's transactions."""

    def read(before: int | None, count: int) -> CsvPart:
        found = cchain.transactions(site.evm, before=before, count=count)
        return listed(_transaction_cells(site, found), count)

    return CsvList("transactions", _transaction_headings(site), read)


@of_cchain
def transfers(site: Explorer, request: HttpRequest, text: str) -> CsvList:
    """Return the token transfers from and to an address; `?show=` as on its page."""
    address, show = _address(text), _shown(request, SHOWN_TRANSFERS)
    indexes.wait_for_tokens(site)

    def read(before: int | None, count: int) -> CsvPart:
        found, next_key = tokens.transfers_of(
            site.evm, address, doubtful=not show, before=before, count=count
        )
        rows = [(line.transfer.id, _transfer_cells(line)) for line in transfer_rows(found)]
        return CsvPart(rows, rows[-1][0] if len(rows) == count else next_key)

    headings = (
        "Transaction", "Block", "Time", "From", "To", "Token", "Name", "Symbol", "Standard",
        "Token ID", "Amount", "Doubt",
    )  # fmt: skip
    return CsvList(f"token-transfers-{_text(address)}", headings, read)


@of_cchain
def inner_calls(site: Explorer, _request: HttpRequest, text: str) -> CsvList:
    """Return the internal calls that move coins from or to an address, or create it."""
    address = _address(text)
    calls.wait_for_calls(site.evm)

    def read(before: int | None, count: int) -> CsvPart:
        found = accounts.inner_calls(site.evm, address, before=before, count=count)
        rows = [
            (
                row.pk,
                (
                    row.transaction.hash, row.transaction.block_id,
                    format_iso(row.transaction.block.timestamp), row.get_type_display(),
                    _text(row.sender), _text(row.to), units(row.value or 0, _COIN),
                ),
            )
            for row in found
        ]  # fmt: skip
        return listed(rows, count)

    value = f"Value {site.evm.coin_symbol}"
    headings = ("Transaction", "Block", "Time", "Type", "From", "To", value)
    return CsvList(f"internal-transactions-{_text(address)}", headings, read)


@of_cchain
def events(site: Explorer, _request: HttpRequest, text: str) -> CsvList:
    """Return the logs that an address emitted."""
    address = _address(text)
    abi = verified.abi_of(site.evm, address)

    def cells(row: Any) -> Cells:
        topics = [bytes(word) for word in (row.topic0, row.topic1, row.topic2, row.topic3) if word is not None]  # fmt: skip
        data = bytes(row.data)
        named = site.names.event(topics, data, abi)
        shown = [f"0x{topic.hex()}" for topic in topics] + [""] * (4 - len(topics))
        more = "…" if len(data) > MAX_DATA else ""
        return (
            row.transaction.hash, row.block_id, row.index, "" if named is None else named.name,
            *shown, f"0x{data[:MAX_DATA].hex()}{more}",
        )  # fmt: skip

    def read(before: int | None, count: int) -> CsvPart:
        found = cchain.logs_by(site.evm, address, before=before, count=count)
        return listed([(row.pk, cells(row)) for row in found], count)

    topics = [f"Topic {place}" for place in range(4)]
    headings = ("Transaction", "Block", "Index", "Event", *topics, "Data")
    return CsvList(f"events-{_text(address)}", headings, read)


@of_cchain
def blocks(site: Explorer, _request: HttpRequest) -> CsvList:
    """Return the chain's blocks."""

    def read(before: int | None, count: int) -> CsvPart:
        found = cchain.blocks(site.evm, before=before, count=count)
        rows = [
            (
                row.number,
                (
                    row.number, f"0x{row.hash.hex()}", format_iso(row.timestamp), row.transaction_count,
                    row.gas_used, row.gas_limit, row.base_fee, row.size, _text(row.miner),
                ),
            )
            for row in found
        ]  # fmt: skip
        return listed(rows, count)

    headings = (
        "Block", "Hash", "Time", "Transactions", "Gas used", "Gas limit", "Base fee wei", "Bytes", "Coinbase",
    )  # fmt: skip
    return CsvList("blocks", headings, read)


def _transaction_headings(site: Explorer) -> tuple[str, ...]:
    symbol = site.evm.coin_symbol
    return (
        "Transaction", "Block", "Time", "Method", "From", "To", "Created contract", f"Value {symbol}",
        f"Fee {symbol}", "State",
    )  # fmt: skip


def _transaction_cells(
    site: Explorer, found: Sequence[cchain.TransactionRow]
) -> list[tuple[int, Cells]]:
    return [
        (
            row.tx.id,
            (
                f"0x{row.tx.hash.hex()}", row.tx.number, format_iso(row.tx.timestamp), row.method,
                _text(row.tx.sender), _text(row.tx.to), _text(row.tx.created if row.tx.succeeded else None),
                units(row.tx.value, _COIN), units(row.tx.fee, _COIN),
                "succeeded" if row.tx.succeeded else "failed",
            ),
        )
        for row in transaction_rows(site, found)
    ]  # fmt: skip


def _transfer_cells(line: ListedTransfer) -> Cells:
    row = line.transfer
    token = row.contract
    amount = f"{row.value}" if token.decimals is None else units(row.value, 10**token.decimals)
    last = "" if row.last_token_id is None else f" to {row.last_token_id}"
    return (
        row.transaction.hash, row.transaction.block_id, format_iso(row.transaction.block.timestamp),
        _text(row.sender), _text(row.to), _text(token.address), token.name, token.symbol,
        row.get_kind_display(), "" if row.token_id is None else f"{row.token_id}{last}", amount,
        line.doubt,
    )  # fmt: skip


def _address(text: str) -> Address:
    """Return the address of a URL. Raises Http404."""
    address = parse_term(text).address
    if address is None:
        raise Http404(_NO_ADDRESS)
    return Address(address)


def _shown(request: HttpRequest, known: dict[str, str]) -> str:
    """Return the filter of a list. Raises Http404."""
    show = request.GET.get("show", "")
    if show not in known:
        raise Http404(NO_PART)
    return show


def _text(address: bytes | None) -> str:
    return "" if address is None else str(checksum_address(Address(bytes(address))))
