"""Every block of the database computed anew by the reference engine, from its raw transactions."""

from cchain_app import models, runtime
from cchain_app.api import wire
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.receipt import encode_receipt
from cchain_app.store.chain import load_block
from tests.builders.cchain import MemoryState
from tests.builders.recompute import ordered_root, recompute_block, recompute_genesis


def assert_recomputes() -> None:
    """Compare hash, roots and bloom of all blocks with what the specification's code makes."""
    state = MemoryState()
    state.apply(runtime.genesis().state_changes())
    numbers = models.Block.objects.order_by("number").values_list("number", flat=True)
    for number in numbers:
        block = load_block(number)
        shown = shown_header(block)
        fork = runtime.config().fork_at(number, block.header.timestamp)
        if number == 0:
            made = recompute_genesis(shown, state, fork=fork)
        else:
            raws = [transaction.raw for transaction in block.transactions]
            made = recompute_block(
                shown, raws, state, fork=fork, chain_id=runtime.config().chain_id
            )
        expected = made.as_json()
        assert {name: shown[name] for name in expected} == expected, f"block {number}"
        assert made.gas_used == block.header.gas_used
        # The stored receipts are the ones that the root commits to.
        envelopes = [encode_receipt(receipt) for receipt in block.receipts]
        assert bytes(ordered_root(envelopes)) == block.header.receipts_root
        state.hashes[number] = block.hash


def shown_header(block: AcceptedBlock) -> dict[str, str]:
    """Return a block's header in the form of eth_getBlockByNumber."""
    return dict(wire.header(block))
