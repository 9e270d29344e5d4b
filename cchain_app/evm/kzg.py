"""KZG commitments and proofs of blobs (EIP-4844, EIP-7594): verified for each sidecar, computed where a client sends none.

`native_kzg` uses the native engine's crate, which contains Ethereum's trusted setup. `CkzgLibrary` is for the reference
engine; it reads the same setup from the file that eth-account ships. Either loads the setup once per process, when it
first needs it, which takes seconds of a processor.
"""

from collections.abc import Sequence
from functools import cached_property
from importlib.resources import as_file, files
from typing import Any, Final, Protocol

from cchain_app.txs.blobs import CELLS_PER_EXT_BLOB, Sidecar

_SETUP_PACKAGE: Final = "eth_account.typed_transactions.blob_transactions"
_SETUP_FILE: Final = "kzg_trusted_setup.txt"


class MalformedBlob(Exception):
    """Bytes that are not a blob: they have another length, or a field element in them is too large."""


class Kzg(Protocol):
    """A library of KZG functions. They take milliseconds to seconds: for threads."""

    def verify(self, sidecar: Sidecar) -> bool:
        """Return whether all blobs of a sidecar match their proofs. The sidecar has as many of each as it needs."""

    def commitment(self, blob: bytes) -> bytes:
        """Return the commitment to a blob.

        Raises:
            MalformedBlob: It is no blob.
        """

    def proofs(self, blob: bytes, commitment: bytes, version: int) -> Sequence[bytes]:
        """Return the proofs of a blob in a sidecar of this version. Raises as `commitment`."""


def make_sidecar(kzg: Kzg, blobs: Sequence[bytes], version: int) -> Sidecar:
    """Return the sidecar of blobs, with commitments and proofs.

    Raises:
        MalformedBlob: One of them is no blob.
    """
    commitments = [kzg.commitment(blob) for blob in blobs]
    proofs = [
        proof
        for blob, commitment in zip(blobs, commitments, strict=True)
        for proof in kzg.proofs(blob, commitment, version)
    ]
    return Sidecar(version, tuple(blobs), tuple(commitments), tuple(proofs))


class CkzgLibrary:
    """The ckzg package as a `Kzg`. Loading the setup holds the interpreter lock; all other work releases it."""

    @cached_property
    def _setup(self) -> Any:
        import ckzg

        with as_file(files(_SETUP_PACKAGE) / _SETUP_FILE) as path:
            return ckzg.load_trusted_setup(str(path), 0)

    def verify(self, sidecar: Sidecar) -> bool:
        """Return whether all blobs of a sidecar match their proofs."""
        import ckzg

        _, blobs, commitments, proofs = sidecar
        try:
            if not sidecar.version:
                return bool(
                    ckzg.verify_blob_kzg_proof_batch(
                        b"".join(blobs), b"".join(commitments), b"".join(proofs), self._setup
                    )
                )
            cells = [cell for blob in blobs for cell in ckzg.compute_cells(blob, self._setup)]
            each = [commitment for commitment in commitments for _ in range(CELLS_PER_EXT_BLOB)]
            places = [*range(CELLS_PER_EXT_BLOB)] * len(blobs)
            return bool(
                ckzg.verify_cell_kzg_proof_batch(each, places, cells, list(proofs), self._setup)
            )
        except RuntimeError:
            return False  # a field element or a point is malformed

    def commitment(self, blob: bytes) -> bytes:
        """Return the commitment to a blob.

        Raises:
            MalformedBlob: It is no blob.
        """
        import ckzg

        try:
            return bytes(ckzg.blob_to_kzg_commitment(blob, self._setup))
        except (RuntimeError, ValueError) as error:
            raise MalformedBlob(str(error)) from error

    def proofs(self, blob: bytes, commitment: bytes, version: int) -> Sequence[bytes]:
        """Return the proofs of a blob in a sidecar of this version. Raises as `commitment`."""
        import ckzg

        try:
            if version:
                return [*map(bytes, ckzg.compute_cells_and_kzg_proofs(blob, self._setup)[1])]
            return [bytes(ckzg.compute_blob_kzg_proof(blob, commitment, self._setup))]
        except (RuntimeError, ValueError) as error:
            raise MalformedBlob(str(error)) from error
