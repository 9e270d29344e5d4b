"""Verification of signers against owners: the spend rule (pchain.md 1.6, 5.2)."""

from collections.abc import Sequence
from functools import lru_cache

from primitives.ids import ShortID
from primitives.secp256k1 import SignatureError, recover_address
from utxo.components import (
    Credential,
    OutputOwners,
    SignatureCredential,
    TransferInput,
    TransferOutput,
)
from utxo.errors import CredentialReason, RefusedCredential

_REMEMBERED = 16_384
"""Signatures whose signer a process caches: each is recovered at admission and again in the block."""

_recover = lru_cache(maxsize=_REMEMBERED)(recover_address)


class SignerRecovery:
    """Recovers the signers of one transaction, each signature only once."""

    __slots__ = ("_digest", "_known")

    def __init__(self, digest: bytes) -> None:
        self._digest = digest
        self._known: dict[bytes, ShortID] = {}

    def of(self, signature: bytes) -> ShortID:
        """Return the address that made a signature.

        Raises:
            RefusedCredential: No key made it, or it is not in canonical form.
        """
        address = self._known.get(signature)
        if address is None:
            try:
                address = _recover(self._digest, signature)
            except SignatureError as error:
                raise RefusedCredential(
                    CredentialReason.UNRECOVERABLE_SIGNATURE, cause=str(error)
                ) from error
            self._known[signature] = address
        return address


def verify_transfer(
    signers: SignerRecovery,
    spent: TransferInput,
    credential: Credential,
    output: TransferOutput,
    now: int,
) -> None:
    """Check that an input names the amount of the output that it spends, and that the owners have signed.

    Raises:
        RefusedCredential: The amounts differ; or as for `verify_credential`.
    """
    if output.amount != spent.amount:
        raise RefusedCredential(
            CredentialReason.AMOUNT_MISMATCH, of_utxo=output.amount, of_input=spent.amount
        )
    verify_credential(signers, spent.signature_indices, credential, output.owners, now)


def verify_credential(
    signers: SignerRecovery,
    indices: Sequence[int],
    credential: Credential,
    owners: OutputOwners,
    now: int,
) -> None:
    """Check that exactly as many owners have signed as the threshold requires, and not before the locktime.

    Raises:
        RefusedCredential: The credential is invalid; the reason says why.
    """
    assert isinstance(credential, SignatureCredential)
    verify_signer_count(indices, credential.signatures, owners, now)
    for index, signature in zip(indices, credential.signatures, strict=True):
        if index >= len(owners.addresses):
            raise RefusedCredential(CredentialReason.NONEXISTENT_ADDRESS)
        signer = signers.of(signature)
        if signer != owners.addresses[index]:
            raise RefusedCredential(
                CredentialReason.WRONG_SIGNER, expected=owners.addresses[index], got=signer
            )


def verify_signer_count(
    indices: Sequence[int], signatures: Sequence[bytes], owners: OutputOwners, now: int
) -> None:
    """Check the locktime and the number of signatures, but not the signers.

    The reference's X-Chain makes only these checks while it bootstraps.

    Raises:
        RefusedCredential: The owners cannot sign yet, or too few or too many have signed.
    """
    if owners.locktime > now:
        raise RefusedCredential(CredentialReason.TIME_LOCKED)
    if len(indices) > owners.threshold:
        raise RefusedCredential(CredentialReason.TOO_MANY_SIGNERS)
    if len(indices) < owners.threshold:
        raise RefusedCredential(CredentialReason.TOO_FEW_SIGNERS)
    if len(indices) != len(signatures):
        raise RefusedCredential(CredentialReason.SIGNERS_DIFFER_FROM_SIGNATURES)
