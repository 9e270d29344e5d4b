"""Blob transactions: their fields, and the form in which they are sent with their blobs."""

import pytest
import rlp as theirs

from cchain_app.txs.blobs import (
    BYTES_PER_BLOB,
    MOST_BLOBS,
    SentTransaction,
    join,
    separate,
    versioned_hash,
)
from cchain_app.txs.codec import decode_unsigned, recover_sender, with_sender
from cchain_app.txs.transaction import InvalidTransaction, TransactionReason
from primitives import rlp
from primitives.hashing import keccak256
from tests.builders.blobs import INFINITY, ZERO_BLOB, blob_transaction, sent_blobs, zero_sidecar
from tests.builders.reasons import raises
from tests.builders.spec_history import BLOB_HASH, CHAIN_ID, history
from tests.builders.transactions import SENDER

LIMIT = 128 * 1024


@pytest.fixture(scope="module")
def raw() -> bytes:
    """The first blob transaction of the history, which the specification made."""
    return next(raw for raw in history().transactions if raw[0] == 3)


def test_blob_transaction_is_parsed_with_all_fields(raw: bytes) -> None:
    ours = decode_unsigned(raw)

    assert (ours.type, ours.raw, ours.hash) == (3, raw, keccak256(raw))
    assert recover_sender(ours) == SENDER
    assert (ours.chain_id, ours.gas, ours.to, ours.value) == (CHAIN_ID, 21_000, b"\x33" * 20, 1)
    assert (ours.max_fee_per_gas, ours.max_priority_fee_per_gas) == (20 * 10**9, 1)
    assert (ours.max_fee_per_blob_gas, ours.blob_hashes) == (10**9, (BLOB_HASH,) * 4)


def test_blob_fees_count_as_cost(raw: bytes) -> None:
    transaction = with_sender(decode_unsigned(raw), SENDER)

    assert transaction.blob_gas == 4 * 2**17
    assert transaction.cost == 21_000 * 20 * 10**9 + 4 * 2**17 * 10**9 + 1


def test_truncated_transaction_is_malformed(raw: bytes) -> None:
    with raises(TransactionReason.MALFORMED, kind=InvalidTransaction):
        decode_unsigned(raw[:-1])


@pytest.mark.parametrize("version", [0, 1])
def test_the_sidecar_is_separated_and_joined_again(version: int) -> None:
    sent = sent_blobs(2, version=version)

    found = separate(sent.raw, LIMIT)

    assert found == (sent.transaction.raw, zero_sidecar(2, version))
    assert join(found) == sent.raw


@pytest.mark.parametrize("raw", [b"\3", b"\3" + rlp.encode_bytes(b"ab"), b"\3\xc1\x01"])
def test_malformed_transaction_is_passed_to_the_codec(raw: bytes) -> None:
    assert separate(raw, LIMIT) == (raw, None)
    with pytest.raises(InvalidTransaction):
        decode_unsigned(raw)


def test_envelope_without_sidecar_is_unchanged(raw: bytes) -> None:
    assert separate(raw, LIMIT) == SentTransaction(raw, None)
    assert join(SentTransaction(raw, None)) == raw


def test_the_forms_are_those_of_the_proposals() -> None:
    envelope = blob_transaction()
    fields = theirs.decode(envelope.raw[1:])
    first = theirs.encode([fields, [ZERO_BLOB], [INFINITY], [INFINITY]])
    since_osaka = theirs.encode([fields, 1, [ZERO_BLOB], [INFINITY], [INFINITY] * 128])

    assert sent_blobs(version=0).raw == b"\3" + first
    assert sent_blobs(version=1).raw == b"\3" + since_osaka


def parts(**changes: object) -> bytes:
    """Return a transaction that is sent with changed parts of its sidecar."""
    version, blobs, commitments, proofs = zero_sidecar()
    given = {
        "version": version, "blobs": blobs, "commitments": commitments, "proofs": proofs, **changes,
    }  # fmt: skip
    fields = [blob_transaction().raw[1:]]
    for value in given.values():
        if isinstance(value, int):
            fields.append(rlp.encode_uint(value))
        elif isinstance(value, bytes):
            fields.append(rlp.encode_bytes(value))
        elif isinstance(value, tuple):
            fields.append(rlp.encode_list(map(rlp.encode_bytes, value)))
    return b"\3" + rlp.encode_list(fields)


@pytest.mark.parametrize(
    ("raw", "reason", "message"),
    [
        (b"\3\xc0", TransactionReason.MALFORMED, "rlp: element is larger"),
        (parts(version=2), TransactionReason.SIDECAR_VERSION, "invalid sidecar version 2"),
        (parts(version=0), TransactionReason.SIDECAR_VERSION, "invalid sidecar version 0"),
        (parts(blobs=None, proofs=None), TransactionReason.MALFORMED, "rlp: too few elements"),
        (parts(more=()), TransactionReason.MALFORMED, "rlp: input list has too many elements"),
        (parts(blobs=b""), TransactionReason.MALFORMED, "rlp: expected input list"),
        (parts(blobs=(ZERO_BLOB[1:],)), TransactionReason.MALFORMED, "rlp: input string too short"),
        (parts(blobs=(ZERO_BLOB + b"\0",)), TransactionReason.MALFORMED, "input string too long"),
        (parts(commitments=(INFINITY[1:],)), TransactionReason.MALFORMED, "string too short"),
        (parts(proofs=(INFINITY + b"\0",)), TransactionReason.MALFORMED, "string too long"),
        (
            parts(proofs=(INFINITY,) * (MOST_BLOBS * 128 + 1)),
            TransactionReason.MALFORMED,
            "rlp: input list has too many elements",
        ),
    ],
)
def test_a_malformed_sidecar_is_refused(
    raw: bytes, reason: TransactionReason, message: str
) -> None:
    with raises(reason, match=message, kind=InvalidTransaction):
        separate(raw, LIMIT)


def test_more_bytes_than_any_transaction_has_are_not_decoded() -> None:
    bomb = b"\3" + rlp.list_prefix(1 << 24) + bytes(1 << 24)
    with raises(
        TransactionReason.MALFORMED, match="input string too long", kind=InvalidTransaction
    ):
        separate(bomb, LIMIT)
    most = MOST_BLOBS * (BYTES_PER_BLOB + 48 + 128 * 49 + 16)
    with raises(
        TransactionReason.MALFORMED, match="input string too long", kind=InvalidTransaction
    ):
        separate(b"\3" * (LIMIT + most + 1), LIMIT)


def test_the_versioned_hash_is_the_specifications() -> None:
    # EIP-4844: 0x01 and the last 31 bytes of the commitment's SHA-256.
    assert versioned_hash(INFINITY).hex() == (
        "010657f37554c781402a22917dee2f75def7ab966d7b770905398eba3c444014"
    )
