"""Cases that each break one rule of a transaction's syntax: the changed fields and the reason."""

from enum import StrEnum
from typing import Any, NamedTuple

from platform_app.txs.base import ProofOfPossession, Tx, UnsignedTx
from platform_app.txs.syntax import verify_syntax
from tests.builders.platform import ASSET_ID, CONFIG, proof_of_possession, unsigned
from tests.builders.reasons import raises
from utxo.components import OutputOwners, TransferableOutput, TransferOutput
from utxo.errors import InvalidTx

FORGED = ProofOfPossession(
    proof_of_possession(1).public_key, proof_of_possession(2).proof_of_possession
)
"""A public key with the proof of another key."""


class Refusal(NamedTuple):
    """A transaction type, the changed fields, the reason and its message."""

    cls: type[UnsignedTx]
    changes: dict[str, Any]
    reason: StrEnum
    words: str

    @property
    def name(self) -> str:
        """The name of the test case."""
        return f"{self.reason.name}-{self.cls.__name__}-{'-'.join(self.changes)}"

    def verify(self) -> None:
        """Check that the transaction is rejected for this reason and with this message."""
        with raises(self.reason, kind=InvalidTx) as refused:
            verify_unsigned(unsigned(self.cls, **self.changes))
        assert str(refused.value) == self.words


def verify_unsigned(tx: UnsignedTx) -> None:
    """Verify the syntax of an unsigned transaction."""
    verify_syntax(Tx(tx, (), b"", 0), CONFIG, ASSET_ID)


def owner(threshold: int, *addresses: Any) -> OutputOwners:
    """Return owners in the given order."""
    return OutputOwners(0, threshold, addresses)


def owned(*of_owner: Any) -> TransferableOutput:
    """Return an output of such owners."""
    return TransferableOutput(ASSET_ID, TransferOutput(1, owner(*of_owner)))
