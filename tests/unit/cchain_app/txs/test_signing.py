"""Signing gives exactly the bytes of eth_account, because both are deterministic."""

from typing import Any

import pytest

from cchain_app.txs.codec import check_signature, decode_unsigned, recover_sender
from cchain_app.txs.signing import (
    authorities_of,
    encode_authorization,
    impersonate,
    named_sender,
    names_sender,
    sign_authorization,
    sign_transaction,
)
from cchain_app.txs.transaction import (
    ACCESS_LIST,
    BLOB,
    DYNAMIC_FEE,
    LEGACY,
    SET_CODE,
    InvalidTransaction,
    TransactionReason,
)
from primitives import secp256k1
from primitives.evm import ZERO_ADDRESS, Address
from primitives.hashing import keccak256
from primitives.recursion import recursion_limit_restored
from primitives.secp256k1 import InvalidPrivateKey
from tests.builders.blobs import ZERO_HASH
from tests.builders.cchain import SENDERS, authorization
from tests.builders.reasons import raises
from tests.builders.transactions import CHAIN_ID, KEY, RECIPIENT, signed, unsigned

with recursion_limit_restored():
    import rlp as library
    from eth_account import Account

TO = "0x" + RECIPIENT.hex()
SLOT = b"\x07" * 32


def by_eth_account(**fields):
    common = {"nonce": 5, "gas": 60_000, "to": TO, "value": 9, "data": b"\xfe"}
    return bytes(Account.sign_transaction({**common, **fields}, KEY).raw_transaction)


def by_us(**fields):
    common = {"nonce": 5, "gas": 60_000, "value": 9, "data": b"\xfe"}
    return sign_transaction(unsigned(**{**common, **fields}), KEY)


def test_a_legacy_transaction_is_signed_as_by_eth_account():
    ours = by_us(type=0, max_fee_per_gas=11)
    assert ours == by_eth_account(chainId=CHAIN_ID, gasPrice=11)


def test_a_legacy_transaction_without_a_chain_is_signed_as_by_eth_account():
    assert by_us(type=0, chain_id=None, max_fee_per_gas=11) == by_eth_account(gasPrice=11)


def test_an_access_list_transaction_is_signed_as_by_eth_account():
    access = [{"address": TO, "storageKeys": ["0x" + SLOT.hex()]}]
    ours = by_us(type=1, max_fee_per_gas=11, access_list=((RECIPIENT, (SLOT,)),))
    assert ours == by_eth_account(type=1, chainId=CHAIN_ID, gasPrice=11, accessList=access)


def test_a_dynamic_fee_creation_is_signed_as_by_eth_account():
    ours = by_us(type=2, to=None, max_fee_per_gas=11, max_priority_fee_per_gas=2)
    theirs = by_eth_account(
        type=2, chainId=CHAIN_ID, maxFeePerGas=11, maxPriorityFeePerGas=2, to=b""
    )
    assert ours == theirs


def test_a_set_code_transaction_is_signed_as_by_eth_account():
    theirs = Account.sign_authorization({"chainId": 1, "address": TO, "nonce": 3}, KEY)
    permission = sign_authorization(1, RECIPIENT, 3, KEY)
    assert (permission.y_parity, permission.r, permission.s) == (
        theirs.y_parity, theirs.r, theirs.s,
    )  # fmt: skip
    ours = by_us(
        type=4, max_fee_per_gas=11, max_priority_fee_per_gas=2, authorizations=(permission,)
    )
    assert ours == by_eth_account(
        type=4, chainId=CHAIN_ID, maxFeePerGas=11, maxPriorityFeePerGas=2,
        authorizationList=[theirs], accessList=[],
    )  # fmt: skip


def test_an_authorization_is_a_list_of_six():
    encoded = library.decode(encode_authorization(sign_authorization(0, RECIPIENT, 0, KEY)))
    assert encoded[:3] == [b"", RECIPIENT, b""]
    assert len(encoded) == 6


def test_nothing_is_signed_without_a_key():
    with pytest.raises(InvalidPrivateKey):
        sign_transaction(unsigned(), b"")


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
def test_impersonated_transaction_encodes_its_sender(
    fields: dict[str, Any], sender: Address
) -> None:
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


def test_impersonated_signature_recovers_another_sender() -> None:
    read = decode_unsigned(impersonate(unsigned(), SENDERS[0]).raw)
    check_signature(read, CHAIN_ID)
    assert recover_sender(read) != SENDERS[0]


def test_the_zero_address_signs_nothing() -> None:
    with raises(TransactionReason.SIGNATURE_VALUES, kind=InvalidTransaction):
        check_signature(decode_unsigned(impersonate(unsigned(), ZERO_ADDRESS).raw), CHAIN_ID)


def test_signed_transaction_is_not_impersonated() -> None:
    made = signed()
    assert not made.is_impersonated
    assert not names_sender(decode_unsigned(made.raw))


def test_an_impersonated_transaction_may_have_blobs() -> None:
    made = impersonate(
        unsigned(type=BLOB, max_fee_per_blob_gas=1, blob_hashes=(ZERO_HASH,)), SENDERS[0]
    )
    assert (made.is_impersonated, made.blob_hashes) == (True, (ZERO_HASH,))


def naming(*authorizations):
    return signed(type=SET_CODE, gas=1_000_000, authorizations=authorizations)


def found(*transactions):
    return authorities_of(transactions, secp256k1.recover_many)


def test_each_authority_is_named_once_in_the_order_of_the_list():
    entries = [
        authorization(signer, RECIPIENT, nonce) for signer, nonce in ((1, 0), (0, 0), (1, 1))
    ]
    assert found(naming(*entries)) == [(SENDERS[1], SENDERS[0])]


def test_an_authorization_for_another_chain_or_turn_has_an_authority_too():
    elsewhere = authorization(0, RECIPIENT, 0, chain_id=1)
    late = authorization(1, RECIPIENT, 99, chain_id=0)
    assert found(naming(elsewhere, late)) == [(SENDERS[0], SENDERS[1])]


def test_invalid_authorizations_have_no_authority():
    good = authorization(0, RECIPIENT, 0)
    high = good._replace(s=secp256k1.ORDER - good.s, y_parity=1 - good.y_parity)
    wrong = [good._replace(r=0), good._replace(y_parity=2), high, good._replace(r=5)]
    assert secp256k1.recover_many([(bytes(32), 5, 1, 1)]) == [None]
    assert found(naming(*wrong)) == [()]
    assert found(naming(*wrong, good)) == [(SENDERS[0],)]


def test_all_senders_are_recovered_in_one_call():
    asked = []

    def recover(signatures):
        asked.append(len(signatures))
        return secp256k1.recover_many(signatures)

    first = naming(authorization(0, RECIPIENT, 0), authorization(1, RECIPIENT, 0))
    second = naming(authorization(2, RECIPIENT, 0))
    assert authorities_of([first, second], recover) == [SENDERS[:2], (SENDERS[2],)]
    assert authorities_of([signed()], recover) == [()]
    assert asked == [3]
