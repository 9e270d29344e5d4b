"""Decoding of signed transactions, with eth_account as an independent signer, and its errors."""

import pytest
import rlp as library
from hypothesis import given, settings
from hypothesis import strategies as st

from cchain_app.txs.codec import (
    decode_stored,
    decode_transaction,
    decode_unsigned,
    recover_sender,
    with_sender,
)
from cchain_app.txs.transaction import InvalidTransaction, Transaction, TransactionReason
from primitives.hashing import keccak256
from primitives.recursion import recursion_limit_restored
from primitives.secp256k1 import ORDER
from tests.builders.blobs import blob_transaction
from tests.builders.reasons import raises
from tests.builders.transactions import CHAIN_ID, KEY, RECIPIENT, SENDER, legacy, signed
from tests.searching import cases

with recursion_limit_restored():
    from eth_account import Account

TO = "0x" + RECIPIENT.hex()
SLOT = b"\x07" * 32
ACCESS = [{"address": TO, "storageKeys": ["0x" + SLOT.hex()]}]
LEGACY_FIELDS = {
    "chainId": CHAIN_ID, "nonce": 7, "gas": 90_000, "gasPrice": 10**10, "to": TO,
    "value": 10**18, "data": b"\x00\x01",
}  # fmt: skip
FEES = {"maxFeePerGas": 3 * 10**10, "maxPriorityFeePerGas": 10**9}


def fields(type_):
    """Return a transaction in the format of eth_account."""
    common = {name: value for name, value in LEGACY_FIELDS.items() if name != "gasPrice"}
    if type_ == 0:
        return LEGACY_FIELDS
    if type_ == 1:
        return {**LEGACY_FIELDS, "type": 1, "accessList": ACCESS}
    if type_ == 2:
        return {**common, **FEES, "type": 2, "accessList": ACCESS}
    permission = Account.sign_authorization({"chainId": 0, "address": TO, "nonce": 3}, KEY)
    return {
        **common, **FEES, "type": 4, "accessList": ACCESS, "authorizationList": [permission],
    }  # fmt: skip


def by_eth_account(type_, **changes):
    return Account.sign_transaction({**fields(type_), **changes}, KEY)


def resign(transaction, **changes):
    """Return the envelope with some RLP fields replaced, given by index: {index: value}."""
    prefix = b"" if transaction.type == 0 else transaction.raw[:1]
    items = library.decode(transaction.raw[len(prefix) :])
    for index, value in changes.items():
        items[int(index[1:])] = value
    return prefix + library.encode(items)


@pytest.mark.parametrize("type_", [0, 1, 2, 4])
def test_transaction_of_eth_account_has_its_hash_and_sender(type_):
    theirs = by_eth_account(type_)
    ours = decode_transaction(bytes(theirs.raw_transaction), CHAIN_ID)
    assert (ours.type, ours.hash, ours.sender) == (type_, bytes(theirs.hash), SENDER)
    assert (ours.v, ours.r, ours.s) == (theirs.v, theirs.r, theirs.s)
    assert ours.raw == bytes(theirs.raw_transaction)
    assert (ours.chain_id, ours.nonce, ours.gas) == (CHAIN_ID, 7, 90_000)
    assert (ours.to, ours.value, ours.data) == (RECIPIENT, 10**18, b"\x00\x01")
    assert ours.access_list == (((RECIPIENT, (SLOT,)),) if type_ else ())
    fees = (ours.max_fee_per_gas, ours.max_priority_fee_per_gas)
    assert fees == ((3 * 10**10, 10**9) if type_ > 1 else (10**10, 10**10))
    assert len(ours.authorizations) == (type_ == 4)


@pytest.mark.parametrize(
    "raw",
    [
        *(bytes(by_eth_account(type_).raw_transaction) for type_ in (0, 1, 2, 4)),
        bytes(by_eth_account(2, to=b"", data=b"\x60\x00", value=0).raw_transaction),
        bytes(by_eth_account(1, accessList=[]).raw_transaction),
        legacy(chain_id=None, data=b"x" * 300, nonce=0).raw,
        legacy(to=None).raw,
        blob_transaction(2).raw,
    ],
)
def test_a_stored_transaction_is_the_same_as_when_it_was_received(raw):
    received = with_sender(decode_unsigned(raw), SENDER)
    stored = decode_stored(raw, received.hash, SENDER)
    assert stored == received
    assert type(stored.to) is type(received.to)


