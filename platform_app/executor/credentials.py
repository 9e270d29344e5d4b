"""Who has signed, and whether that is enough: the spend rule of owners (pchain.md 1.6, 5.2)."""

from collections.abc import Sequence
from functools import lru_cache

from platform_app.executor import errors
from platform_app.txs.components import Credential, OutputOwners, SignatureCredential
from primitives.ids import ShortID
from primitives.secp256k1 import SignatureError, recover_address

_REMEMBERED = 16_384
"""Signatures whose makers a process remembers: each is asked for at admission and in the block."""

_recover = lru_cache(maxsize=_REMEMBERED)(recover_address)


class Signers:
    """Tells who made the signatures of one transaction. The same signature is worked out once."""

    __slots__ = ("_digest", "_known")

    def __init__(self, digest: bytes) -> None:
        self._digest = digest
        self._known: dict[bytes, ShortID] = {}

    def of(self, signature: bytes) -> ShortID:
        """Return the address whose key made a signature.

        Raises:
            InvalidSignature: No key made it, or not in the one form that counts.
        """
        address = self._known.get(signature)
        if address is None:
            try:
                address = _recover(self._digest, signature)
            except SignatureError as error:
                raise errors.InvalidSignature(str(error)) from error
            self._known[signature] = address
        return address


def verify_credential(
    signers: Signers,
    indices: Sequence[int],
    credential: Credential,
    owners: OutputOwners,
    now: int,
) -> None:
    """Check that exactly so many owners as are wanted have signed, and that they may already.

    Raises:
        RefusedCredential: One of the reasons below that class.
    """
    assert isinstance(credential, SignatureCredential)
    if owners.locktime > now:
        raise errors.TimeLocked
    if len(indices) > owners.threshold:
        raise errors.TooManySigners
    if len(indices) < owners.threshold:
        raise errors.TooFewSigners
    if len(indices) != len(credential.signatures):
        raise errors.SignersDifferFromSignatures
    for index, signature in zip(indices, credential.signatures, strict=True):
        if index >= len(owners.addresses):
            raise errors.NonexistentAddress
        signer = signers.of(signature)
        if signer != owners.addresses[index]:
            raise errors.WrongSignature(owners.addresses[index], signer)
