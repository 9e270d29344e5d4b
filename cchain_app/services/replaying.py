"""The first block of a fork that starts with transactions of the forked chain's next block (devnet.md 13).

It has that block's time, fees, gas limit, coinbase and PREVRANDAO, and its transactions up to and including the
requested one.
"""

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.trie import Tries
from cchain_app.forking.errors import ForkReason, ForkRefused
from cchain_app.forking.origin import ForkOrigin
from cchain_app.forking.replay import BlockPart
from cchain_app.processing import EvmProcessingBlocks
from cchain_app.selectors import blocks, state
from cchain_app.selectors.development import effect_of
from cchain_app.services.acceptance import BlockCheats, accept, announce
from cchain_app.store import development as development_rows
from cchain_app.store import evm_state
from chainvm.port import BlockContext
from primitives.hexadecimal import encode_data
from primitives.ids import ID


def replay(chain: EvmChain, fork: ForkOrigin, wanted: BlockPart) -> AcceptedBlock:
    """Execute transactions on the fork block, and accept the new block; the clock continues from its time.

    The state that they need is requested meanwhile, outside the transaction that writes.

    Args:
        chain: The chain; its head is the fork block.
        fork: Its fork.
        wanted: The transactions, and the header of their original block.

    Raises:
        ForkRefused: By this chain's rules one of them cannot be in such a block.
        UpstreamError: The upstream does not return state that they need.
    """
    head = blocks.catch_up(chain)
    named = [
        who for transaction in wanted.transactions for who in (transaction.sender, transaction.to)
    ]
    addresses = dict.fromkeys(
        who for who in (wanted.block.header.coinbase, *named) if who is not None
    )
    state.prefetch_accounts(chain, list(addresses), head.number)
    changes = development_rows.changes_before(chain.db, head.number + 1)
    # Not the chain's other trie, which caches the nodes of the head.
    trie = chain.new_trie(cached=False)
    tree = EvmProcessingBlocks(
        chain.executor(fork.hash),
        Tries(trie, trie),
        head,
        state.state_at(chain, head.number),
        evm_state.NodeRows(chain.db),
    )
    built = tree.build(
        wanted.transactions,
        BlockContext(wanted.block.header.timestamp),
        override=wanted.override,
        edits=effect_of(chain, changes) if changes else None,
    )
    for skipped in built.skipped:
        refused = encode_data(wanted.transactions[skipped.index].hash)
        raise ForkRefused(
            ForkReason.CANNOT_REPLAY,
            transaction=refused,
            number=wanted.block.header.number,
            problem=skipped.reason,
        )
    assert built.made is not None
    block = built.made.block
    cheats = BlockCheats(changes, uses_next=True, timestamp=block.header.timestamp)
    accepted = tree.accept([built.made.block_id]).blocks
    accept(chain, accepted, head, unusable=(), written=_nothing, cheats=cheats)
    announce(chain, accepted)
    return block


def _nothing(_: ID) -> None:
    """Write no additional rows with a block."""