def test_an_authorization_is_read_with_all_its_fields():
    raw = bytes(by_eth_account(4).raw_transaction)
    (ours,) = decode_transaction(raw, CHAIN_ID).authorizations
    theirs = fields(4)["authorizationList"][0]
    assert (ours.chain_id, ours.address, ours.nonce) == (0, RECIPIENT, 3)
    assert (ours.y_parity, ours.r, ours.s) == (theirs.y_parity, theirs.r, theirs.s)


def test_a_legacy_transaction_without_a_chain_is_for_every_chain():
    before_eip_155 = {name: value for name, value in LEGACY_FIELDS.items() if name != "chainId"}
    theirs = Account.sign_transaction(before_eip_155, KEY)
    ours = decode_transaction(bytes(theirs.raw_transaction), CHAIN_ID)
    assert ours.sender == SENDER
    assert ours.chain_id is None
    assert ours.v in {27, 28}
    assert ours.y_parity == ours.v - 27


def test_a_creation_has_no_recipient():
    theirs = by_eth_account(2, to=b"", data=b"\x60\x00")
    assert decode_transaction(bytes(theirs.raw_transaction), CHAIN_ID).to is None


@pytest.mark.parametrize("type_", [0, 1, 2, 4])
def test_a_transaction_for_another_chain_is_refused(type_):
    raw = bytes(by_eth_account(type_).raw_transaction)
    with raises(TransactionReason.WRONG_CHAIN_ID, kind=InvalidTransaction) as caught:
        decode_transaction(raw, 1)
    assert str(caught.value) == ("invalid sender: invalid chain id for signer: have 43112 want 1")


@pytest.mark.parametrize(
    ("raw", "reason", "message"),
    [
        ("", TransactionReason.TOO_SHORT, "typed transaction too short"),
        ("02", TransactionReason.TOO_SHORT, "typed transaction too short"),
        ("7f", TransactionReason.TOO_SHORT, "typed transaction too short"),
        ("05c0", TransactionReason.TYPE_NOT_SUPPORTED, "transaction type not supported"),
        ("00c0", TransactionReason.TYPE_NOT_SUPPORTED, "transaction type not supported"),
        (
            "03c0",
            TransactionReason.MALFORMED,
            "rlp: too few elements for types.BlobTx",
        ),
        ("80", TransactionReason.MALFORMED, "rlp: expected input list for types.LegacyTx"),
        ("0201", TransactionReason.MALFORMED, "rlp: expected input list for types.DynamicFeeTx"),
        ("c0", TransactionReason.MALFORMED, "rlp: too few elements for types.LegacyTx"),
        ("01c0", TransactionReason.MALFORMED, "rlp: too few elements for types.AccessListTx"),
        ("c0c0", TransactionReason.MALFORMED, "rlp: input contains more than one value"),
        ("c1", TransactionReason.MALFORMED, "rlp: value size exceeds available input length"),
        ("f837" + 55 * "80", TransactionReason.MALFORMED,
         "rlp: non-canonical size information for types.LegacyTx"),
        ("ca" + 10 * "80", TransactionReason.MALFORMED,
         "rlp: input list has too many elements for types.LegacyTx"),
        ("c9" + 9 * "00", TransactionReason.MALFORMED,
         "rlp: non-canonical integer (leading zero bytes) for uint64, "
         "decoding into (types.LegacyTx).Nonce"),
        ("c9c0" + 8 * "80", TransactionReason.MALFORMED,
         "rlp: expected input string or byte for uint64, decoding into (types.LegacyTx).Nonce"),
        ("c9" + 8 * "80" + "81", TransactionReason.MALFORMED,
         "rlp: element is larger than containing list"),
        ("ca" + 8 * "80" + "8101", TransactionReason.MALFORMED,
         "rlp: non-canonical size information for *big.Int, decoding into (types.LegacyTx).S"),
    ],
)  # fmt: skip
def test_malformed_transaction_is_refused_with_its_message(raw, reason, message):
    with raises(reason, kind=InvalidTransaction) as caught:
        decode_unsigned(bytes.fromhex(raw))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"_1": b"\x01" * 9}, "input string too long for uint64, "
         "decoding into (types.DynamicFeeTx).Nonce"),
        ({"_4": b"\x01" * 9}, "input string too long for uint64, "
         "decoding into (types.DynamicFeeTx).Gas"),
        ({"_3": b"\x01" * 33}, "value too large for uint256"),
        ({"_5": b"\x01" * 21}, "input string too long for common.Address, "
         "decoding into (types.DynamicFeeTx).To"),
        ({"_5": b"\x01" * 19}, "input string too short for common.Address, "
         "decoding into (types.DynamicFeeTx).To"),
        ({"_5": []}, "expected input string or byte for common.Address, "
         "decoding into (types.DynamicFeeTx).To"),
        ({"_7": []}, "expected input string or byte for []uint8, "
         "decoding into (types.DynamicFeeTx).Data"),
        ({"_8": b""}, "expected input list for types.AccessList, "
         "decoding into (types.DynamicFeeTx).AccessList"),
        ({"_8": [[RECIPIENT]]}, "too few elements for types.AccessTuple, "
         "decoding into (types.DynamicFeeTx).AccessList[0]"),
        ({"_8": [[RECIPIENT, []], b""]}, "expected input list for types.AccessTuple, "
         "decoding into (types.DynamicFeeTx).AccessList[1]"),
        ({"_8": [[RECIPIENT, []], [b"\x01", []]]}, "input string too short for common.Address, "
         "decoding into (types.DynamicFeeTx).AccessList[1].Address"),
        ({"_8": [[RECIPIENT, [SLOT, bytes(31)]]]}, "input string too short for common.Hash, "
         "decoding into (types.DynamicFeeTx).AccessList[0].StorageKeys[1]"),
    ],
)  # fmt: skip
def test_a_malformed_field_is_named_in_the_message(changes, message):
    with raises(TransactionReason.MALFORMED, kind=InvalidTransaction) as caught:
        decode_unsigned(resign(signed(), **changes))
    assert str(caught.value) == "rlp: " + message


