"""Executes and traces a block that a client submits, on its parent's state; nothing is stored.

Blocks of the chain are traced in `selectors.tracing`.
"""

from enum import StrEnum
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock, parse_foreign_block
from cchain_app.blocks.errors import TransactionRefused
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import BASE_FEE_BITS, BlockEnv, StateReader
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.tracing import Recording, TransactionTrace
from cchain_app.rules.ethereum import EthereumRules
from cchain_app.selectors import blocks, tracing
from cchain_app.selectors.development import env_of_block
from cchain_app.selectors.state import state_at
from cchain_app.services.reading import read_transactions
from cchain_app.txs.transaction import Transaction
from chainvm.errors import InvalidBlock
from primitives.reasons import ErrorWithReason

_MOST_BLOB_EXPONENT: Final = 44
"""The price of blob gas is e to the power of the excess divided by the update fraction; e^44 has 64 bits."""


class UntraceableReason(StrEnum):
    """Why a submitted block cannot be executed."""

    # The bytes are not a block, or one of its transactions is malformed.
    NOT_READABLE = "could not decode block: {problem}"
    PARENT_NOT_FOUND = "parent 0x{parent} not found"
    HEIGHT_DOES_NOT_FOLLOW = "block number {number} does not follow its parent's {parent}"
    # Its transactions might use more gas than a call may, and than its parent allows.
    GAS_LIMIT_TOO_HIGH = "gas limit of block too high: {limit}, at most {most}"
    # Engines cannot read it.
    BASE_FEE_TOO_HIGH = "block base fee higher than 2^{bits}-1"
    # Engines would compute its price without end.
    EXCESS_BLOB_GAS_TOO_HIGH = "excess blob gas too high: {excess}, at most {most}"


class BlockNotTraceable(ErrorWithReason):
    """The submitted block cannot be executed."""


def read_block(chain: EvmChain, raw: bytes) -> CandidateBlock:
    """Parse a block that a client submits.

    On a chain with Ethereum's rules it may belong to another implementation's chain; other chains have blocks of their
    own.

    Raises:
        BlockNotTraceable: The bytes are not a block.
    """
    try:
        if isinstance(chain.rules, EthereumRules):
            return parse_foreign_block(raw)
        return chain.format.parse_block(raw)
    except InvalidBlock as error:
        raise BlockNotTraceable(UntraceableReason.NOT_READABLE, problem=error) from error


def trace_candidate(
    chain: EvmChain, block: CandidateBlock, recording: Recording, *, time_limit: float
) -> tuple[list[Transaction], tuple[TransactionTrace, ...]]:
    """Return a block's transactions and their traces. The block need not be valid, nor part of the chain.

    Unspecified: only the block's position, its gas limit and the size of its prices are checked, no other fields of its
    header.

    Args:
        chain: The chain of its parent.
        block: The block.
        recording: The items to record.
        time_limit: Seconds for each transaction.

    Raises:
        BlockNotTraceable: For its position, its gas limit or its transactions.
        InvalidBlock: A transaction cannot be in it.
        TraceTooLarge: More would be recorded than the recording allows.
        TraceTimedOut: A transaction took too long.
    """
    parent = _parent_of(chain, block)
    blobs = isinstance(chain.rules, EthereumRules)
    (body,) = read_transactions(chain, [block], blobs=blobs)
    if isinstance(body, TransactionRefused):
        raise BlockNotTraceable(UntraceableReason.NOT_READABLE, problem=body)
    env = env_of_block(chain, block)
    _check_blob_price(env)
    state: StateReader = state_at(chain, parent.number)
    begun = chain.executor().begun(parent, env, state)
    if begun is not None:
        after = PendingState(state)
        after.put(begun)
        state = after
    traced = chain.engine.trace_block(env, body, state, recording, time_limit=time_limit)
    return body, traced.transactions


def _parent_of(chain: EvmChain, block: CandidateBlock) -> AcceptedBlock:
    """Return the parent of a block that is traced; raise BlockNotTraceable as `trace_candidate` does."""
    header = block.header
    if not header.number:
        raise tracing.GenesisNotTraceable
    parent = blocks.by_hash(chain, header.parent_hash)
    if parent is None:
        raise BlockNotTraceable(UntraceableReason.PARENT_NOT_FOUND, parent=header.parent_hash.hex())
    if header.number != parent.number + 1:
        raise BlockNotTraceable(
            UntraceableReason.HEIGHT_DOES_NOT_FOLLOW, number=header.number, parent=parent.number
        )
    most = _most_gas(chain, parent)
    if most and header.gas_limit > most:
        raise BlockNotTraceable(
            UntraceableReason.GAS_LIMIT_TOO_HIGH, limit=header.gas_limit, most=most
        )
    if (header.base_fee or 0) >> BASE_FEE_BITS:
        raise BlockNotTraceable(UntraceableReason.BASE_FEE_TOO_HIGH, bits=BASE_FEE_BITS)
    return parent


def _check_blob_price(env: BlockEnv) -> None:
    """Refuse an excess of blob gas whose price has more than 64 bits: no chain gets that far."""
    excess = env.excess_blob_gas or 0
    most = _MOST_BLOB_EXPONENT * (env.blob_base_fee_update_fraction or 1)
    if excess > most:
        raise BlockNotTraceable(
            UntraceableReason.EXCESS_BLOB_GAS_TOO_HIGH, excess=excess, most=most
        )


def _most_gas(chain: EvmChain, parent: AcceptedBlock) -> int:
    """Return the highest gas limit that such a block may have; 0: no limit.

    Unspecified: NODE_RPC_GAS_CAP limits it as it limits a call, unless blocks of this chain have more.
    """
    cap = chain.gas_cap(parent.header.gas_limit)
    return cap and max(cap, 2 * parent.header.gas_limit)
