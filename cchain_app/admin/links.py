"""Where the admin's pages of the C-Chain are."""

from typing import Final

from adminkit.links import Pages

_PAGES: Final = Pages("cchain_app")
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
    """Return the address of a waiting transaction's page."""
    return page("pooltransaction", key)
