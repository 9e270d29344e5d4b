"""The X-Chain of a running network, accepted block by block: the same blocks, outputs, and shared memory."""

import pytest

from chainvm.port import BlockContext
from shared_app.models import SharedOutput
from tests.builders.xchain import x_chain
from tests.conformance.xchain_vectors import raw_bytes
from tests.integration.xchain_app.replaying import BLOCKS, NOW, nothing, put_imports, replayed
from xchain_app.blocks.block import parse_block
from xchain_app.models import XAddressTx, XBlock, XOutput, XOwner, XTransaction
from xchain_app.services import mempool
from xchain_app.services.runtime import AvmRuntime
from xchain_app.txs.codec import parse

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_recorded_chain_is_accepted_block_by_block() -> None:
    chain = x_chain()

    runtime = replayed(chain)

    assert str(runtime.vm.last_accepted()) == BLOCKS[-1]["blockID"]
    assert XBlock.objects.count() == len(BLOCKS)
    assert XTransaction.objects.count() == 1 + sum(len(case["transactions"]) for case in BLOCKS)
    assert [str(row.block_id) for row in XBlock.objects.order_by("height")] == [
        case["blockID"] for case in BLOCKS
    ]
    unspent = XOutput.objects.filter(spent_by=None)
    assert {row.utxo_id for row in XOwner.objects.all()} == {
        row.utxo_id for row in unspent if row.threshold
    }
    exported = {
        case["json"]["height"] for case in BLOCKS if "destinationChain" in str(case["json"])
    }
    assert set(SharedOutput.objects.values_list("height", flat=True)) == exported
    assert XAddressTx.objects.exists()


def test_recorded_chain_is_accepted_in_one_batch() -> None:
    chain = x_chain()
    runtime = AvmRuntime(chain)
    line = [parse_block(raw_bytes(case["block"])) for case in BLOCKS[1:]]

    context = BlockContext(NOW, decided=True)
    runtime.vm.verify_all(line, [context] * len(line))
    runtime.vm.accept([block.block_id for block in line], written=nothing)

    assert str(runtime.vm.last_accepted()) == BLOCKS[-1]["blockID"]


def test_recorded_transactions_are_valid_in_order_and_form_blocks() -> None:
    chain = x_chain()
    runtime = AvmRuntime(chain)
    for case in BLOCKS[1:]:
        put_imports(chain, case)
        txs = [parse(raw_bytes(raw)) for raw in case["transactions"]]
        assert mempool.issue(chain, txs, now=NOW) == [tx.tx_id for tx in txs]

        block = runtime.consensus.produce(now=case["json"]["time"])

        assert block is not None
        assert str(block.block_id) == case["blockID"]
    assert runtime.consensus.produce(now=NOW) is None
    assert str(chain.tip().block_id) == BLOCKS[-1]["blockID"]
