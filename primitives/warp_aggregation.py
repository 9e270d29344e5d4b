"""Aggregation of the signatures of a warp message to a signed message (etna.md 7.4)."""

from collections.abc import Mapping

from primitives import bls
from primitives.warp import (
    QUORUM_NUMERATOR,
    CanonicalSet,
    UnsignedMessage,
    WarpError,
    WarpReason,
    build_signed,
)

PERCENT = 100


def aggregate(
    message: UnsignedMessage,
    validators: CanonicalSet,
    signatures: Mapping[bytes, bytes],
    *,
    percentage: int = QUORUM_NUMERATOR,
) -> bytes:
    """Return the bytes of the signed message; invalid signatures are omitted.

    Args:
        message: The message.
        validators: The validators of the source chain's subnet.
        signatures: The signatures by BLS key of the signer.
        percentage: The least share of the weight that must have signed.

    Raises:
        WarpError: The signers have too little weight.
    """
    bits, weight, valid = 0, 0, []
    for place, validator in enumerate(validators.validators):
        signature = signatures.get(validator.public_key)
        if signature is None or not bls.verify(validator.public_key, message.raw, signature):
            continue
        bits |= 1 << place
        weight += validator.weight
        valid.append(signature)
    if not valid or percentage * validators.total_weight > PERCENT * weight:
        raise WarpError(
            WarpReason.INSUFFICIENT_WEIGHT,
            numerator=percentage,
            total=validators.total_weight,
            denominator=PERCENT,
            signed=weight,
        )
    return build_signed(message, bits, bls.aggregate_signatures(valid))
