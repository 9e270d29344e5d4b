"""Writes the internal calls of transactions, after the blocks were accepted: block by block, a few rows at a time.

It does not delay new blocks: transactions are executed again without a lock, and each write is short.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import StateReader
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.tracing import Frame, Recording, TraceTimedOut, TraceTooLarge
from cchain_app.selectors import blocks, calls
from cchain_app.selectors.state import states_before_blocks
from cchain_app.selectors.tracing import BlockReplay, TraceDiffers, debited
from cchain_app.store import calls as call_rows
from cchain_app.store import history
from cchain_app.store.calls import CallProgressMoved, RecordedFrames
from cchain_app.tracing.calls import PartialFrame
from cchain_app.txs.transaction import Transaction, contract_address
from chaindb.database import Row
from chaindb.fields import HEIGHTS, height_of, row_id
from chaindb.indexing import IndexBehind, TimeSlice, never
from chaindb.locks import Lock

ROWS_AT_ONCE: Final = 2000
"""Limit of the rows in one database transaction: writers of blocks wait no longer than it takes."""

SECONDS_A_TRANSACTION: Final = 2.0
"""Time limit for recording the calls of one transaction."""

GAS_AT_ONCE: Final = 1_000_000
"""Gas of the transactions that are executed before the clock is checked again, unless a single one uses more."""

BYTES_AT_ONCE: Final = 32_000_000
"""Limit of their inputs and outputs, which stay in memory until the rows are written."""

UNRECORDED: Final = "not recorded"
"""Stored instead of the error of a failed transaction whose calls could not be recorded."""

_RECORDING: Final = Recording(frames=True, most_bytes=BYTES_AT_ONCE)
_UNRECORDABLE: Final = (TraceTooLarge, TraceTimedOut, TraceDiffers)

_log: Final = logging.getLogger(__name__)


class _CallBatch:
    """Rows to be written, and the progress of writing."""

    def __init__(self, chain: EvmChain) -> None:
        self._db = chain.db
        self._written = call_rows.begin(chain.db)
        self.next_call = self._written.next_call
        """The key of the next row."""
        self._rows: list[Row] = []
        self._unrecorded: list[int] = []
        """Keys of the rows that represent all frames of their transactions."""

    @property
    def height(self) -> int:
        """The next block, or the block that is written in part."""
        return height_of(self.next_call)

    def add(
        self, number: int, position: int, place: int, transactions: list[RecordedFrames]
    ) -> int:
        """Add those rows of a block's transactions that are not written yet; write when there are many.

        Args:
            number: Height of the block.
            position: Index of the first transaction in the block.
            place: Position of its first row among the block's rows.
            transactions: The recorded frames of the transactions.

        Returns:
            The position after their last row.
        """
        rows = list(call_rows.rows_of(number, position, place, transactions))
        first = self._written.next_call
        incomplete = {
            row_id(number, index)
            for index, transaction_calls in enumerate(transactions, position)
            if not transaction_calls.whole
        }
        for key, transaction, *others in rows:
            if key >= first:
                self._rows.append((key, transaction, *others))
                if transaction in incomplete:
                    self._unrecorded.append(key)
        while len(self._rows) >= ROWS_AT_ONCE:
            part, self._rows = self._rows[:ROWS_AT_ONCE], self._rows[ROWS_AT_ONCE:]
            self._write(part, part[-1][0] + 1)
        return place + len(rows)

    def reach(self, next_call: int) -> None:
        """Record that all rows below a key have been added."""
        self.next_call = max(self.next_call, next_call)

    def write(self) -> None:
        """Write the rows that were added."""
        if self.next_call != self._written.next_call:
            self._write(self._rows, self.next_call)
            self._rows = []

    def _write(self, part: list[Row], next_call: int) -> None:
        later = [key for key in self._unrecorded if key >= next_call]
        unrecorded = self._written.unrecorded + len(self._unrecorded) - len(later)
        after = self._written._replace(next_call=next_call, unrecorded=unrecorded)
        call_rows.write(self._db, part, self._written, after)
        self._written, self._unrecorded = after, later


def is_enabled(chain: EvmChain) -> bool:
    """Return whether NODE_TRACE_INDEX stores the chain's calls as rows."""
    return chain.settings.indexes_calls(chain.node.network_id)


def wait_for_calls(chain: EvmChain, number: int = HEIGHTS) -> bool:
    """Return whether the calls of all blocks up to a height are rows; if not, write them, for a limited time.

    Args:
        chain: The chain.
        number: The height; by default, and above the head, the height of the head.
    """
    height, head = calls.state_of_index(chain)
    needed = min(number, head)
    if height >= needed:
        return True
    if not is_enabled(chain):
        return False

    def is_current() -> bool:
        height, head = calls.state_of_index(chain)
        return height >= min(needed, head)  # the chain may have been rewound meanwhile

    return chain.call_index.wait(
        is_current,
        lambda seconds: chain.call_index.run(lambda: index_calls(chain, seconds=seconds)),
    )


def require_calls(chain: EvmChain, number: int = HEIGHTS) -> None:
    """Wait for the calls of all blocks up to a height, as `wait_for_calls`; do nothing if the index is disabled.

    Raises:
        IndexBehind: They are still not written.
    """
    if is_enabled(chain) and not wait_for_calls(chain, number):
        height, head = calls.state_of_index(chain)
        raise IndexBehind("internal calls", height, min(number, head))


