"""An asset of the X-Chain that the reference's wallet brought to the P-Chain and back: the recorded requests and answers.

The exchanges with the X-Chain in the same file are in `tests/integration/xchain_app/test_flows.py`.
"""

import json
from typing import Any, Final

from chainvm.shared_memory import AtomicRequests
from jsonrpc.dispatch.dispatcher import Dispatcher
from nodeproject.apps import this_node
from platform_app import models
from platform_app.apps import platform_chain
from platform_app.selectors import accepted
from platform_app.store import rows
from platform_app.txs.base import Tx
from platform_app.txs.codec import parse
from platform_app.txs.subnets import ExportTx, ImportTx
from primitives import checksummed
from primitives.ids import P_CHAIN_ID, utxo_id
from shared_app.store import SharedRows
from tests.conformance.xchain_vectors import document
from tests.integration.platform_app.conftest import PChain
from utxo.components import UTXO, OutputOwners, TransferableInput, TransferOutput
from utxo.spending import SignerRecovery

PATH: Final = "/ext/P"


def _spent(tx: Tx) -> list[tuple[TransferableInput, UTXO]]:
    """Return the inputs of a transaction, and the outputs that they spend: each signer owns one."""
    signers = SignerRecovery(tx.digest)
    imported = tx.unsigned.imported_inputs if isinstance(tx.unsigned, ImportTx) else ()
    spent = (*tx.unsigned.inputs, *imported)
    found = []
    for one, credential in zip(spent, tx.credentials, strict=True):
        (signature,) = credential.signatures
        output = TransferOutput(one.input.amount, OutputOwners(0, 1, (signers.of(signature),)))
        found.append((one, UTXO(one.tx_id, one.output_index, one.asset_id, output)))
    return found


def _write(utxo: UTXO) -> None:
    """Write an unspent output of the P-Chain, unless it is one of the genesis."""
    if models.UTXO.objects.filter(pk=utxo.utxo_id).exists():
        return
    output = utxo.output
    assert isinstance(output, TransferOutput)
    models.UTXO.objects.create(
        utxo_id=utxo.utxo_id, tx_id=utxo.tx_id, output_index=utxo.output_index,
        asset_id=utxo.asset_id, amount=output.amount, locktime=0, threshold=1, height=0,
        output=rows.output_bytes(output), stakeable_locktime=0,
    )  # fmt: skip
    (owner,) = output.owners.addresses
    models.UTXOOwner.objects.create(address=owner, utxo_id=utxo.utxo_id)


def _answer(dispatcher: Dispatcher, case: dict[str, Any]) -> Any:
    raw = dispatcher.answer(json.dumps(case["request"]).encode())
    assert raw is not None
    return json.loads(raw)


def test_an_asset_of_the_x_chain_comes_and_goes(reference_pchain: PChain) -> None:
    """It begins with the coins that the transactions spend and that the wallet had made before."""
    recorded = [case for case in document("flow_go_wallet_assets")["cases"] if case["path"] == PATH]
    issued = [
        parse(checksummed.decode(case["request"]["params"]["tx"]))
        for case in recorded
        if case["method"] == "platform.issueTx"
    ]
    chain, here = platform_chain(), {tx.tx_id for tx in issued}
    for tx in issued:
        for one, utxo in _spent(tx):
            if isinstance(tx.unsigned, ImportTx) and one in tx.unsigned.imported_inputs:
                source = tx.unsigned.source_chain
                SharedRows(chain.db).apply(source, [AtomicRequests(P_CHAIN_ID, put=(utxo,))], 1)
            elif one.tx_id not in here:
                _write(utxo)
    assert [type(tx.unsigned) for tx in issued] == [ImportTx, ExportTx]
    x_chain_id = chain.network().x_chain_id
    assert issued[0].unsigned.source_chain == issued[1].unsigned.destination_chain == x_chain_id

    dispatcher = this_node().endpoints.platform.dispatcher
    for case in recorded:
        if "Committed" in str(case["response"]):
            reference_pchain.wait(1)
        assert _answer(dispatcher, case) == case["response"], case["id"]

    assert all(accepted.tx(chain, tx.tx_id) is not None for tx in issued)
    (exported,) = issued[1].unsigned.exported_outputs
    back = utxo_id(issued[1].tx_id, len(issued[1].unsigned.outputs))
    shared = SharedRows(chain.db).get(x_chain_id, P_CHAIN_ID, [back])
    assert shared[back].output.amount == exported.output.amount == 20
    assert shared[back].asset_id == exported.asset_id != chain.network().asset_id
