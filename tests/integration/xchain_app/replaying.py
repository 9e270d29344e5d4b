"""Replays the recorded chain of the vectors on a chain of this process."""

from typing import Any

from chainvm.port import BlockContext
from chainvm.shared_memory import AtomicRequests
from primitives.ids import ID
from shared_app.store import SharedRows
from tests.builders.xchain import X_CHAIN_ID
from tests.conformance.xchain_vectors import document, raw_bytes
from utxo.components import UTXO, TransferInput, TransferOutput
from xchain_app.chain import AvmChain
from xchain_app.services.runtime import AvmRuntime
from xchain_app.txs.base import AvmImportTx
from xchain_app.txs.codec import parse

BLOCKS: list[dict[str, Any]] = document("network_blocks")["cases"]
NOW = 1_796_000_000
"""Unix seconds: after all blocks."""


def nothing(_: ID) -> None:
    """Write nothing besides an accepted block."""


def put_imports(chain: AvmChain, case: dict[str, Any]) -> None:
    """Export to the chain what the transactions of a block import, to the owner of their first output."""
    for raw in case["transactions"]:
        tx = parse(raw_bytes(raw)).unsigned
        if not isinstance(tx, AvmImportTx):
            continue
        first = tx.outputs[0].output
        assert isinstance(first, TransferOutput)
        for spent in tx.imported_inputs:
            assert isinstance(spent.input, TransferInput)
            output = TransferOutput(spent.input.amount, first.owners)
            utxo = UTXO(spent.tx_id, spent.output_index, spent.asset_id, output)
            put_shared(chain, tx.source_chain, utxo)


def put_shared(chain: AvmChain, source: ID, utxo: UTXO) -> None:
    """Export an output to the chain."""
    with chain.db.atomic():
        request = AtomicRequests(X_CHAIN_ID, put=(utxo,))
        SharedRows(chain.db).apply(source, [request], 1)


def replayed(chain: AvmChain) -> AvmRuntime:
    """Accept all blocks as a node that votes, one by one."""
    runtime = AvmRuntime(chain)
    for case in BLOCKS[1:]:
        put_imports(chain, case)
        block = runtime.vm.parse(raw_bytes(case["block"]))
        runtime.vm.verify(block, BlockContext(NOW))
        runtime.vm.accept([block.block_id], written=nothing)
    return runtime
