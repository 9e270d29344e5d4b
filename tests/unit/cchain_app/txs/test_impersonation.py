"""Unsigned (impersonated) transactions: their encoding names the sender and contains no signature."""

from typing import Any

import pytest

from cchain_app.txs.codec import check_signature, decode_unsigned, recover_sender
from cchain_app.txs.errors import InvalidTransaction, TransactionReason
from cchain_app.txs.impersonation import impersonate, named_sender, names_sender
from cchain_app.txs.transaction import ACCESS_LIST, BLOB, DYNAMIC_FEE, LEGACY, SET_CODE
from primitives.evm import ZERO_ADDRESS, Address
from primitives.hashing import keccak256
from tests.builders.cchain import SENDERS, authorization
from tests.builders.reasons import raises
from tests.builders.transactions import CHAIN_ID, RECIPIENT, signed, unsigned

SHORT = Address(bytes(18) + b"\x01\x02")
KINDS: list[dict[str, Any]] = [
    {"type": LEGACY},
    {"type": ACCESS_LIST, "access_list": ((RECIPIENT, ()),)},
    {"type": DYNAMIC_FEE},
    {"type": SET_CODE, "authorizations": (authorization(0, RECIPIENT, 0),)},
]


@pytest.mark.parametrize(
    "sender", [SENDERS[0], SHORT, ZERO_ADDRESS], ids=["plain", "short", "zero"]
)
@pytest.mark.parametrize("fields", KINDS, ids=["legacy", "access list", "dynamic fee", "set code"])
def test_it_names_its_sender_and_is_read_back(fields: dict[str, Any], sender: Address) -> None:
    made = impersonate(unsigned(**fields), sender)
    read = decode_unsigned(made.raw)

    assert made.is_impersonated
    assert (made.sender, made.type, made.y_parity) == (sender, fields["type"], 0)
    assert made.hash == read.hash == keccak256(made.raw)
    assert names_sender(read)
    assert named_sender(read) == sender
    assert made.chain_id == CHAIN_ID


def test_two_senders_of_the_same_have_hashes_of_their_own() -> None:
    first, second = (impersonate(unsigned(), sender) for sender in SENDERS[:2])
    assert first.hash != second.hash


def test_its_signature_gives_somebody_else() -> None:
    read = decode_unsigned(impersonate(unsigned(), SENDERS[0]).raw)
    check_signature(read, CHAIN_ID)
    assert recover_sender(read) != SENDERS[0]


def test_the_zero_address_signs_nothing() -> None:
    with raises(TransactionReason.SIGNATURE_VALUES, kind=InvalidTransaction):
        check_signature(decode_unsigned(impersonate(unsigned(), ZERO_ADDRESS).raw), CHAIN_ID)


def test_what_was_signed_is_not_impersonated() -> None:
    made = signed()
    assert not made.is_impersonated
    assert not names_sender(decode_unsigned(made.raw))


def test_blobs_are_refused() -> None:
    with raises(TransactionReason.BLOBS_NOT_SUPPORTED, kind=InvalidTransaction):
        impersonate(unsigned(type=BLOB, max_fee_per_blob_gas=1), SENDERS[0])
