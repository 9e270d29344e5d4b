"""Checks of a spend: signers against owners (pchain.md 1.6, 5.2), and consumed against produced amounts.

Fees count as produced. The remainder is burned.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from primitives.ids import ID, ShortID
from primitives.secp256k1 import SignatureError, recover_address
from primitives.uint64 import MAX
from utxo.components import (
    Credential,
    OutputOwners,
    SignatureCredential,
    TransferInput,
    TransferOutput,
)
from utxo.errors import CredentialReason, InvalidTx, RefusedCredential, UtxoReason

_MAX_CACHED = 16_384
"""Maximum number of signatures whose signers a process caches, because each is needed at admission and in the block."""

_recover = lru_cache(maxsize=_MAX_CACHED)(recover_address)


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
    """Check the number of signatures against the threshold, the locktime, and each signer.

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


class AssetFlow:
    """The amounts of each asset that a transaction consumes and produces."""

    def __init__(self, produced: Mapping[ID, int] | None = None) -> None:
        """Start with produced amounts that are not outputs, such as the fee."""
        self.consumed: dict[ID, int] = defaultdict(int)
        self.produced: dict[ID, int] = defaultdict(int, produced or {})

    def consume(self, asset_id: ID, amount: int) -> None:
        """Add the amount of an input."""
        self.consumed[asset_id] += amount

    def produce(self, asset_id: ID, amount: int) -> None:
        """Add the amount of an output."""
        self.produced[asset_id] += amount

    def verify(self) -> None:
        """Check that enough of each asset is consumed.

        Raises:
            InvalidTx: A sum does not fit into 64 bits; more of an asset is produced than
                consumed.
        """
        self.verify_sums()
        for asset_id, missing in self.shortages():
            raise InvalidTx(UtxoReason.INSUFFICIENT_INPUTS, missing=missing, asset_id=asset_id)

    def verify_sums(self) -> None:
        """Check that all sums fit into 64 bits. Raises `InvalidTx` if one does not."""
        verify_sums(self.consumed.values())
        verify_sums(self.produced.values())

    def shortages(self) -> Iterator[tuple[ID, int]]:
        """Yield each asset of which too little is consumed, and the missing amount."""
        for asset_id, needed in self.produced.items():
            consumed = self.consumed.get(asset_id, 0)
            if needed > consumed:
                yield asset_id, needed - consumed


def verify_sums(sums: Iterable[int]) -> None:
    """Check that sums of amounts fit into 64 bits.

    Raises:
        InvalidTx: One of them does not.
    """
    if any(total > MAX for total in sums):
        raise InvalidTx(UtxoReason.SUM_OVERFLOW)
