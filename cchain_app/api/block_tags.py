"""Find the block that a parameter names; the errors are geth's.

Every accepted block is final, so latest, safe and finalized are the head, as in coreth. With NODE_SLOTS_IN_AN_EPOCH safe
and finalized are that many blocks and twice as many behind the head, as in Anvil. `services.pending` defines `pending`;
all methods that take a block resolve it here.
"""

from cchain_app.api.errors import server_error
from cchain_app.api.params.values import BlockHash, BlockNumber, BlockParam, Tag
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.assembly import PendingBlock
from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from jsonrpc.errors import JsonRpcError


def height_of(rpc: EvmRpc, number: BlockNumber) -> int:
    """Return the height of a number or tag; it may be above the head.

    Callers that search accepted blocks handle `pending` themselves; here it means the head.
    """
    return tag_height(rpc.chain, number) if isinstance(number, Tag) else number


def tag_height(chain: EvmChain, tag: Tag) -> int:
    """Return the height of the accepted block that a tag means; `pending` means the head.

    Unspecified: on a chain that is too short, safe and finalized are the earliest block, as in Anvil. If a local chain's
    first block has another number than 0, `earliest` is that block. On a fork it is the remote chain's block 0, which
    is not stored here (`forked`).
    """
    earliest = 0 if chain.fork is not None else chain.first_number
    if tag is Tag.EARLIEST:
        return earliest
    slots = chain.settings.slots_in_an_epoch
    behind = {Tag.SAFE: slots, Tag.FINALIZED: 2 * slots}.get(tag, 0)
    return max(blocks.head(chain).number - behind, earliest)


def find(rpc: EvmRpc, param: BlockParam) -> AcceptedBlock | None:
    """Return the block, or None if the chain does not have it.

    Raises:
        WouldBlock: The pending block was requested on the event loop.
        PendingBlockNotBuilt: The pending block was requested, and the head moved during each attempt to build it.
        JsonRpcError: -32000, on a chain of coreth the number is above the head.
    """
    if isinstance(param, BlockHash):
        return blocks.by_hash(rpc.chain, param.hash)
    if param is Tag.PENDING:
        return rpc.pending.current() or blocks.head(rpc.chain)
    if param is Tag.LATEST:
        return blocks.head(rpc.chain)
    height = height_of(rpc, param)
    if rpc.chain.is_of_coreth and height > blocks.head(rpc.chain).number:
        raise server_error("cannot query unfinalized data")
    return blocks.by_number(rpc.chain, height)


def require(rpc: EvmRpc, param: BlockParam) -> AcceptedBlock:
    """Return the block that a state method names. Raises as `find`.

    Unspecified: `requireCanonical` never rejects an existing block, because the chain keeps
    only accepted blocks, and they do not fork.

    Raises:
        JsonRpcError: -32000, there is no such block.
    """
    block = find(rpc, param)
    if block is None:
        raise _not_found(param)
    return block


def require_height(rpc: EvmRpc, param: BlockParam) -> int | PendingBlock:
    """Return the height of the accepted block that a state method names, or the pending block. Raises as `require`.

    The block is not read.
    """
    chain = rpc.chain
    if param is Tag.PENDING:
        return rpc.pending.current() or blocks.head(chain).number
    if isinstance(param, BlockHash):
        number = blocks.height_of(chain, param.hash)
        if number is None:
            raise _not_found(param)
        return number
    height = height_of(rpc, param)
    if chain.is_of_coreth and height > blocks.head(chain).number:
        raise server_error("cannot query unfinalized data")
    if not blocks.has_height(chain, height):
        raise _not_found(param)
    return height


def require_header(rpc: EvmRpc, param: BlockParam) -> AcceptedBlock:
    """Return the block that a state method names, for its header and hash alone. Raises as `require`."""
    found = require_height(rpc, param)
    if isinstance(found, PendingBlock):
        return found
    block = blocks.header_only(rpc.chain, found)
    if block is None:
        raise _not_found(param)
    return block


def _not_found(param: BlockParam) -> JsonRpcError:
    by_hash = isinstance(param, BlockHash)
    return server_error("header for hash not found" if by_hash else "header not found")
