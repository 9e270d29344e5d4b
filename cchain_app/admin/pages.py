"""The admin pages of an EVM chain: their addresses, the page that a search text means, and the rows that they show.

The rows are those of the chosen chain (`evm_chain`). The rows of a block or transaction are a range of keys, because their
foreign keys have no index.
"""

from typing import Any, Final, TypeVar

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.urls import get_script_prefix, reverse
from typing_extensions import override

from adminkit.display import PageLinks
from adminkit.read_only import ReadOnlyModelAdmin
from adminkit.terms import parse_term
from cchain_app.apps import evm_chain
from cchain_app.models import Block, PoolTransaction, Receipt, Transaction, height_of, row_id
from chaindb.chains import C_CHAIN, is_left_out
from chaindb.fields import HEIGHTS

M = TypeVar("M", bound=Model)


def objects(model: type[M]) -> QuerySet[M]:
    """Return a queryset of all rows of a model."""
    return evm_chain().db.objects(model)


class RowsAdmin(ReadOnlyModelAdmin):
    """An admin page for rows of the chosen EVM chain."""

    @override
    def is_used(self) -> bool:
        return not is_left_out(evm_chain().name)

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.using(evm_chain().db.alias)

    @override
    def view_on_site(self, obj: Any) -> str | None:
        return of_chosen_chain(super().view_on_site(obj))


def of_chosen_chain(url: str | None) -> str | None:
    """Return the URL of an explorer's page of the C-Chain as that of the chosen chain's page."""
    chain = evm_chain()
    if url is None or chain.name == C_CHAIN:
        return url
    front = reverse("explorer:chain-front", args=[chain.path_name])
    return f"{front}/{url.removeprefix(get_script_prefix())}"


def rows_of_block(number: int) -> list[Q]:
    """Return the condition for rows of a block; an empty list for a number that no block can have."""
    if number >= HEIGHTS:
        return []
    return [Q(pk__gte=row_id(number), pk__lt=row_id(number + 1))]


def rows_of_block_hash(block_hash: bytes) -> list[Q]:
    """Return the condition for rows of the block with a hash; an empty list if there is no such block."""
    number = objects(Block).filter(hash=block_hash).values_list("number", flat=True).first()
    return [] if number is None else rows_of_block(number)


def logs_of_transaction(key: int) -> list[Q]:
    """Return the condition for the logs of a transaction; an empty list if it has no logs."""
    counts = objects(Receipt).filter(pk=key).values_list("first_log_index", "log_count").first()
    if counts is None or counts[1] == 0:
        return []
    first = row_id(height_of(key), counts[0])
    return [Q(pk__gte=first, pk__lt=first + counts[1])]


_PAGES: Final = PageLinks("cchain_app")
page, list_page, search_page = _PAGES.page, _PAGES.list_page, _PAGES.search_page


def block_page(number: int) -> str:
    """Return the address of a block's page."""
    return page("block", number)


def transaction_page(key: object) -> str:
    """Return the address of a transaction's page by its key or hash."""
    return page("transaction", key)


def log_page(key: int) -> str:
    """Return the address of a log's page."""
    return page("log", key)


def account_page(address: object) -> str:
    """Return the address of an account's page."""
    return page("account", address)


def pool_page(key: object) -> str:
    """Return the address of a pending transaction's page by its key or hash."""
    return page("pooltransaction", key)


def find_page(text: str) -> str | None:
    """Return the page for a number, hash or address, or None if there is no such page.

    An alias of the chain leads to its blocks; the P-Chain's admin finds its blockchain ID.

    A search costs at most three queries by unique keys. Every address has a page; the page of an account that
    the chain never touched is empty.
    """
    if text in evm_chain().aliases:
        return list_page("block")
    term = parse_term(text)
    if term.address is not None:
        return account_page(term.address)
    if term.number is not None:
        exists = objects(Block).filter(pk=term.number).exists()
        return block_page(term.number) if exists else None
    return None if term.hash is None else _find_hash(term.hash)


def _find_hash(wanted: bytes) -> str | None:
    key = objects(Transaction).filter(hash=wanted).values_list("pk", flat=True).first()
    if key is not None:
        return transaction_page(key)
    number = objects(Block).filter(hash=wanted).values_list("pk", flat=True).first()
    if number is not None:
        return block_page(number)
    waiting = objects(PoolTransaction).filter(hash=wanted).values_list("pk", flat=True).first()
    return None if waiting is None else pool_page(waiting)
