"""Reasons for rejecting a transaction that do not depend on the chain, with the reference's messages.

Each chain adds its own under the same base class. Bytes that are not a transaction raise a
`primitives.codec_errors.CodecError`.

InvalidTx
├── InvalidSyntax                       needs no state (pchain.md 2.3)
│   ├── SumOverflow
│   └── InvalidComponent
│       ├── UnspendableOutput · UnoptimizedOutput · AddressesNotSorted
│       ├── OutputWithoutValue · InputWithoutValue · IndicesNotSorted
│       └── EmptyAssetId · OutputsNotSorted · InputsNotSorted
├── InsufficientInputs                  the flow check
└── RefusedCredential                   the signatures of one input or authorization (pchain.md 5.2)
    ├── AmountMismatch · TimeLocked · TooManySigners · TooFewSigners · SignersDifferFromSignatures
    └── NonexistentAddress · UnrecoverableSignature · WrongSigner
"""

from typing import ClassVar

from primitives.ids import ID, ShortID


class InvalidTx(Exception):
    """A transaction that cannot be accepted. `words` is the default message of a class."""

    words: ClassVar[str] = "invalid transaction"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(self.words if message is None else message)


class InvalidSyntax(InvalidTx):
    """A transaction that is malformed regardless of the state."""


class SumOverflow(InvalidSyntax):
    """Amounts whose sum does not fit into 64 bits."""

    words = "overflow"


class InvalidComponent(InvalidSyntax):
    """An input, output or owner that is not well formed."""


class UnspendableOutput(InvalidComponent):
    """A threshold above the number of owners."""

    words = "output is unspendable"


class UnoptimizedOutput(InvalidComponent):
    """Owners with a threshold of zero."""

    words = "output representation should be optimized"


class AddressesNotSorted(InvalidComponent):
    """Owners that are out of order or duplicated."""

    words = "addresses not sorted and unique"


class OutputWithoutValue(InvalidComponent):
    """An output with amount zero."""

    words = "output has no value"


class InputWithoutValue(InvalidComponent):
    """An input with amount zero."""

    words = "input has no value"


class IndicesNotSorted(InvalidComponent):
    """Signature indices that are out of order or duplicated."""

    words = "address indices not sorted and unique"


class EmptyAssetId(InvalidComponent):
    """A missing asset ID."""

    words = "empty asset ID is not valid"


class OutputsNotSorted(InvalidComponent):
    """Outputs out of order."""

    words = "outputs not sorted"


class InputsNotSorted(InvalidComponent):
    """Inputs that are out of order or duplicated."""

    words = "inputs not sorted and unique"


class InsufficientInputs(InvalidTx):
    """More of an asset produced, the fee included, than consumed."""

    def __init__(self, missing: int, asset_id: ID) -> None:
        super().__init__("insufficient funds")
        self.missing = missing
        self.asset_id = asset_id


class RefusedCredential(InvalidTx):
    """Invalid signatures of an input or an authorization."""


class AmountMismatch(RefusedCredential):
    """An input whose amount differs from its output's."""

    def __init__(self, of_utxo: int, of_input: int) -> None:
        super().__init__(f"utxo amount and input amount are not equal: {of_utxo} != {of_input}")
        self.of_utxo = of_utxo
        self.of_input = of_input


class TimeLocked(RefusedCredential):
    """Owners that cannot sign before a locktime."""

    words = "output is time locked"


class TooManySigners(RefusedCredential):
    """More signers than the threshold."""

    words = "input has more signers than expected"


class TooFewSigners(RefusedCredential):
    """Fewer signers than the threshold."""

    words = "input has less signers than expected"


class SignersDifferFromSignatures(RefusedCredential):
    """A number of signatures that differs from the number of named signers."""

    words = "input expected a different number of signers than provided in the credential"


class NonexistentAddress(RefusedCredential):
    """A signer index beyond the list of owners."""

    words = "input referenced a nonexistent address in the output"


class UnrecoverableSignature(RefusedCredential):
    """A signature that no key made; the message has the reason."""


class WrongSigner(RefusedCredential):
    """A signature by an address other than the owner's."""

    def __init__(self, expected: ShortID, got: ShortID) -> None:
        super().__init__(f"wrong signature: expected signature from {expected} but got from {got}")
        self.expected = expected
        self.got = got