def test_an_authorization_list_is_as_strict():
    transaction = decode_transaction(bytes(by_eth_account(4).raw_transaction), CHAIN_ID)
    with raises(TransactionReason.MALFORMED, kind=InvalidTransaction) as caught:
        decode_unsigned(resign(transaction, _9=[[b"", RECIPIENT, b"", b"\x01\x00", b"", b""]]))
    assert str(caught.value) == (
        "rlp: input string too long for uint8, decoding into (types.SetCodeTx).AuthList[0].V"
    )


def test_code_cannot_be_set_by_a_creation():
    transaction = decode_transaction(bytes(by_eth_account(4).raw_transaction), CHAIN_ID)
    with raises(
        TransactionReason.MALFORMED, kind=InvalidTransaction, match=r"too short for common\.Address"
    ):
        decode_unsigned(resign(transaction, _5=b""))


@pytest.mark.parametrize(
    "changes",
    [
        {"_9": b"\x02"},
        {"_9": b"\x1b"},
        {"_10": b""},
        {"_11": b""},
        {"_10": ORDER.to_bytes(32, "big")},
        {"_11": (ORDER // 2 + 1).to_bytes(32, "big")},
    ],
)
def test_signature_values_outside_their_ranges_are_refused(changes):
    with raises(TransactionReason.SIGNATURE_VALUES, kind=InvalidTransaction) as caught:
        decode_transaction(resign(signed(), **changes), CHAIN_ID)
    assert str(caught.value) == "invalid sender: invalid transaction v, r, s values"


def test_high_s_signature_is_refused():
    transaction = signed()
    s, v = (ORDER - transaction.s).to_bytes(32, "big"), b"" if transaction.v else b"\x01"
    with raises(TransactionReason.SIGNATURE_VALUES, kind=InvalidTransaction):
        decode_transaction(resign(transaction, _9=v, _11=s), CHAIN_ID)


def test_unrecoverable_signature_is_refused():
    with raises(TransactionReason.SENDER_NOT_RECOVERABLE, kind=InvalidTransaction) as caught:
        decode_transaction(resign(signed(), _10=b"\x05", _11=b"\x01"), CHAIN_ID)
    assert str(caught.value) == "invalid sender: recovery failed"


@pytest.mark.parametrize(
    ("v", "reason", "message"),
    [
        (0, TransactionReason.SIGNATURE_VALUES, "invalid sender: invalid transaction v, r, s values"),
        (1, TransactionReason.SIGNATURE_VALUES, "invalid sender: invalid transaction v, r, s values"),
        (35, TransactionReason.WRONG_CHAIN_ID, "invalid sender: invalid chain id for signer: have 0 want 43112"),
        (37, TransactionReason.WRONG_CHAIN_ID, "invalid sender: invalid chain id for signer: have 1 want 43112"),
        (29, TransactionReason.WRONG_CHAIN_ID,
         "invalid sender: invalid chain id for signer: have 9223372036854775805 want 43112"),
        (2**64 + 35, TransactionReason.WRONG_CHAIN_ID,
         "invalid sender: invalid chain id for signer: have 9223372036854775808 want 43112"),
    ],
)  # fmt: skip
def test_legacy_v_is_interpreted_like_geth(v, reason, message):
    encoded = v.to_bytes((v.bit_length() + 7) // 8, "big")
    with raises(reason, kind=InvalidTransaction) as caught:
        decode_transaction(resign(legacy(), _6=encoded), CHAIN_ID)
    assert str(caught.value) == message


def test_a_known_sender_needs_no_recovery():
    transaction = signed()
    decoded = decode_unsigned(transaction.raw)
    assert with_sender(decoded, SENDER) == transaction
    assert recover_sender(decoded) == SENDER


def test_lists_within_lists_do_not_grow_the_stack():
    bomb = b""
    for _ in range(20_000):
        bomb = library.codec.length_prefix(len(bomb), 0xC0) + bomb
    with raises(TransactionReason.MALFORMED, kind=InvalidTransaction):
        decode_unsigned(b"\x02" + bomb)
    within = library.codec.length_prefix(len(bomb) + 8, 0xC0) + 8 * b"\x80" + bomb
    with raises(TransactionReason.MALFORMED, kind=InvalidTransaction):
        decode_unsigned(b"\x02" + within)


numbers = st.integers(min_value=0, max_value=2**256 - 1)
counters = st.integers(min_value=0, max_value=2**64 - 1)
addresses = st.binary(min_size=20, max_size=20)
access_lists = st.lists(
    st.tuples(addresses, st.lists(st.binary(min_size=32, max_size=32), max_size=2).map(tuple)),
    max_size=2,
).map(tuple)


@st.composite
def changes(draw):
    type_ = draw(st.sampled_from([0, 1, 2, 4]))
    price = draw(numbers)
    return {
        "type": type_,
        "nonce": draw(counters),
        "gas": draw(counters),
        "to": draw(addresses if type_ == 4 else st.none() | addresses),
        "value": draw(numbers),
        "data": draw(st.binary(max_size=60)),
        "max_fee_per_gas": price,
        "max_priority_fee_per_gas": draw(numbers) if type_ > 1 else price,
        "access_list": draw(access_lists) if type_ else (),
    }


@given(changes())
@settings(deadline=None)
def test_signed_transaction_round_trips(changes):
    transaction = signed(**changes)
    assert transaction.sender == SENDER
    assert transaction.chain_id == CHAIN_ID
    assert transaction.hash == keccak256(transaction.raw)
    assert {name: getattr(transaction, name) for name in changes} == changes


seeds = [signed().raw, legacy().raw, *(bytes(by_eth_account(t).raw_transaction) for t in (1, 4))]


@st.composite
def damaged(draw):
    """Return a valid envelope with some bytes replaced, removed or added."""
    raw = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(min_value=1, max_value=3))):
        raw[draw(st.integers(min_value=0, max_value=len(raw) - 1))] = draw(
            st.integers(min_value=0, max_value=255)
        )
    end = draw(st.integers(min_value=0, max_value=len(raw)) | st.just(len(raw)))
    return bytes(raw[:end]) + draw(st.just(b"") | st.binary(max_size=3))


def read_or_refuse(raw):
    try:
        return decode_transaction(raw, CHAIN_ID)
    except InvalidTransaction as error:
        return error


@given(st.binary(max_size=200) | damaged())
@settings(max_examples=cases(150), deadline=None)
def test_any_bytes_are_a_canonical_transaction_or_refused_by_a_class_of_this_package(raw):
    outcome = read_or_refuse(raw)
    if isinstance(outcome, Transaction):
        payload = raw if raw[0] > 0x7F else raw[1:]
        assert library.encode(library.decode(payload)) == payload
    else:
        assert outcome.reason in TransactionReason
