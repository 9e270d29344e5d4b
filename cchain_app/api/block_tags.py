"""Find the block that a parameter names; the errors are geth's.

Every accepted block is final, so latest, safe and finalized are the head, as on coreth. `services.pending` defines
`pending`; all methods that take a block get it from this module.
"""

from cchain_app.api.errors import server_error
from cchain_app.api.params.values import BlockHash, BlockNumber, BlockParam, Tag
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.selectors import blocks

FIRST = 0
"""Height of the genesis block; of a fork the upstream's, which is not here (`forked`)."""


def height_of(rpc: EvmRpc, number: BlockNumber) -> int:
    """Return the height that a number or tag means, which may be above the head.

    Callers that search accepted blocks handle `pending` themselves; here it is the head.
    """
    if isinstance(number, Tag):
        return FIRST if number is Tag.EARLIEST else blocks.head(rpc.chain).number
    return number


def find(rpc: EvmRpc, param: BlockParam) -> AcceptedBlock | None:
    """Return the block, or None when the chain has none there.

    Raises:
        WouldBlock: It is the pending block, and this is the event loop.
        PendingBlockNotBuilt: Likewise, and the head moved each time it was built.
    """
    if isinstance(param, BlockHash):
        return blocks.by_hash(rpc.chain, param.hash)
    if param is Tag.PENDING:
        return rpc.pending.current() or blocks.head(rpc.chain)
    if isinstance(param, Tag):
        return (
            blocks.by_number(rpc.chain, FIRST) if param is Tag.EARLIEST else blocks.head(rpc.chain)
        )
    return blocks.by_number(rpc.chain, param)


def require(rpc: EvmRpc, param: BlockParam) -> AcceptedBlock:
    """Return the block that a state method is asked about. Raises as `find`.

    Unspecified: `requireCanonical` never refuses a block that is there, since the chain keeps
    accepted blocks only, and they do not fork.

    Raises:
        JsonRpcError: -32000, there is no such block.
    """
    block = find(rpc, param)
    if block is None:
        by_hash = isinstance(param, BlockHash)
        raise server_error("header for hash not found" if by_hash else "header not found")
    return block
