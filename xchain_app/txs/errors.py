"""Reasons that need no state for rejecting a transaction, with the reference's messages (xchain.md 7).

The reasons that other chains share are in `utxo.errors`, those that depend on state in `executor.errors`; all
are raised as `utxo.errors.InvalidTx`. Bytes that are not a transaction raise a
`primitives.codec_errors.CodecError`.
"""

from enum import StrEnum


class AvmSyntaxReason(StrEnum):
    """Reasons that need no state."""

    NAME_TOO_SHORT = "name is too short, minimum size is 1"
    NAME_TOO_LONG = "name is too long, maximum size is 128"
    SYMBOL_TOO_SHORT = "symbol is too short, minimum size is 1"
    SYMBOL_TOO_LONG = "symbol is too long, maximum size is 4"
    NO_STATES = "assets must support at least one Fx"
    DENOMINATION_TOO_LARGE = "denomination is too large"
    SURROUNDING_SPACE = "unexpected whitespace provided"
    ILLEGAL_NAME = "asset's name must be made up of only letters and numbers"
    ILLEGAL_SYMBOL = "asset's symbol must be all upper case letters"
    UNKNOWN_EXTENSION = "unknown feature extension"
    STATES_NOT_SORTED = "initial states not sorted and unique"

    NO_OPERATIONS = "an operationTx must have at least one operation"
    REFERENCES_NOT_SORTED = "utxo IDs not sorted and unique"
    DOUBLE_SPEND = "inputs attempt to double spend an input"
    OPERATIONS_NOT_SORTED = "operations not sorted and unique"
    PAYLOAD_TOO_LARGE = "payload too large"

    NO_IMPORTED_INPUTS = "no import inputs"
    NO_EXPORTED_OUTPUTS = "no export outputs"

    WRONG_NETWORK_ID = "tx has wrong network ID"
    WRONG_CHAIN_ID = "tx has wrong chain ID"
    MEMO_TOO_LONG = "memo exceeds maximum length: {size} > {limit}"
    WRONG_NUMBER_OF_CREDENTIALS = "wrong number of credentials: {credentials} != {needed}"
