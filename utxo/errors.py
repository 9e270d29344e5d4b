"""Reasons for rejecting a transaction that do not depend on the chain, with the reference's messages.

Each chain adds its own reasons; all are raised as `InvalidTx`. Bytes that are not a transaction raise a
`primitives.codec_errors.CodecError`.
"""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class UtxoReason(StrEnum):
    """Malformed inputs, outputs and owners (pchain.md 2.3), and amounts that do not match."""

    SUM_OVERFLOW = "overflow"
    UNSPENDABLE_OUTPUT = "output is unspendable"  # a threshold above the number of owners
    UNOPTIMIZED_OUTPUT = "output representation should be optimized"  # a threshold of zero
    ADDRESSES_NOT_SORTED = "addresses not sorted and unique"
    OUTPUT_WITHOUT_VALUE = "output has no value"
    INPUT_WITHOUT_VALUE = "input has no value"
    INDICES_NOT_SORTED = "address indices not sorted and unique"
    EMPTY_ASSET_ID = "empty asset ID is not valid"
    OUTPUTS_NOT_SORTED = "outputs not sorted"
    INPUTS_NOT_SORTED = "inputs not sorted and unique"
    INSUFFICIENT_INPUTS = "insufficient funds"  # values: missing, asset_id


class CredentialReason(StrEnum):
    """Invalid signatures of one input or authorization (pchain.md 5.2)."""

    AMOUNT_MISMATCH = "utxo amount and input amount are not equal: {of_utxo} != {of_input}"
    TIME_LOCKED = "output is time locked"
    TOO_MANY_SIGNERS = "input has more signers than expected"
    TOO_FEW_SIGNERS = "input has less signers than expected"
    SIGNERS_DIFFER_FROM_SIGNATURES = (
        "input expected a different number of signers than provided in the credential"
    )
    NONEXISTENT_ADDRESS = "input referenced a nonexistent address in the output"
    UNRECOVERABLE_SIGNATURE = "{cause}"
    WRONG_SIGNER = "wrong signature: expected signature from {expected} but got from {got}"


class InvalidTx(ErrorWithReason):
    """A transaction that cannot be accepted."""


class RefusedCredential(InvalidTx):
    """Invalid signatures of an input or an authorization."""
