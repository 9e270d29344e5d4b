"""Blocks of the chain executed once more, and what they did recorded (tracing.md 1, 11 and 18).

The state is the parent's, whatever the height; executed is the block up to the transaction that is
asked about, and nothing else. What came of it is held against the stored receipts.
"""

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.assembly import env_of
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import InvalidBlock
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.tracing import BlockTrace, Recording, TransactionTrace
from cchain_app.selectors.state import state_at, state_before_block
from primitives.evm import Hash

Traces = tuple[TransactionTrace, ...]


class GenesisNotTraceable(Exception):
    """The genesis block was not executed."""

    def __init__(self) -> None:
        super().__init__("genesis is not traceable")


class TransactionIndexOutOfRange(Exception):
    """A block has no transaction at this index."""

    def __init__(self, index: int, block_hash: Hash) -> None:
        super().__init__(f"transaction index {index} out of range for block 0x{block_hash.hex()}")


class TraceDiffers(Exception):
    """A re-execution that came to something else than the stored receipt: a fault of this node."""

    def __init__(self, executed: Hash, difference: str) -> None:
        """Take the hash of a transaction or block, and what differs in words."""
        super().__init__(f"re-execution of 0x{executed.hex()} differs: {difference}")


def trace_block(
    chain: EvmChain, block: AcceptedBlock, recording: Recording, *, time_limit: float
) -> Traces:
    """Return what each transaction of an accepted block does, in one execution. Raises as `trace_transaction`."""
    return _trace(chain, block, range(len(block.transactions)), recording, time_limit)


def trace_from(
    chain: EvmChain, block: AcceptedBlock, index: int, recording: Recording, *, time_limit: float
) -> Traces:
    """Return what a transaction does, and each one after it in its block, in one execution.

    Raises as `trace_transaction`.
    """
    return _trace(chain, block, range(index, len(block.transactions)), recording, time_limit)


def trace_transaction(
    chain: EvmChain, block: AcceptedBlock, index: int, recording: Recording, *, time_limit: float
) -> TransactionTrace:
    """Return what one transaction of an accepted block does; those before it are executed with it.

    Args:
        chain: The chain.
        block: The block.
        index: Of the transaction in the block.
        recording: What to record.
        time_limit: Seconds for each transaction.

    Raises:
        GenesisNotTraceable: The block is block 0.
        TraceDiffers: It did something else when the block was accepted.
        TraceTooLarge: More would be recorded than the recording allows.
        TraceTimedOut: A transaction took too long.
    """
    (traced,) = _trace(chain, block, range(index, index + 1), recording, time_limit)
    return traced


def _trace(
    chain: EvmChain, block: AcceptedBlock, recorded: range, recording: Recording, time_limit: float
) -> Traces:
    """Execute a block up to the last transaction that is recorded."""
    if not block.number:
        raise GenesisNotTraceable
    if not block.transactions:
        return ()
    traced = _execute(chain, block, recorded, recording, time_limit).transactions
    for index, one in zip(recorded, traced, strict=True):
        _compare(block, index, one)
    return traced


def _execute(
    chain: EvmChain, block: AcceptedBlock, recorded: range, recording: Recording, time_limit: float
) -> BlockTrace:
    try:
        return chain.engine.trace_block(
            env_of(block.header, chain.config),
            block.transactions[: recorded.stop],
            state_before_block(chain, block.number),
            recording,
            first=recorded.start,
            time_limit=time_limit,
        )
    except InvalidBlock as refusal:
        raise TraceDiffers(block.hash, str(refusal)) from refusal


def _compare(block: AcceptedBlock, index: int, traced: TransactionTrace) -> None:
    """Hold a re-execution against the receipt."""
    receipt = block.receipts[index]
    before = block.receipts[index - 1].cumulative_gas_used if index else 0
    for what, found, stored in (
        ("gas used", traced.gas_used, receipt.cumulative_gas_used - before),
        ("status", int(traced.succeeded), int(receipt.succeeded)),
        ("number of logs", len(traced.logs), len(receipt.logs)),
    ):
        if found != stored:
            differs = f"{what} is {found}, its receipt says {stored}"
            raise TraceDiffers(block.transactions[index].hash, differs)
    if traced.logs != receipt.logs:
        raise TraceDiffers(block.transactions[index].hash, "logs are not those of its receipt")


def state_before(
    chain: EvmChain, block: AcceptedBlock, index: int, *, time_limit: float
) -> PendingState:
    """Return the state that a transaction of an accepted block met.

    The system calls at the block's beginning and the transactions before it are executed. Index 0 is
    there in a block without transactions too.

    Raises:
        GenesisNotTraceable: The block is block 0.
        TransactionIndexOutOfRange: The block has no such transaction.
        TraceDiffers: The block cannot be executed any more.
        TraceTimedOut: A transaction took too long.
    """
    if not block.number:
        raise GenesisNotTraceable
    if index >= max(len(block.transactions), 1):
        raise TransactionIndexOutOfRange(index, block.hash)
    traced = _execute(chain, block, range(index), Recording(state=True), time_limit)
    found = PendingState(state_at(chain, block.number - 1))
    for changes in (
        traced.before,
        *(one.state.changes for one in traced.transactions if one.state),
    ):
        found.apply(block.number - 1, block.header.parent_hash, changes)
    return found
