"""Find the block that a parameter names; the errors are geth's.

Every accepted block is final, so latest, safe and finalized are the head, as in coreth. `services.pending` defines
`pending`; all methods that take a block resolve it here.
"""

from cchain_app.api.errors import server_error
from cchain_app.api.params.values import BlockHash, BlockNumber, BlockParam, Tag
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.selectors import blocks

FIRST = 0
"""Height of the genesis block; on a fork it is upstream's genesis block, which is not stored here (`forked`)."""


def height_of(rpc: EvmRpc, number: BlockNumber) -> int:
    """Return the height of a number or tag; it may be above the head.

    Callers that search accepted blocks handle `pending` themselves; here it means the head.
    """
    if isinstance(number, Tag):
        return FIRST if number is Tag.EARLIEST else blocks.head(rpc.chain).number
    return number


def find(rpc: EvmRpc, param: BlockParam) -> AcceptedBlock | None:
    """Return the block, or None if the chain does not have it.

    Raises:
        WouldBlock: The pending block was requested on the event loop.
        PendingBlockNotBuilt: The pending block was requested, and the head moved during each attempt to build it.
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
    """Return the block that a state method names. Raises as `find`.

    Unspecified: `requireCanonical` never rejects an existing block, because the chain keeps
    only accepted blocks, and they do not fork.

    Raises:
        JsonRpcError: -32000, there is no such block.
    """
    block = find(rpc, param)
    if block is None:
        by_hash = isinstance(param, BlockHash)
        raise server_error("header for hash not found" if by_hash else "header not found")
    return block
