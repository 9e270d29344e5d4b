"""Invalid Warp messages."""

import pytest

from platform_app.txs import warp
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.warp import L1ValidatorWeight
from primitives.warp import AddressedCall, HashPayload
from tests.builders.platform import some_id, warp_message
from tests.builders.reasons import raises
from utxo.errors import InvalidTx

MESSAGE = warp_message()
SIGNERS_AT = MESSAGE.rindex(b"\x01" + bytes(96))


def with_signers(signers: bytes) -> bytes:
    length = len(signers).to_bytes(4, "big")
    return MESSAGE[: SIGNERS_AT - 4] + length + signers + MESSAGE[SIGNERS_AT + 1 :]


@pytest.mark.parametrize(
    ("signers", "count"), [(b"", 0), (b"\x01", 1), (b"\xff", 8), (b"\x80\0", 1), (b"\x01\x03", 3)]
)
def test_signers_are_the_bits_that_are_set(signers: bytes, count: int) -> None:
    assert warp.parse_signed_message(with_signers(signers)).signer_count == count


def test_a_leading_zero_byte_of_signers_is_refused() -> None:
    with raises(
        TxSyntaxReason.INVALID_WARP_MESSAGE,
        kind=InvalidTx,
        match=r"^bitset is invalid$",
    ):
        warp.parse_signed_message(with_signers(b"\0\x01"))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "couldn't unpack codec version"),
        (b"message", "unknown codec version"),
        (MESSAGE[:-1], "packer has insufficient length for input"),
        (MESSAGE + b"\0", "trailing buffer space"),
    ],
)
def test_malformed_warp_message_is_refused(raw: bytes, reason: str) -> None:
    with raises(
        TxSyntaxReason.INVALID_WARP_MESSAGE,
        kind=InvalidTx,
        match=f"^.*{reason}",
    ):
        warp.parse_signed_message(raw)


def test_payloads_are_hashes_or_calls() -> None:
    digest = some_id("hash")

    assert warp.parse_payload(bytes(6) + digest) == HashPayload(digest)
    call = bytes.fromhex("000000000001 00000002 abcd 00000001 ef")
    assert warp.parse_payload(call) == AddressedCall(b"\xab\xcd", b"\xef")
    with raises(TxSyntaxReason.INVALID_WARP_MESSAGE, kind=InvalidTx, match="unknown type ID 2"):
        warp.parse_payload(bytes.fromhex("000000000002"))


def test_payloads_of_more_than_24_kibibytes_are_refused() -> None:
    with raises(
        TxSyntaxReason.INVALID_WARP_MESSAGE,
        kind=InvalidTx,
        match="byte array exceeds maximum length: 24577 > 24576",
    ):
        warp.parse_payload(bytes(24 * 1024 + 1))


def test_weights_are_written_and_read() -> None:
    message = L1ValidatorWeight(some_id("validation"), 7, 9)

    raw = warp.build_l1_message(message)

    assert raw.hex() == "000000000003" + some_id("validation").hex() + f"{7:016x}{9:016x}"
    assert warp.parse_l1_message(raw) == message
    with raises(TxSyntaxReason.INVALID_WARP_MESSAGE, kind=InvalidTx, match="insufficient length"):
        warp.parse_l1_message(raw[:-1])
