"""Where the admin's pages of the C-Chain are."""

from urllib.parse import urlencode

from django.urls import reverse


def block_page(number: int) -> str:
    """Return the address of a block's page."""
    return reverse("admin:cchain_app_block_change", args=[number])


def transaction_page(key: object) -> str:
    """Return the address of a transaction's page by its key or hash."""
    return reverse("admin:cchain_app_transaction_change", args=[key])


def log_page(key: int) -> str:
    """Return the address of a log's page."""
    return reverse("admin:cchain_app_log_change", args=[key])


def account_page(address: object) -> str:
    """Return the address of an account's page."""
    return reverse("admin:cchain_app_account_change", args=[address])


def pool_page(key: int) -> str:
    """Return the address of a waiting transaction's page."""
    return reverse("admin:cchain_app_pooltransaction_change", args=[key])


def search_page(model: str, term: object) -> str:
    """Return the address of a list (`transaction`, `log`, …) searched for a term."""
    return list_page(model) + "?" + urlencode({"q": str(term)})


def list_page(model: str) -> str:
    """Return the address of a list."""
    return reverse(f"admin:cchain_app_{model}_changelist")
