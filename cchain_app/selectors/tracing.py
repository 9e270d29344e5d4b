"""Blocks of the chain executed once more, and what they did recorded (tracing.md 1, 11 and 18).

The state is the parent's, whatever the height; executed is the block up to the transaction that is
asked about, and nothing else. What came of it is held against the stored receipts.
"""

from collections.abc import Iterator, Sequence

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import InvalidBlock, StateChanges, StateReader
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.tracing import BlockTrace, Recording, TransactionTrace
from cchain_app.selectors.development import env_of_block
from cchain_app.selectors.state import state_at, state_before_block
from cchain_app.tracing.deadline import Deadline
from cchain_app.txs.transaction import Transaction
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


class BlockReplay:
    """An accepted block executed once more part by part, each on the state that those before it left.

    For who does not want all of it at once: the clock can be looked at between parts, what they recorded
    be dropped, and one that cannot be recorded be passed over, while each transaction is executed once.

    Args:
        chain: The chain.
        block: The block, which is not block 0.
        state: Before the transaction at `position`, of another replay that had come so far.
        position: Of the first transaction that is executed.
    """

    def __init__(
        self,
        chain: EvmChain,
        block: AcceptedBlock,
        state: PendingState | None = None,
        position: int = 0,
    ) -> None:
        self._chain = chain
        self.block = block
        self.state = state or PendingState(state_before_block(chain, block.number))
        """Before the transaction that comes next."""
        self.position = position
        """Of that transaction."""

    @property
    def ended(self) -> bool:
        """Whether all transactions were executed."""
        return self.position == len(self.block.transactions)

    def trace(self, count: int, recording: Recording, *, time_limit: float) -> Traces:
        """Return what the next transactions do. Where it raises none of them was executed.

        Raises as `trace_transaction`.
        """
        length = len(self.block.transactions)
        part = range(self.position, min(self.position + count, length))
        # After the last one nobody goes on.
        recording = recording._replace(changes=part.stop < length)
        traced = self._execute(part, recording, time_limit)
        for index, one in zip(part, traced.transactions, strict=True):
            _compare(self.block, index, one)
        self._go_on(traced)
        return traced.transactions

    def each(
        self, recording: Recording, *, time_limit: float, deadline: Deadline
    ) -> Iterator[TransactionTrace]:
        """Yield what the transactions that are left do, one by one.

        Raises as `trace`; TraceTimedOut also at the deadline.
        """
        while not self.ended:
            yield from self.trace(1, recording, time_limit=min(time_limit, deadline.left()))

    def pass_over(self, count: int = 1, *, time_limit: float | None = None) -> None:
        """Execute the next transactions, and record nothing.

        Raises:
            TraceDiffers: They cannot be executed any more.
            TraceTimedOut: One took longer than the time limit, in seconds.
        """
        part = range(self.position, min(self.position + count, len(self.block.transactions)))
        self._go_on(self._execute(part, Recording(changes=True), time_limit))

    def give_up(self) -> None:
        """Leave out all that come next."""
        self.position = len(self.block.transactions)

    def _execute(self, part: range, recording: Recording, time_limit: float | None) -> BlockTrace:
        # The system calls before the first transaction are made each time; they set the same slots.
        transactions = self.block.transactions[part.start : part.stop]
        return _run(self._chain, self.block, transactions, self.state, recording, 0, time_limit)

    def _go_on(self, traced: BlockTrace) -> None:
        for changes in (traced.before, *_changes(traced)):
            self.state.put(changes)
        self.position += len(traced.transactions)


def _changes(traced: BlockTrace) -> Iterator[StateChanges]:
    return (one.state.changes for one in traced.transactions if one.state is not None)


def _trace(
    chain: EvmChain, block: AcceptedBlock, recorded: range, recording: Recording, time_limit: float
) -> Traces:
    """Execute a block up to the last transaction that is recorded."""
    if not block.number:
        raise GenesisNotTraceable
    if not block.transactions:
        return ()
    state = state_before_block(chain, block.number)
    transactions = block.transactions[: recorded.stop]
    first = recorded.start
    traced = _run(chain, block, transactions, state, recording, first, time_limit).transactions
    for index, one in zip(recorded, traced, strict=True):
        _compare(block, index, one)
    return traced


def _run(  # noqa: PLR0917  # arguments come by position
    chain: EvmChain,
    block: AcceptedBlock,
    transactions: Sequence[Transaction],
    state: StateReader,
    recording: Recording,
    first: int,
    time_limit: float | None,
) -> BlockTrace:
    """Execute transactions of a block on a state; those from `first` on are recorded."""
    try:
        return chain.engine.trace_block(
            env_of_block(chain, block.header),
            transactions,
            state,
            recording,
            first=first,
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


def changes_in(
    chain: EvmChain, block: AcceptedBlock, count: int, *, time_limit: float
) -> list[StateChanges]:
    """Return what an accepted block's system calls change that come first, and each of its first transactions.

    Args:
        chain: The chain.
        block: The block, which is not block 0.
        count: Of transactions.
        time_limit: Seconds for each.

    Raises:
        TraceDiffers: The block cannot be executed any more.
        TraceTimedOut: A transaction took too long.
    """
    before, recording = state_before_block(chain, block.number), Recording(changes=True)
    transactions = block.transactions[:count]
    traced = _run(chain, block, transactions, before, recording, 0, time_limit)
    return [traced.before, *_changes(traced)]


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
    found = PendingState(state_at(chain, block.number - 1))
    for changes in changes_in(chain, block, index, time_limit=time_limit):
        found.apply(block.number - 1, block.header.parent_hash, changes)
    return found
