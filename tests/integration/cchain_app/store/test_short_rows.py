"""Numbers without padding, and a history without the hash of no code: rows of older versions mean the same."""

from importlib import import_module
from pkgutil import iter_modules
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import FieldError
from django.db import connection

from cchain_app import migrations, models
from cchain_app.selectors.state import state_at
from primitives.hashing import EMPTY_HASH
from tests.builders.transactions import RECIPIENT, SENDER

(NAME,) = (module.name for module in iter_modules(migrations.__path__) if "shorter" in module.name)
MIGRATION = import_module(f"{migrations.__name__}.{NAME}")
PADDED = {
    "cchain_app_transaction": ("value", "max_fee_per_gas", "max_priority_fee_per_gas"),
    "cchain_app_receipt": ("effective_gas_price",),
    "cchain_app_accountchange": ("balance",),
    "cchain_app_block": ("base_fee",),
}
DIGITS = 78


@pytest.fixture
def paid(chain: Any) -> Any:
    """A chain with three payments."""
    for value in (5, 10**20, 0):
        chain.do(value=value)
    return chain


def known(chain: Any, rpc: Any) -> list[Any]:
    """Return everything that is read from the rows in question."""
    chain.forget()
    states = [state_at(chain.evm, number) for number in range(4)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT block_number, value, coins, nonce, gas_price FROM c_transactions")
        seen: list[Any] = sorted(map(repr, cursor.fetchall()))
    seen += [[state.account(SENDER), state.account(RECIPIENT)] for state in states]
    seen += [rpc("eth_getBlockByNumber", hex(number), True) for number in range(4)]
    seen += [rpc("eth_getBlockReceipts", hex(number)) for number in range(4)]
    seen.append(rpc("eth_feeHistory", "0x3", "latest", [50]))
    seen += models.Transaction.objects.order_by("id").values_list("value", "nonce")
    return seen


@pytest.mark.sqlite_only
def test_numbers_take_their_digits(paid: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT value FROM cchain_app_transaction ORDER BY id")
        assert cursor.fetchall() == [("5",), ("1" + "0" * 20,), ("0",)]


@pytest.mark.sqlite_only
def test_padded_numbers_are_read_as_before(paid: Any, rpc: Any) -> None:
    expected = known(paid, rpc)
    with connection.cursor() as cursor:
        for table, columns in PADDED.items():
            for column in columns:
                cursor.execute(
                    f"UPDATE {table} SET {column} = substr('{'0' * DIGITS}' || {column}, -{DIGITS})"
                )
    assert known(paid, rpc) == expected


def stored_hashes() -> set[bytes]:
    rows = models.AccountChange.objects.filter(nonce__isnull=False).values_list(
        "code_hash", flat=True
    )
    return {bytes(code_hash) for code_hash in rows if code_hash is not None}


def test_undoing_the_migration_writes_the_hashes_and_changes_no_answer(paid: Any, rpc: Any) -> None:
    expected = known(paid, rpc)
    assert b"" in stored_hashes()
    MIGRATION.write_hashes(apps, SimpleNamespace(connection=connection))
    assert EMPTY_HASH in stored_hashes()
    assert b"" not in stored_hashes()
    assert known(paid, rpc) == expected


def test_comparing_such_a_column_is_refused(chain: Any) -> None:
    with pytest.raises(FieldError, match="value cannot be compared"):
        models.Transaction.objects.filter(value=5)
