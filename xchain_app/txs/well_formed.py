"""Checks that outputs and operations of the extensions are well formed (xchain.md 5)."""

from collections.abc import Callable
from typing import Any, Final

from utxo.components import TransferOutput, UtxoContent
from utxo.errors import InvalidTx
from utxo.well_formed import verify_indices, verify_owner, verify_transfer_output
from xchain_app.txs import extensions
from xchain_app.txs.errors import AvmSyntaxReason
from xchain_app.txs.extensions import FxOperation

MAX_PAYLOAD_SIZE: Final = 1024


def verify_content(content: UtxoContent) -> None:
    """Check an output of any extension.

    Raises:
        InvalidTx: Its amount is zero, its payload is too large, or its owners are malformed.
    """
    _CONTENTS[type(content)](content)


def verify_operation(operation: FxOperation) -> None:
    """Check an operation of any extension.

    Raises:
        InvalidTx: Its indices are out of order, or an output that it creates is malformed.
    """
    _OPERATIONS[type(operation)](operation)


def _verify_owned(output: Any) -> None:
    verify_owner(output.owners)


def _verify_collectible(output: extensions.NftTransferOutput) -> None:
    _verify_payload(output.payload)
    verify_owner(output.owners)


def _verify_payload(payload: bytes) -> None:
    if len(payload) > MAX_PAYLOAD_SIZE:
        raise InvalidTx(AvmSyntaxReason.PAYLOAD_TOO_LARGE)


def _verify_mint(operation: extensions.MintOperation) -> None:
    verify_indices(operation.mint_input.signature_indices)
    verify_owner(operation.mint_output.owners)
    verify_transfer_output(operation.transfer_output)


def _verify_nft_mint(operation: extensions.NftMintOperation) -> None:
    _verify_payload(operation.payload)
    for owners in operation.outputs:
        verify_owner(owners)
    verify_indices(operation.mint_input.signature_indices)


def _verify_nft_transfer(operation: extensions.NftTransferOperation) -> None:
    verify_indices(operation.input.signature_indices)
    _verify_collectible(operation.output)


def _verify_property_mint(operation: extensions.PropertyMintOperation) -> None:
    verify_indices(operation.mint_input.signature_indices)
    verify_owner(operation.mint_output.owners)
    verify_owner(operation.owned_output.owners)


def _verify_burn(operation: extensions.BurnOperation) -> None:
    verify_indices(operation.signature_indices)


_CONTENTS: dict[type, Callable[[Any], None]] = {
    TransferOutput: verify_transfer_output,
    extensions.MintOutput: _verify_owned,
    extensions.NftMintOutput: _verify_owned,
    extensions.NftTransferOutput: _verify_collectible,
    extensions.PropertyMintOutput: _verify_owned,
    extensions.OwnedOutput: _verify_owned,
}
_OPERATIONS: dict[type, Callable[[Any], None]] = {
    extensions.MintOperation: _verify_mint,
    extensions.NftMintOperation: _verify_nft_mint,
    extensions.NftTransferOperation: _verify_nft_transfer,
    extensions.PropertyMintOperation: _verify_property_mint,
    extensions.BurnOperation: _verify_burn,
}
