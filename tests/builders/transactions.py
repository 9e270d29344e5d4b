"""Valid signed transactions in one call; a test changes one field and names the rule that is broken."""

from typing import Any

from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import UnsignedTransaction, sign_transaction
from cchain_app.txs.transaction import DYNAMIC_FEE, LEGACY, Transaction
from primitives.evm import Address

CHAIN_ID = 43_112
KEY = bytes.fromhex("56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027")
SENDER = Address(bytes.fromhex("8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"))
RECIPIENT = Address(b"\x11" * 20)


def unsigned(**changes: Any) -> UnsignedTransaction:
    """Return a transfer of one wei with the changes."""
    fields: dict[str, Any] = {
        "type": DYNAMIC_FEE,
        "chain_id": CHAIN_ID,
        "nonce": 0,
        "gas": 21_000,
        "to": RECIPIENT,
        "value": 1,
        "max_fee_per_gas": 50 * 10**9,
        "max_priority_fee_per_gas": 10**9,
    }
    return UnsignedTransaction(**{**fields, **changes})


def signed(*, key: bytes = KEY, **changes: Any) -> Transaction:
    """Return a transfer of one wei with the changes, signed and decoded again."""
    return decode_transaction(sign_transaction(unsigned(**changes), key), CHAIN_ID)


def legacy(**changes: Any) -> Transaction:
    """Return a legacy transfer with the changes, signed and decoded again."""
    return signed(**{"type": LEGACY, **changes})