def index_calls(chain: EvmChain, *, seconds: float, is_needed: Callable[[], bool] = never) -> int:
    """Write the calls of the next blocks, in order, for about the given time; return the number of blocks.

    The clock is checked after every million gas; at least that much is processed, if there is any. A process that was
    killed resumes where it stopped. If two processes index at the same time, one of them gives up.

    Args:
        chain: The chain.
        seconds: The time.
        is_needed: Returns whether a thread executes a request now, for which this one waits (`TimeSlice`).
    """
    time_slice = TimeSlice(seconds, is_needed)
    batch = _begin(chain)
    first, last = batch.height, blocks.catch_up(chain).number
    try:
        while batch.height <= last:
            next_blocks = calls.next_blocks(chain, batch.height, last)
            if not next_blocks:
                batch.reach(row_id(last + 1))
            elif not _record(chain, next_blocks, batch, time_slice):
                break
        batch.write()
    except CallProgressMoved:
        return 0
    return batch.height - first


def _begin(chain: EvmChain) -> _CallBatch:
    """Resume at the next unwritten call, but skip blocks that cannot be executed because their states were pruned."""
    first = history.first_state(chain.db) + 1
    if first > max(height_of(call_rows.begin(chain.db).next_call), 1):
        with chain.db.atomic(durable=True):
            chain.db.acquire(Lock.CCHAIN)
            history.keep_calls_from(chain.db, first)
    batch = _CallBatch(chain)
    batch.reach(row_id(first))
    return batch


def _record(
    chain: EvmChain, blocks: Sequence[AcceptedBlock], batch: _CallBatch, time_slice: TimeSlice
) -> bool:
    """Record consecutive blocks, at least a part of the first; return whether there is time left."""
    states = states_before_blocks(chain, blocks[0].number, blocks[-1].number)
    for block, state in zip(blocks, states, strict=True):
        if not _BlockRecorder(chain, block, state, batch).run(time_slice):
            return False
    return True


class _BlockRecorder:
    """Records a block's transactions; each is executed three times at most, whatever the others do.

    A few transactions are executed together. If they cannot be recorded, they are executed again one by one. A
    transaction that still cannot be recorded is executed a third time, without recording.
    """

    def __init__(
        self, chain: EvmChain, block: AcceptedBlock, state: StateReader, batch: _CallBatch
    ) -> None:
        self._chain = chain
        self._block = block
        self._batch = batch
        self._place = self._singly = 0
        half, chain.half_recorded = chain.half_recorded, None
        # If others have written further meanwhile, this process continues behind them; rows that exist are skipped.
        if half is None or half.block != block.hash or self._key(half.place) > batch.next_call:
            self._replay = BlockReplay(chain, block, PendingState(debited(chain, block, state)))
        else:
            self._replay = BlockReplay(chain, block, half.state, half.position)
            self._place, self._singly = half.place, half.singly

    def run(self, time_slice: TimeSlice) -> bool:
        """Record the block to its end, or until the time is over; return whether there is time left."""
        replay, batch, number = self._replay, self._batch, self._block.number
        while not replay.ended:
            position = replay.position
            self._place = batch.add(number, position, self._place, self._record())
            batch.reach(self._key(self._place))
            if time_slice.is_over() and not replay.ended:
                self._chain.half_recorded = PartialFrame(
                    self._block.hash, replay.position, self._place, self._singly, replay.state
                )
                return False
        batch.reach(row_id(number + 1))
        return not time_slice.is_over()

    def _key(self, place: int) -> int:
        return row_id(self._block.number, place)

    def _record(self) -> list[RecordedFrames]:
        """Return the frames of the next transactions; empty if they have to be recorded one by one."""
        replay = self._replay
        count = 1 if replay.position < self._singly else self._few()
        try:
            traces = replay.trace(count, _RECORDING, time_limit=SECONDS_A_TRANSACTION)
        except _UNRECORDABLE as error:
            if count > 1:
                self._singly = replay.position + count
                return []
            return self._pass_over(error)
        return [RecordedFrames(trace.frames) for trace in traces]

    def _few(self) -> int:
        """Return the number of next transactions whose gas together is within the limit; at least 1."""
        receipts, position = self._block.receipts, self._replay.position
        before = receipts[position - 1].cumulative_gas_used if position else 0
        later = receipts[position:]
        return max(sum(item.cumulative_gas_used - before <= GAS_AT_ONCE for item in later), 1)

    def _pass_over(self, reason: Exception) -> list[RecordedFrames]:
        """Return the outermost frame of the next transaction, and execute it without recording."""
        replay, transactions = self._replay, self._block.transactions
        position = replay.position
        words = "calls of transaction 0x%s are not recorded: %s"
        _log.warning(words, transactions[position].hash.hex(), reason)
        try:
            replay.pass_over()
        except TraceDiffers as fault:
            _log.warning(words, f"{transactions[position].hash.hex()} and later ones", fault)
            replay.give_up()
        return [self._outermost(index) for index in range(position, replay.position)]

    def _outermost(self, index: int) -> RecordedFrames:
        succeeded = self._block.receipts[index].succeeded
        frame = _outermost(self._block.transactions[index], succeeded=succeeded)
        return RecordedFrames([frame], whole=False)


def _outermost(transaction: Transaction, *, succeeded: bool) -> Frame:
    """Return a transaction's own frame, as far as it is known without execution."""
    creates = transaction.to is None
    return Frame(
        depth=0,
        type="CREATE" if creates else "CALL",
        sender=transaction.sender,
        to=contract_address(transaction.sender, transaction.nonce) if creates else transaction.to,
        value=transaction.value,
        gas=0,
        gas_used=0,
        input=transaction.data,
        output=b"",
        error=None if succeeded else UNRECORDED,
        precompile=False,
    )
