"""Every block of a chain computed anew by the reference engine, from its raw transactions."""

from cchain_app import models
from cchain_app.api import wire
from cchain_app.blocks.receipt import encode_receipt
from cchain_app.chain import EvmChain
from cchain_app.store.chain import load_block
from tests.builders.recompute import RecomputedChain, header_as_shown


def assert_recomputes(chain: EvmChain) -> None:
    """Compare headers, hashes and receipts of all blocks with what the specification's code makes.

    The headers are those that clients are shown.
    """
    again = RecomputedChain(chain.config, chain.genesis.state_changes())
    numbers = chain.db.objects(models.Block).order_by("number").values_list("number", flat=True)
    for number in numbers:
        block = load_block(chain.db, number)
        fork = again.fork_of(number, block.header.timestamp)
        shown = header_as_shown(wire.header(block), fork)
        made = again.follow(shown, [transaction.raw for transaction in block.transactions])
        assert shown == made.header, f"block {number}"
        assert block.hash == made.hash, f"block {number}"
        assert [encode_receipt(receipt) for receipt in block.receipts] == list(made.receipts)
