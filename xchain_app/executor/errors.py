"""Reasons that depend on state for rejecting a transaction, with the reference's messages (xchain.md 5, 8).

All are raised as `utxo.errors.InvalidTx`; a reason that contains that of a nested check has its error as `cause`.
"""

from collections.abc import Iterator
from enum import StrEnum

from utxo.errors import InvalidTx


class AvmStateReason(StrEnum):
    """Why a transaction cannot be executed on a state."""

    TRANSFER_NOT_VERIFIED = "failed to verify transfer: {cause}"
    USAGE_NOT_VERIFIED = "failed to verify fx usage: {cause}"
    UTXO_MISSING = "failed to get utxo {utxo_id}: not found"
    ASSET_MISMATCH = "asset IDs in the input don't match the utxo"
    NOT_FOUND = "not found"  # an operation's UTXO, an output in shared memory, or the transaction of an asset
    NOT_AN_ASSET = "not an asset"
    INCOMPATIBLE_EXTENSION = "incompatible feature extension"
    CANNOT_TRANSFER = "cant transfer with this fx"

    WRONG_UTXO_TYPE = "wrong utxo type"
    WRONG_CREDENTIAL_TYPE = "wrong credential type"
    # The extensions spell the same reason differently.
    WRONG_NUMBER_OF_COIN_UTXOS = "wrong number of utxos for the operation"
    WRONG_NUMBER_OF_UTXOS = "wrong number of UTXOs for the operation"
    WRONG_MINT_OUTPUT = "wrong mint output created from the operation"
    WRONG_PROPERTY_MINT_OUTPUT = "wrong mint output provided"
    WRONG_GROUP = "wrong unique ID provided"
    WRONG_PAYLOAD = "wrong bytes provided"

    SAME_CHAIN = "same chainID"
    UNKNOWN_PEER = (
        'failed to get subnet of "{chain_id}": problem retrieving blockchain "{chain_id}": '
        "not found"
    )
    PEER_OF_OTHER_SUBNET = 'mismatched subnetIDs; expected "{expected}" got "{got}"'


def causes_of(reason: BaseException) -> Iterator[BaseException]:
    """Yield an error and what caused it."""
    cause: BaseException | None = reason
    while cause is not None:
        yield cause
        cause = cause.__cause__


class MissingAvmUtxo(InvalidTx):
    """An output that does not exist or is spent."""


class MissingSharedUtxo(InvalidTx):
    """An output that the other chain has not exported yet, as far as this node knows, or that is imported."""
