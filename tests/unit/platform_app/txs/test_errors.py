"""Reasons for rejecting a transaction: each has its own message."""

from enum import StrEnum

import pytest

from platform_app.executor.errors import StakerReason, TxStateReason
from platform_app.txs.errors import TxSyntaxReason
from utxo.errors import CredentialReason, InvalidTx, UtxoReason


@pytest.mark.parametrize(
    "reasons", [UtxoReason, CredentialReason, TxSyntaxReason, TxStateReason, StakerReason]
)
def test_no_two_reasons_have_the_same_message(reasons: type[StrEnum]) -> None:
    assert len(reasons.__members__) == len(list(reasons))


def test_a_reason_takes_values() -> None:
    error = InvalidTx(TxSyntaxReason.MEMO_TOO_LONG, size=257, limit=256)

    assert str(error) == "memo exceeds maximum length: 257 > 256"
    assert error.values == {"size": 257, "limit": 256}
