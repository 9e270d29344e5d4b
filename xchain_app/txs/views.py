"""The JSON form of transactions, as avm.getTx shows them with encoding `json` (xchain.md 6)."""

from typing import Any

from utxo.components import SignatureCredential
from utxo.rendering import Addresses, Json, Render, Renderer, render_owners
from xchain_app.txs import extensions
from xchain_app.txs.base import AssetOperation, AssetState, AvmTx
from xchain_app.txs.extensions import EXTENSION_IDS, extension_id


def render_tx(tx: AvmTx, addresses: Addresses) -> Json:
    """Return a signed transaction as JSON, with its ID."""
    return {
        "unsignedTx": render(tx.unsigned, addresses),
        "credentials": render(tx.credentials, addresses),
        "id": str(tx.tx_id),
    }


def _owned(output: Any, addresses: Addresses, _render: Render) -> Json:
    return render_owners(output.owners, addresses)


def _mint_right(output: extensions.NftMintOutput, addresses: Addresses, _render: Render) -> Json:
    return render_owners(output.owners, addresses) | {"groupID": output.group_id}


def _collectible(
    output: extensions.NftTransferOutput, addresses: Addresses, _render: Render
) -> Json:
    shown = {"groupID": output.group_id, "payload": f"0x{output.payload.hex()}"}
    return render_owners(output.owners, addresses) | shown


def _state(state: AssetState, addresses: Addresses, render_part: Render) -> Json:
    return {
        "fxIndex": state.fx_index,
        "fxID": str(EXTENSION_IDS[state.fx_index]),
        "outputs": render_part(state.outputs, addresses),
    }


def _operation(operation: AssetOperation, addresses: Addresses, render_part: Render) -> Json:
    return {
        "assetID": str(operation.asset_id),
        "inputIDs": render_part(operation.input_ids, addresses),
        "fxID": str(extension_id(operation.operation)),
        "operation": render_part(operation.operation, addresses),
    }


def _credential(credential: SignatureCredential, addresses: Addresses, render_part: Render) -> Json:
    signatures = {"signatures": render_part(credential.signatures, addresses)}
    return {"fxID": str(extension_id(credential)), "credential": signatures}


render = Renderer(
    {
        AssetState: _state,
        AssetOperation: _operation,
        SignatureCredential: _credential,
        extensions.NftCredential: _credential,
        extensions.PropertyCredential: _credential,
        extensions.MintOutput: _owned,
        extensions.PropertyMintOutput: _owned,
        extensions.OwnedOutput: _owned,
        extensions.NftMintOutput: _mint_right,
        extensions.NftTransferOutput: _collectible,
    }
).render
"""Returns a part of a transaction as JSON."""
