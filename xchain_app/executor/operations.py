"""The rules of operations: the UTXO that each consumes, the outputs that it may create, and its signers (xchain.md 5).

The checks of each extension are in the reference's order, in which coins differ from the others.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from utxo.components import Credential, OutputOwners, SignatureCredential, UtxoContent
from utxo.errors import InvalidTx
from utxo.spending import verify_credential
from xchain_app.executor.errors import AvmStateReason
from xchain_app.executor.spending import SigningContext
from xchain_app.txs import extensions
from xchain_app.txs.extensions import FxOperation, owners_of


def verify_operation(
    context: SigningContext,
    operation: FxOperation,
    credential: Credential,
    contents: Sequence[UtxoContent],
) -> None:
    """Check an operation on the contents of the UTXOs that it names.

    Raises:
        InvalidTx: The number or type of the UTXOs, the type of the credential, the created outputs, or the
            signatures are wrong; see its reason.
    """
    if isinstance(operation, extensions.MintOperation):
        content = _verify_coins(operation, credential, contents)
    else:
        content = _verify_other(operation, credential, contents)
    indices = signing_indices(operation)
    verify_credential(context.signers, indices, credential, owners_of(content), context.now)


def signing_indices(operation: FxOperation) -> tuple[int, ...]:
    """Return the indices of the owners that have signed an operation."""
    if isinstance(operation, extensions.BurnOperation):
        return operation.signature_indices
    if isinstance(operation, extensions.NftTransferOperation):
        return operation.input.signature_indices
    assert isinstance(
        operation,
        extensions.MintOperation | extensions.NftMintOperation | extensions.PropertyMintOperation,
    )
    return operation.mint_input.signature_indices


def created_by(operation: FxOperation) -> tuple[UtxoContent, ...]:
    """Return the outputs that an operation creates, in the order of their indices."""
    match operation:
        case extensions.MintOperation():
            return operation.mint_output, operation.transfer_output
        case extensions.NftMintOperation():
            return tuple(
                extensions.NftTransferOutput(operation.group_id, operation.payload, owners)
                for owners in operation.outputs
            )
        case extensions.NftTransferOperation():
            return (operation.output,)
        case extensions.PropertyMintOperation():
            return operation.mint_output, operation.owned_output
    return ()


def _verify_coins(
    operation: extensions.MintOperation, credential: Credential, contents: Sequence[UtxoContent]
) -> UtxoContent:
    if type(credential) is not SignatureCredential:
        raise InvalidTx(AvmStateReason.WRONG_CREDENTIAL_TYPE)
    if len(contents) != 1:
        raise InvalidTx(AvmStateReason.WRONG_NUMBER_OF_COIN_UTXOS)
    (right,) = contents
    if not isinstance(right, extensions.MintOutput):
        raise InvalidTx(AvmStateReason.WRONG_UTXO_TYPE)
    _verify_same(right.owners, operation.mint_output.owners, AvmStateReason.WRONG_MINT_OUTPUT)
    return right


class _OperationRule(NamedTuple):
    credential: type[Credential]
    content: type[UtxoContent]
    verify: Callable[[Any, Any], None]


def _verify_other(
    operation: FxOperation, credential: Credential, contents: Sequence[UtxoContent]
) -> UtxoContent:
    rule = _RULES[type(operation)]
    if len(contents) != 1:
        raise InvalidTx(AvmStateReason.WRONG_NUMBER_OF_UTXOS)
    if type(credential) is not rule.credential:
        raise InvalidTx(AvmStateReason.WRONG_CREDENTIAL_TYPE)
    (content,) = contents
    if not isinstance(content, rule.content):
        raise InvalidTx(AvmStateReason.WRONG_UTXO_TYPE)
    rule.verify(operation, content)
    return content


def _verify_nft_mint(
    operation: extensions.NftMintOperation, right: extensions.NftMintOutput
) -> None:
    if operation.group_id != right.group_id:
        raise InvalidTx(AvmStateReason.WRONG_GROUP)


def _verify_nft_transfer(
    operation: extensions.NftTransferOperation, piece: extensions.NftTransferOutput
) -> None:
    if operation.output.group_id != piece.group_id:
        raise InvalidTx(AvmStateReason.WRONG_GROUP)
    if operation.output.payload != piece.payload:
        raise InvalidTx(AvmStateReason.WRONG_PAYLOAD)


def _verify_property_mint(
    operation: extensions.PropertyMintOperation, right: extensions.PropertyMintOutput
) -> None:
    _verify_same(
        right.owners, operation.mint_output.owners, AvmStateReason.WRONG_PROPERTY_MINT_OUTPUT
    )


def _verify_burn(_operation: extensions.BurnOperation, _piece: extensions.OwnedOutput) -> None:
    """Accept: burning creates nothing."""


def _verify_same(before: OutputOwners, after: OutputOwners, reason: AvmStateReason) -> None:
    if before != after:
        raise InvalidTx(reason)


_RULES: dict[type, _OperationRule] = {
    extensions.NftMintOperation: _OperationRule(
        extensions.NftCredential, extensions.NftMintOutput, _verify_nft_mint
    ),
    extensions.NftTransferOperation: _OperationRule(
        extensions.NftCredential, extensions.NftTransferOutput, _verify_nft_transfer
    ),
    extensions.PropertyMintOperation: _OperationRule(
        extensions.PropertyCredential, extensions.PropertyMintOutput, _verify_property_mint
    ),
    extensions.BurnOperation: _OperationRule(
        extensions.PropertyCredential, extensions.OwnedOutput, _verify_burn
    ),
}
