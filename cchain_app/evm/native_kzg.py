"""The KZG functions of the native engine's crate, which run without the interpreter lock.

Importing this module raises ImportError if the crate was not built.
"""

from collections.abc import Sequence

import cchain_native

from cchain_app.evm.kzg import MalformedBlob
from cchain_app.txs.blobs import Sidecar


class NativeKzg:
    """The crate's functions as a `Kzg`; the crate contains the trusted setup."""

    def verify(self, sidecar: Sidecar) -> bool:
        """Return whether all blobs of a sidecar match their proofs."""
        check = (
            cchain_native.kzg_verify_cells if sidecar.version else cchain_native.kzg_verify_blobs
        )
        return check(sidecar.blobs, sidecar.commitments, sidecar.proofs)

    def commitment(self, blob: bytes) -> bytes:
        """Return the commitment to a blob.

        Raises:
            MalformedBlob: It is no blob.
        """
        try:
            return cchain_native.kzg_commitment(blob)
        except ValueError as error:
            raise MalformedBlob(str(error)) from error

    def proofs(self, blob: bytes, commitment: bytes, version: int) -> Sequence[bytes]:
        """Return the proofs of a blob in a sidecar of this version. Raises as `commitment`."""
        try:
            if version:
                return cchain_native.kzg_cell_proofs(blob)
            return [cchain_native.kzg_blob_proof(blob, commitment)]
        except ValueError as error:
            raise MalformedBlob(str(error)) from error
