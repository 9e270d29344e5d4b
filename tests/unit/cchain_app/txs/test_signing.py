"""Signing gives exactly the bytes of eth_account, because both are deterministic."""

import pytest

from cchain_app.txs.signing import encode_authorization, sign_authorization, sign_transaction
from primitives.recursion import recursion_limit_kept
from primitives.secp256k1 import InvalidPrivateKey
from tests.builders.transactions import CHAIN_ID, KEY, RECIPIENT, unsigned

with recursion_limit_kept():
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
