"""Exact sums of unsigned integers with up to 78 digits."""

import pytest

from cchain_app.models import Account
from chaindb.database import Database
from chaindb.sums import column_sum
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH

pytestmark = pytest.mark.django_db

LARGEST = 2**256 - 1


def test_sums_are_exact() -> None:
    balances = (LARGEST, LARGEST, 10**9, 999_999_999, 0, 123_456_789_012_345_678_901)
    db = Database()
    assert column_sum(db, Account, "balance") == 0
    db.insert(
        Account,
        ("address", "nonce", "balance", "code_hash"),
        [
            (Address(bytes([place]) * 20), 2**64 - 1 - place, balance, EMPTY_HASH)
            for place, balance in enumerate(balances)
        ],
    )
    assert column_sum(db, Account, "balance") == sum(balances)
    last = bytes([len(balances) - 1]) * 20
    assert column_sum(db, Account, "balance", "address = %s", [last]) == balances[-1]
    assert column_sum(db, Account, "nonce") == 6 * (2**64 - 1) - 15
