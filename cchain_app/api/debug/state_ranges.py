"""Raw state of blocks: ranges of slots and accounts, modified accounts, state roots between transactions.

The results are geth's (tracing.md 11). These methods are slow and run in threads.
"""

import time
from typing import Any, Final

from msgspec import Raw

from cchain_app.api import block_tags, tracing
from cchain_app.api.errors import server_error
from cchain_app.api.params.values import BlockHash, BlockNumber, BlockParam, Tag
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.assembly import PendingBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.pending_state import PendingState
from cchain_app.selectors import blocks, state_ranges, tries
from cchain_app.selectors import tracing as traces
from cchain_app.selectors.state import code_at, code_of_hash, state_after
from cchain_app.selectors.state_ranges import FoundAccount
from jsonrpc.errors import JsonRpcError, response_too_large
from primitives.evm import Address, Hash
from primitives.hashing import EMPTY_HASH, EMPTY_ROOT
from primitives.hexadecimal import checksum_address, encode_data

MAX_SLOTS: Final = 10_000
"""Maximum number of slots of an account in one answer; the next request continues after them."""

MAX_ACCOUNTS: Final = 256
"""Maximum number of accounts in one answer, as in geth."""


def storage_range_at(  # noqa: PLR0917  # arguments come by position
    rpc: EvmRpc, block: BlockParam, index: int, address: Address, start: bytes, most: int
) -> dict[str, Any]:
    """debug_storageRangeAt: slots of an account before a transaction, in the order of their hashes.

    Unspecified: an answer has at most 10,000 slots. geth has no limit, and shows the state before the block
    for every index. Index 0 of the genesis block is the genesis state.

    Raises:
        JsonRpcError: -32000, there is no such block, or it takes too long.
        TransactionIndexOutOfRange: The block has no such transaction.
    """
    accepted = block_tags.find(rpc, block)
    if accepted is None:
        raise server_error(f"block {_named(block)} not found")
    number, above = _before(rpc, accepted, index)
    slots = state_ranges.storage_range(
        rpc.chain,
        number,
        above,
        address,
        start=start,
        most=min(max(most, 0), MAX_SLOTS),
        seconds=rpc.chain.settings.rpc.call_timeout,
    )
    if not slots.slots and slots.next is None:
        return {"storage": None, "nextKey": None}
    return {
        "storage": {
            encode_data(slot.hash): {
                "key": encode_data(slot.slot),
                "value": encode_data(slot.value),
            }
            for slot in slots.slots
        },
        "nextKey": None if slots.next is None else encode_data(slots.next),
    }


def _before(rpc: EvmRpc, block: AcceptedBlock, index: int) -> tuple[int, PendingState | None]:
    """Return the state before a transaction: the height of a stored state, and the changes on top of it."""
    if index < 0 or index >= max(len(block.transactions), 1):
        raise traces.TransactionIndexOutOfRange(index, block.hash)
    if not block.transactions:
        return _stored(block)
    with tracing.tracing(rpc):
        above = traces.state_before(rpc.chain, block, index, time_limit=tracing.seconds(rpc))
    return block.number - 1, above


def _stored(block: AcceptedBlock) -> tuple[int, PendingState | None]:
    """Return the height of the stored state, and the changes that the pending block makes on top of it."""
    if isinstance(block, PendingBlock):
        return block.parent.number, block.state
    return block.number, None


def _named(block: BlockParam) -> str:
    if isinstance(block, BlockHash):
        return _hexed(block.hash)
    return block.value if isinstance(block, Tag) else hex(block)


def modified_accounts_by_number(rpc: EvmRpc, start: int, end: int | None) -> list[str]:
    """debug_getModifiedAccountsByNumber: accounts that differ between two blocks, or before and after one block.

    Raises:
        JsonRpcError: -32000, there is no such block, the first is not below the second, or it takes too long.
    """
    first = _at(rpc, start, "start")
    return _modified(rpc, first, None if end is None else _at(rpc, end, "end"))


def modified_accounts_by_hash(rpc: EvmRpc, start: Hash, end: Hash | None) -> list[str]:
    """debug_getModifiedAccountsByHash: accounts that differ between two blocks, or before and after one block.

    Raises as `modified_accounts_by_number`.
    """
    first = _of(rpc, start, "start")
    return _modified(rpc, first, None if end is None else _of(rpc, end, "end"))


def _at(rpc: EvmRpc, number: int, which: str) -> AcceptedBlock:
    block = blocks.by_number(rpc.chain, number)
    if block is None:
        raise server_error(f"{which} block {number:x} not found")
    return block


def _of(rpc: EvmRpc, block_hash: Hash, which: str) -> AcceptedBlock:
    block = blocks.by_hash(rpc.chain, block_hash)
    if block is None:
        raise server_error(f"{which} block {block_hash.hex()} not found")
    return block


def _modified(rpc: EvmRpc, start: AcceptedBlock, end: AcceptedBlock | None) -> list[str]:
    if end is None:
        if not start.number:
            raise server_error(f"block {start.hash.hex()} has no parent")
        first, last = start.number - 1, start.number
    else:
        first, last = start.number, end.number
        if first >= last:
            raise server_error(
                f"start block height ({first}) must be less than end block height ({last})"
            )
    seconds = rpc.chain.settings.rpc.call_timeout
    accounts = state_ranges.modified_accounts(rpc.chain, first, last, seconds=seconds)
    return [encode_data(address) for address in accounts]


