"""The JSON form of transactions, as platform.getTx shows them with encoding `json` (pchain.md 3.1).

`utxo.rendering` has the parts that all chains share; the exceptions are listed at the end.
"""

from base64 import b64encode

from platform_app.txs.base import Tx
from platform_app.txs.l1 import PChainOwner, RegisterL1ValidatorTx
from platform_app.txs.subnets import CreateChainTx
from utxo.rendering import Addresses, Json, Render, Renderer


def render_tx(tx: Tx, addresses: Addresses) -> Json:
    """Return a signed transaction as JSON, with its ID."""
    return {
        "unsignedTx": render(tx.unsigned, addresses),
        "credentials": render(tx.credentials, addresses),
        "id": str(tx.tx_id),
    }


def _p_chain_owner(owner: PChainOwner, _addresses: Addresses, _render: Render) -> Json:
    """Return the owner as in L1 data: addresses without chain and network."""
    return {
        "threshold": owner.threshold,
        "addresses": [str(address) for address in owner.addresses],
    }


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


render = Renderer(
    {PChainOwner: _p_chain_owner},
    {
        (CreateChainTx, "genesis_data"): _base64,
        (RegisterL1ValidatorTx, "proof_of_possession"): list,
    },
).render
"""Returns a part of a transaction as JSON."""
