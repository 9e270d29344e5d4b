"""From what a person types to the page of exactly that: a block, a transaction or an account."""

from adminkit.terms import parse_term
from cchain_app.admin import links
from cchain_app.admin.rows import objects
from cchain_app.models import Block, PoolTransaction, Transaction


def find_page(text: str) -> str | None:
    """Return the page that a number, hash or address means, or None when there is none.

    At most three questions by unique keys. Every address has a page: that of an account which the
    chain never touched shows an account with nothing.
    """
    term = parse_term(text)
    if term.address is not None:
        return links.account_page(term.address)
    if term.number is not None:
        found = objects(Block).filter(pk=term.number).exists()
        return links.block_page(term.number) if found else None
    return None if term.hash is None else _find_hash(term.hash)


def _find_hash(wanted: bytes) -> str | None:
    key = objects(Transaction).filter(hash=wanted).values_list("pk", flat=True).first()
    if key is not None:
        return links.transaction_page(key)
    number = objects(Block).filter(hash=wanted).values_list("pk", flat=True).first()
    if number is not None:
        return links.block_page(number)
    waiting = objects(PoolTransaction).filter(hash=wanted).values_list("pk", flat=True).first()
    return None if waiting is None else links.pool_page(waiting)