def intermediate_roots(rpc: EvmRpc, block_hash: Hash, _options: object) -> list[str]:
    """debug_intermediateRoots: the state root after each transaction of a block.

    Raises:
        JsonRpcError: -32000, there is no such block, or it takes too long.
        GenesisNotTraceable: It is block 0.
        ProofWindowPassed: It is too old.
    """
    block = blocks.by_hash(rpc.chain, block_hash)
    if block is None:
        raise server_error(f"block {_hexed(block_hash)} not found")
    with tracing.tracing(rpc):
        roots = tries.intermediate_roots(rpc.chain, block, time_limit=tracing.seconds(rpc))
    return [encode_data(root) for root in roots]


def account_range(  # noqa: PLR0917  # arguments come by position
    rpc: EvmRpc,
    block: BlockParam,
    start: bytes,
    most: int,
    without_code: bool,  # noqa: FBT001
    without_storage: bool,  # noqa: FBT001
    _incompletes: bool,  # noqa: FBT001
) -> Raw:
    """debug_accountRange: accounts in the order of their hashes, at most 256.

    Raises:
        JsonRpcError: -32000, there is no such block, or it takes too long; -32003, the answer is too large.
        ProofWindowPassed: The block is too old.
    """
    accepted = block_tags.require(rpc, block)
    most = most if 0 < most <= MAX_ACCOUNTS else MAX_ACCOUNTS
    return _dump(rpc, accepted, start, most, code=not without_code, storage=not without_storage)


def dump_block(rpc: EvmRpc, block: BlockNumber) -> Raw:
    """debug_dumpBlock: the first 256 accounts after a block, with code and storage.

    Unspecified: at most the first 10,000 slots of each account are included. Raises as `account_range`.
    """
    accepted = block_tags.find(rpc, block)
    if accepted is None:
        raise server_error(f"block {_named(block)} not found")
    return _dump(rpc, accepted, b"", MAX_ACCOUNTS, code=True, storage=True)


def _dump(
    rpc: EvmRpc, block: AcceptedBlock, start: bytes, most: int, *, code: bool, storage: bool
) -> Raw:
    chain = rpc.chain
    seconds = chain.settings.rpc.call_timeout
    deadline = time.monotonic() + seconds
    page = state_ranges.account_range(chain, block, start, most, seconds=seconds)
    bytes_left, accounts = chain.settings.trace.bytes, []
    for account in page.accounts:
        shown = _account(chain, account, block, code=code)
        if storage:
            shown |= _storage(chain, account, block, deadline - time.monotonic())
        text = tracing.encode(shown)
        bytes_left -= len(text)
        if bytes_left < 0:
            raise response_too_large()
        accounts.append(b'"%b":%b' % (checksum_address(account.address).encode(), text))
    answer = b'{"root":"%b","accounts":{%b}' % (
        block.header.state_root.hex().encode(),
        b",".join(accounts),
    )
    if page.next is not None:
        answer += b',"next":"%b"' % encode_data(page.next).encode()
    return Raw(answer + b"}")


def _account(
    chain: EvmChain, account: FoundAccount, block: AcceptedBlock, *, code: bool
) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "balance": str(account.state.balance),
        "nonce": account.state.nonce,
        "root": encode_data(account.storage_root),
        "codeHash": encode_data(account.state.code_hash),
        "address": encode_data(account.address),
        "key": encode_data(account.hash),
    }
    if code and account.state.code_hash != EMPTY_HASH:
        shown["code"] = encode_data(code_at(state_after(chain, block), account.address))
    return shown


def _storage(
    chain: EvmChain, account: FoundAccount, block: AcceptedBlock, seconds: float
) -> dict[str, Any]:
    if account.storage_root == EMPTY_ROOT:
        return {}
    number, above = _stored(block)
    page = state_ranges.storage_range(
        chain, number, above, account.address, start=b"", most=MAX_SLOTS, seconds=seconds
    )
    words = {encode_data(slot.slot): slot.value.lstrip(b"\0").hex() for slot in page.slots}
    return {"storage": words}


def preimage(_digest: Hash) -> str:
    """debug_preimage: always an error.

    Unspecified: with a setting, geth knows the preimages that its EVM has hashed since its start; this node
    stores none.

    Raises:
        JsonRpcError: -32000, always.
    """
    raise server_error("unknown preimage")


def get_bad_blocks() -> list[JsonRpcError]:
    """debug_getBadBlocks and eth_getBadBlocks: always an empty list, because invalid blocks are not stored."""
    return []


def code_by_hash(rpc: EvmRpc, code_hash: Hash, _block: BlockParam | None) -> str:
    """debug_codeByHash: the code with a hash, `0x` if no account has or had it, as in Anvil.

    Unspecified: the block is ignored, because the code of a hash never changes. A fork knows the code that it has
    read from its remote node.
    """
    return encode_data(code_of_hash(rpc.chain, code_hash))


def db_get(_key: object) -> str:
    """debug_dbGet: always an error.

    Raises:
        JsonRpcError: -32000, always.
    """
    raise server_error(
        "debug_dbGet is not available: the database is SQL and has no keys of geth's"
    )


def set_head(_number: object) -> None:
    """debug_setHead: always an error.

    Raises:
        JsonRpcError: -32000, always.
    """
    raise server_error(
        "debug_setHead is not available: accepted blocks are final; on a development chain "
        "anvil_rollback, evm_revert and anvil_reset go back"
    )


def _hexed(value: bytes) -> str:
    return "0x" + value.hex()
