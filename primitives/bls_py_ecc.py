"""BLS with py_ecc in pure Python: a check takes a large part of a second. Called through `bls` only."""

from collections.abc import Sequence

from eth_typing import BLSPubkey, BLSSignature

from primitives.recursion import recursion_limit_restored

with recursion_limit_restored():
    from py_ecc.bls.ciphersuites import G2ProofOfPossession


def public_key(secret: bytes) -> bytes:
    """Return the public key of a secret key."""
    return G2ProofOfPossession.SkToPk(int.from_bytes(secret, "big"))


def sign(secret: bytes, message: bytes, tag: bytes) -> bytes:
    """Return the signature."""
    return _of(tag).Sign(int.from_bytes(secret, "big"), message)


def is_signature(signature: bytes) -> bool:
    """Return whether bytes encode a signature: any point in the subgroup, including the identity."""
    from py_ecc.bls.g2_primitives import signature_to_G2, subgroup_check

    try:
        return subgroup_check(signature_to_G2(BLSSignature(signature)))
    except ValueError:
        return False


def verify(public_key: bytes, message: bytes, signature: bytes, tag: bytes) -> bool:
    """Return whether the signature is valid for key and message; False for an invalid key."""
    return _of(tag).Verify(BLSPubkey(public_key), message, BLSSignature(signature))


def aggregate_public_keys(keys: Sequence[bytes]) -> bytes | None:
    """Return the sum of keys, or None if a key is invalid."""
    from py_ecc.bls.g2_primitives import G1_to_pubkey, pubkey_to_G1
    from py_ecc.optimized_bls12_381.optimized_curve import Z1, add

    total = Z1
    for key in keys:
        if not G2ProofOfPossession.KeyValidate(BLSPubkey(key)):
            return None
        total = add(total, pubkey_to_G1(BLSPubkey(key)))
    return G1_to_pubkey(total)


def aggregate_signatures(signatures: Sequence[bytes]) -> bytes | None:
    """Return the sum of signatures, or None if a signature is invalid."""
    from py_ecc.bls.g2_primitives import G2_to_signature, signature_to_G2
    from py_ecc.optimized_bls12_381.optimized_curve import Z2, add

    total = Z2
    for signature in signatures:
        if not is_signature(signature):
            return None
        total = add(total, signature_to_G2(BLSSignature(signature)))
    return G2_to_signature(total)


def _of(tag: bytes) -> type[G2ProofOfPossession]:
    """Return the scheme whose signatures have this tag."""
    return type("Scheme", (G2ProofOfPossession,), {"DST": tag})
