"""Signatures of validators are aggregated to a signed message that the verification accepts."""

from primitives import bls
from primitives.ids import ID
from primitives.warp import (
    UnsignedMessage,
    WarpError,
    WarpReason,
    canonical_set,
    parse_signed,
    verify_message,
)
from primitives.warp_aggregation import aggregate
from tests.builders.reasons import raises

NETWORK = 12345
MESSAGE = UnsignedMessage(NETWORK, ID(b"c" * 32), b"payload")
SECRETS = [number.to_bytes(32, "big") for number in range(1, 5)]
KEYS = [bls.public_key(secret) for secret in SECRETS]
SIGNATURES = {key: bls.sign(secret, MESSAGE.raw) for key, secret in zip(KEYS, SECRETS, strict=True)}
SET = canonical_set([*((key, 25) for key in KEYS[:3]), (KEYS[3], 15), (None, 10)])
"""Three validators of weight 25, one of weight 15, and one without a key."""


def only(*places: int) -> dict[bytes, bytes]:
    return {KEYS[place]: SIGNATURES[KEYS[place]] for place in places}


def test_the_signers_form_a_quorum() -> None:
    for signatures, count in ((only(0, 1, 2), 3), (SIGNATURES, 4)):
        signed = parse_signed(aggregate(MESSAGE, SET, signatures))

        verify_message(signed, NETWORK, SET)
        assert signed.signer_count == count


def test_too_little_weight_is_refused() -> None:
    with raises(WarpReason.INSUFFICIENT_WEIGHT, kind=WarpError, match=r"67\*100 > 100\*65"):
        aggregate(MESSAGE, SET, only(0, 1, 3))
    with raises(WarpReason.INSUFFICIENT_WEIGHT, kind=WarpError, match=r"0\*100 > 100\*0"):
        aggregate(MESSAGE, SET, {}, percentage=0)


def test_share_of_the_weight_is_configurable() -> None:
    signed = parse_signed(aggregate(MESSAGE, SET, only(0, 3), percentage=40))

    verify_message(signed, NETWORK, SET, numerator=40)


def test_invalid_signatures_are_omitted() -> None:
    wrong = {KEYS[3]: SIGNATURES[KEYS[0]], b"x" * 48: SIGNATURES[KEYS[1]]}

    signed = parse_signed(aggregate(MESSAGE, SET, {**only(0, 1, 2), **wrong}))

    assert signed.signer_count == 3
    verify_message(signed, NETWORK, SET)
