"""Addresses of the C-Chain's admin pages, and the page that a search text means."""

from typing import Final

from adminkit.links import PageLinks
from adminkit.terms import parse_term
from cchain_app.admin.rows_admin import objects
from cchain_app.apps import evm_chain
from cchain_app.models import Block, PoolTransaction, Transaction

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


def pool_page(key: int) -> str:
    """Return the address of a pending transaction's page."""
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
        found = objects(Block).filter(pk=term.number).exists()
        return block_page(term.number) if found else None
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
