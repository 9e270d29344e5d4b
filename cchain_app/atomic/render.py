"""The JSON form of atomic transactions, with the reference's names (atomic.md 4)."""

from typing import Any, Final

from cchain_app.atomic.transactions import AtomicTx, UnsignedExportTx, UnsignedImportTx
from primitives.ids import EMPTY_ID
from utxo.components import (
    SignatureCredential,
    TransferableInput,
    TransferableOutput,
    TransferInput,
    TransferOutput,
)

Json = dict[str, Any]

_NO_FX: Final = str(EMPTY_ID)
"""The ID of the feature extension, which this chain does not set."""


def render_tx(tx: AtomicTx) -> Json:
    """Return a signed transaction as JSON, with its ID."""
    return {
        "unsignedTx": render_unsigned(tx.unsigned),
        "credentials": [
            {"signatures": ["0x" + signature.hex() for signature in credential.signatures]}
            for credential in tx.credentials
            if isinstance(credential, SignatureCredential)
        ],
        "id": str(tx.tx_id),
    }


def render_unsigned(unsigned: UnsignedImportTx | UnsignedExportTx) -> Json:
    """Return the unsigned part of a transaction as JSON, with numbers as JSON numbers."""
    place = {"networkID": unsigned.network_id, "blockchainID": str(unsigned.blockchain_id)}
    if isinstance(unsigned, UnsignedImportTx):
        return {
            **place,
            "sourceChain": str(unsigned.source_chain),
            "importedInputs": [_input(spent) for spent in unsigned.imported_inputs],
            "outputs": [
                {
                    "address": "0x" + made.address.hex(),
                    "amount": made.amount,
                    "assetID": str(made.asset_id),
                }
                for made in unsigned.outputs
            ],
        }
    return {
        **place,
        "destinationChain": str(unsigned.destination_chain),
        "inputs": [
            {
                "address": "0x" + spent.address.hex(),
                "amount": spent.amount,
                "assetID": str(spent.asset_id),
                "nonce": spent.nonce,
            }
            for spent in unsigned.inputs
        ],
        "exportedOutputs": [_output(made) for made in unsigned.exported_outputs],
    }


def _input(transferable: TransferableInput) -> Json:
    spent = transferable.input
    assert isinstance(spent, TransferInput)
    return {
        "txID": str(transferable.tx_id),
        "outputIndex": transferable.output_index,
        "assetID": str(transferable.asset_id),
        "fxID": _NO_FX,
        "input": {"amount": spent.amount, "signatureIndices": list(spent.signature_indices)},
    }


def _output(transferable: TransferableOutput) -> Json:
    made = transferable.output
    assert isinstance(made, TransferOutput)
    return {
        "assetID": str(transferable.asset_id),
        "fxID": _NO_FX,
        "output": {
            "addresses": [str(address) for address in made.owners.addresses],
            "amount": made.amount,
            "locktime": made.owners.locktime,
            "threshold": made.owners.threshold,
        },
    }
