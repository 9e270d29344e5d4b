"""Verification of inputs: the UTXO, the asset's extension, and the signatures (xchain.md 8)."""

from typing import NamedTuple

from primitives.ids import ID
from utxo.components import (
    UTXO,
    Credential,
    SignatureCredential,
    TransferableInput,
    TransferInput,
    TransferOutput,
)
from utxo.errors import CredentialReason, InvalidTx, RefusedCredential
from utxo.spending import SignerRecovery, verify_signer_count, verify_transfer
from xchain_app.executor.errors import AvmStateReason
from xchain_app.state.chain import AvmState
from xchain_app.txs.base import CreateAssetTx
from xchain_app.txs.extensions import COINS, extension_of


class SigningContext(NamedTuple):
    """The arguments of signature checks besides state."""

    signers: SignerRecovery
    """Recovers the signers of the transaction."""
    now: int
    """The time in Unix seconds that locktimes are compared with."""
    bootstrapped: bool
    """Whether signers are recovered; without it only their number and the locktimes are checked."""


def verify_input(
    context: SigningContext,
    state: AvmState,
    spent: TransferableInput,
    credential: Credential,
    utxo: UTXO,
) -> None:
    """Check that an input may transfer a UTXO.

    Raises:
        InvalidTx: The assets differ, the asset does not have the credential's extension, only operations can move
            outputs of that extension, or amount or signatures are wrong; see its reason.
    """
    if utxo.asset_id != spent.asset_id:
        raise InvalidTx(AvmStateReason.ASSET_MISMATCH)
    extension = extension_of(credential)
    verify_usage(state, extension, utxo.asset_id)
    if extension != COINS:
        raise InvalidTx(AvmStateReason.CANNOT_TRANSFER)
    if not isinstance(utxo.output, TransferOutput):
        raise InvalidTx(AvmStateReason.WRONG_UTXO_TYPE)
    assert isinstance(spent.input, TransferInput)
    if context.bootstrapped:
        verify_transfer(context.signers, spent.input, credential, utxo.output, context.now)
    else:
        _verify_count(spent.input, credential, utxo.output, context.now)


def _verify_count(
    spent: TransferInput, credential: Credential, output: TransferOutput, now: int
) -> None:
    assert isinstance(credential, SignatureCredential)
    if output.amount != spent.amount:
        raise RefusedCredential(
            CredentialReason.AMOUNT_MISMATCH, of_utxo=output.amount, of_input=spent.amount
        )
    verify_signer_count(spent.signature_indices, credential.signatures, output.owners, now)


def verify_usage(state: AvmState, extension: int, asset_id: ID) -> None:
    """Check that an asset exists and has an extension.

    Raises:
        InvalidTx: There is no such transaction; it creates no asset; the asset does not have the extension.
    """
    tx = state.tx(asset_id)
    if tx is None:
        raise InvalidTx(AvmStateReason.NOT_FOUND)
    if not isinstance(tx.unsigned, CreateAssetTx):
        raise InvalidTx(AvmStateReason.NOT_AN_ASSET)
    if all(initial.fx_index != extension for initial in tx.unsigned.initial_states):
        raise InvalidTx(AvmStateReason.INCOMPATIBLE_EXTENSION)
