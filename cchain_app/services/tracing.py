"""Executes and traces a block that a client submits, on its parent's state; nothing is stored.

Blocks of the chain are traced in `selectors.tracing`.

    BlockNotTraceable
    ├── BlockNotReadable     the bytes are not a block, or one of its transactions is malformed
    ├── ParentNotFound       the chain does not have its parent
    ├── HeightDoesNotFollow  its height is not the parent's plus one
    └── GasLimitTooHigh      its transactions might use more gas than a call may
"""

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock, parse_foreign_block
from cchain_app.blocks.errors import TransactionRefused
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import ExecutionInvalid
from cchain_app.evm.tracing import Recording, TransactionTrace
from cchain_app.selectors import blocks, tracing
from cchain_app.selectors.development import env_of_block
from cchain_app.selectors.state import state_at
from cchain_app.services.reading import read_transactions
from cchain_app.txs.transaction import Transaction


class BlockNotTraceable(Exception):
    """The submitted block cannot be executed."""


class BlockNotReadable(BlockNotTraceable):
    """The bytes are not a block, or one of its transactions is malformed."""

    def __init__(self, reason: ExecutionInvalid) -> None:
        super().__init__(f"could not decode block: {reason}")


class ParentNotFound(BlockNotTraceable):
    """The chain does not have the block's parent."""

    def __init__(self, block: CandidateBlock) -> None:
        super().__init__(f"parent 0x{block.header.parent_hash.hex()} not found")


class HeightDoesNotFollow(BlockNotTraceable):
    """The block's height is not its parent's plus one."""

    def __init__(self, number: int, parent: int) -> None:
        super().__init__(f"block number {number} does not follow its parent's {parent}")


class GasLimitTooHigh(BlockNotTraceable):
    """The block's transactions might use more gas than a call may, and than its parent allows."""

    def __init__(self, limit: int, most: int) -> None:
        super().__init__(f"gas limit of block too high: {limit}, at most {most}")


def read_block(raw: bytes) -> CandidateBlock:
    """Parse a block that a client submits, which may belong to another implementation's chain.

    Raises:
        BlockNotReadable: The bytes are not a block.
    """
    try:
        return parse_foreign_block(raw)
    except ExecutionInvalid as error:
        raise BlockNotReadable(error) from error


def trace_candidate(
    chain: EvmChain, block: CandidateBlock, recording: Recording, *, time_limit: float
) -> tuple[list[Transaction], tuple[TransactionTrace, ...]]:
    """Return a block's transactions and their traces. The block need not be valid, nor part of the chain.

    Unspecified: only the block's position and gas limit are checked, no other fields of its header.

    Args:
        chain: The chain of its parent.
        block: The block.
        recording: The items to record.
        time_limit: Seconds for each transaction.

    Raises:
        BlockNotTraceable: By a subclass, for its position, its gas limit or its transactions.
        ExecutionInvalid: A transaction cannot be in it.
        TraceTooLarge: More would be recorded than the recording allows.
        TraceTimedOut: A transaction took too long.
    """
    _check_place(chain, block)
    (body,) = read_transactions(chain, [block], blobs=True)
    if isinstance(body, TransactionRefused):
        raise BlockNotReadable(body)
    traced = chain.engine.trace_block(
        env_of_block(chain, block),
        body,
        state_at(chain, block.header.number - 1),
        recording,
        time_limit=time_limit,
    )
    return body, traced.transactions


def _check_place(chain: EvmChain, block: CandidateBlock) -> None:
    header = block.header
    if not header.number:
        raise tracing.GenesisNotTraceable
    parent = blocks.by_hash(chain, header.parent_hash)
    if parent is None:
        raise ParentNotFound(block)
    if header.number != parent.number + 1:
        raise HeightDoesNotFollow(header.number, parent.number)
    most = _most_gas(chain, parent)
    if most and header.gas_limit > most:
        raise GasLimitTooHigh(header.gas_limit, most)


def _most_gas(chain: EvmChain, parent: AcceptedBlock) -> int:
    """Return the highest gas limit that such a block may have; 0: no limit.

    Unspecified: NODE_RPC_GAS_CAP limits it as it limits a call, unless blocks of this chain have more.
    """
    cap = chain.gas_cap(parent.header.gas_limit)
    return cap and max(cap, 2 * parent.header.gas_limit)
