"""What wallets sent to a node of the reference and got from it: the same requests, in their order, on one chain."""

import json
from typing import Any
from unittest.mock import patch

import pytest

from chaindb import clock
from jsonrpc.dispatch.dialects import GORILLA
from jsonrpc.dispatch.dispatcher import Dispatcher
from primitives import checksummed
from primitives.ids import ID
from tests.builders.xchain import write_utxo, x_chain
from tests.conformance.xchain_vectors import document, raw_bytes
from tests.integration.xchain_app.replaying import BLOCKS, NOW, put_imports, put_shared, replayed
from utxo.components import UTXO, OutputOwners, TransferOutput
from utxo.spending import SignerRecovery
from xchain_app import api
from xchain_app.api import AvmRpc
from xchain_app.chain import AvmChain
from xchain_app.models import XOutput, XOwner, XTransaction
from xchain_app.services.runtime import AvmRuntime
from xchain_app.txs.base import CreateAssetTx
from xchain_app.txs.codec import CODEC, parse

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/ext/bc/X"
UNORDERED = ("balances", "utxoIDs", "utxos")
OUR_OWN = {
    # Our network creates an asset for another fee.
    "avm.getTxFee",
    # Lists of the genesis block are empty here, not null (the only block of which JSON was asked).
    "avm.getBlockByHeight",
    # These methods exist here.
    "avm.listAddresses",
    "avm.createAddress",
}
"""Methods whose answers differ on purpose."""


def exchanges(name: str) -> list[dict[str, Any]]:
    """Return the exchanges of a file with the X-Chain."""
    return [case for case in document(name)["cases"] if case["path"] == PATH]


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without its order, and without the end of a page, which is any of the outputs on it."""
    result = answer.get("result")
    if not isinstance(result, dict):
        return answer
    ordered = {
        key: sorted(map(json.dumps, value)) if key in UNORDERED else value
        for key, value in result.items()
        if key != "endIndex"
    }
    return answer | {"result": ordered}


class RecordedWallet:
    """Sends recorded requests to a chain that builds a block as late as the recorded answers allow."""

    def __init__(self, chain: AvmChain, runtime: AvmRuntime) -> None:
        self._runtime = runtime
        self._dispatcher = Dispatcher(api.registry(AvmRpc(chain)), GORILLA)
        self.different: dict[str, tuple[Any, Any]] = {}
        self.compared = 0

    def send(self, case: dict[str, Any]) -> None:
        """Send a request and compare the answer with the recorded one."""
        wanted = case["response"]
        if "Accepted" in str(wanted):
            while self._runtime.consensus.produce(now=clock.now()) is not None:
                pass
        raw = self._dispatcher.answer(json.dumps(case["request"]).encode())
        if case["request"]["method"] in OUR_OWN:
            return
        self.compared += 1
        pair = comparable(wanted), comparable(json.loads(raw or b""))
        if pair[0] != pair[1]:
            self.different[case["id"]] = pair


def test_the_reference_s_wallet_gets_the_same_answers() -> None:
    chain = x_chain()
    wallet = RecordedWallet(chain, AvmRuntime(chain))
    blocks = iter(BLOCKS[1:])

    with patch.object(clock, "now", return_value=BLOCKS[0]["json"]["time"]) as now:
        for case in exchanges("flow_go_wallet"):
            if case["method"] == "avm.issueTx":
                block = next(blocks)
                put_imports(chain, block)
                now.return_value = block["json"]["time"]
            wallet.send(case)

    assert wallet.different == {}
    assert wallet.compared > 60
    assert str(chain.tip().block_id) == BLOCKS[14]["blockID"]


def test_a_new_asset_goes_to_other_chains_and_back() -> None:
    """It begins with an asset and outputs that the wallet made in exchanges that are not among the vectors."""
    chain = x_chain()
    recorded = exchanges("flow_go_wallet_assets")
    issued = [
        parse(checksummed.decode(case["request"]["params"]["tx"]))
        for case in recorded
        if case["method"] == "avm.issueTx"
    ]
    _write_asset(issued[0].unsigned.outputs[0].asset_id)
    here = {tx.tx_id for tx in issued}
    for tx in issued:
        signers = SignerRecovery(tx.digest)
        imported = getattr(tx.unsigned, "imported_inputs", ())
        spent = (*tx.unsigned.inputs, *imported)
        for one, credential in zip(spent, tx.credentials, strict=True):
            (signature,) = credential.signatures
            output = TransferOutput(one.input.amount, OutputOwners(0, 1, (signers.of(signature),)))
            utxo = UTXO(one.tx_id, one.output_index, one.asset_id, output)
            if one in imported:
                put_shared(chain, tx.unsigned.source_chain, utxo)
            elif one.tx_id not in here:
                write_utxo(utxo)
    wallet = RecordedWallet(chain, AvmRuntime(chain))

    with patch.object(clock, "now", return_value=NOW):
        for case in recorded:
            wallet.send(case)

    assert wallet.different == {}
    assert wallet.compared == len(recorded) == 11


def _write_asset(asset_id: ID) -> None:
    """Write an accepted transaction that creates coins of an asset, under the asset's ID."""
    created = next(
        tx for block in BLOCKS for tx in map(raw_bytes, block["transactions"])
        if isinstance(parse(tx).unsigned, CreateAssetTx)
    )  # fmt: skip
    XTransaction.objects.create(
        id=10**6, tx_id=asset_id, height=0, index=10**6, kind=1, burned=0, memo=b"", raw=created
    )


def test_the_oldest_sdk_gets_the_same_answers() -> None:
    """It begins with outputs that a wallet left whose exchanges are not among the vectors."""
    chain = x_chain()
    recorded = exchanges("flow_avalanche3")
    first = next(case for case in recorded if case["method"] == "avm.getUTXOs")
    XOwner.objects.all().delete()
    XOutput.objects.all().delete()
    for text in first["response"]["result"]["utxos"]:
        write_utxo(CODEC.unmarshal(UTXO, checksummed.decode(text)))
    wallet = RecordedWallet(chain, AvmRuntime(chain))

    with patch.object(clock, "now", return_value=NOW):
        for case in recorded:
            wallet.send(case)

    assert wallet.different == {}
    assert wallet.compared > 40


def test_a_recorded_node_is_read_at_its_last_block() -> None:
    chain = x_chain()
    wallet = RecordedWallet(chain, replayed(chain))

    for case in exchanges("network_api"):
        if case["status"] == 200 and isinstance(case["request"], dict):
            wallet.send(case | {"method": case["request"]["method"]})

    assert wallet.different == {}
    assert wallet.compared == 4
