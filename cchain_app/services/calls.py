"""Writes what transactions did inside, behind the blocks: block after block, a little at a time.

Nothing of it stands in the way of a block: transactions are executed once more without a lock, and each
write is short.
"""

import logging
import time
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.tracing import Frame, Recording, TraceTimedOut, TraceTooLarge
from cchain_app.selectors import blocks, calls, tracing
from cchain_app.selectors.tracing import TraceDiffers
from cchain_app.store import calls as rows
from cchain_app.store.calls import Progress, ProgressMoved, Recorded
from cchain_app.txs.transaction import Transaction, contract_address
from chaindb.database import Row
from chaindb.fields import height_of, row_id

ROWS_AT_ONCE: Final = 2000
"""In one transaction of the database: writers of blocks wait no longer than that takes."""

SECONDS_A_TRANSACTION: Final = 2.0
"""For recording what it did."""

BYTES_A_BLOCK: Final = 32_000_000
"""Of inputs and outputs that are recorded of a block at once."""

UNRECORDED: Final = "not recorded"
"""In place of the words for why a transaction failed that could not be recorded."""

_RECORDING: Final = Recording(frames=True, most_bytes=BYTES_A_BLOCK)
_UNRECORDABLE: Final = (TraceTooLarge, TraceTimedOut, TraceDiffers)

_log: Final = logging.getLogger(__name__)


class _Batch:
    """Rows that wait to be written, and where they go."""

    def __init__(self, chain: EvmChain) -> None:
        self._db = chain.db
        self._written = rows.begin(chain.db)
        self._reached = self._written
        self._rows: list[Row] = []

    @property
    def height(self) -> int:
        """The block that comes next, or of which some rows are written."""
        return height_of(self._reached.next_call)

    def add(self, number: int, transactions: list[Recorded]) -> None:
        """Take all rows of the next block that has transactions; write while there are many."""
        first = self._written.next_call
        found = rows.rows_of_block(number, transactions)
        self._rows += (row for row in found if row[0] >= first)
        missing = sum(not one.whole for one in transactions)
        while len(self._rows) >= ROWS_AT_ONCE:
            part, self._rows = self._rows[:ROWS_AT_ONCE], self._rows[ROWS_AT_ONCE:]
            self._write(part, Progress(part[-1][0] + 1, self._reached.unrecorded))
        unrecorded = self._reached.unrecorded + missing
        self._reached = Progress(row_id(number + 1), unrecorded)

    def skip_to(self, number: int) -> None:
        """Note that the blocks below a height have no rows that were not taken."""
        self._reached = self._reached._replace(next_call=row_id(number))

    def write(self) -> None:
        """Write what was taken."""
        if self._reached != self._written:
            self._write(self._rows, self._reached)
            self._rows = []

    def _write(self, part: list[Row], after: Progress) -> None:
        rows.write(self._db, part, self._written, after)
        self._written = after


def index_calls(chain: EvmChain, *, seconds: float) -> int:
    """Write the calls of blocks that have none yet, in order, for about so long; return how many blocks.

    At least one is, if there is any.
    Who is killed goes on where it was. Of two that do it at once one gives up.
    """
    until = time.monotonic() + seconds
    batch = _Batch(chain)
    first, last = batch.height, blocks.catch_up(chain).number
    try:
        while batch.height <= last:
            number = calls.next_with_transactions(chain, batch.height, last)
            if number is None:
                batch.skip_to(last + 1)
            else:
                batch.add(number, _recorded(chain, calls.load_block(chain, number)))
            if time.monotonic() >= until:
                break
        batch.write()
    except ProgressMoved:
        return 0
    return batch.height - first


def _recorded(chain: EvmChain, block: AcceptedBlock) -> list[Recorded]:
    """Return the frames of all transactions of a block."""
    try:
        traces = tracing.trace_block(chain, block, _RECORDING, time_limit=SECONDS_A_TRANSACTION)
    except _UNRECORDABLE:
        return [_recorded_one(chain, block, index) for index in range(len(block.transactions))]
    return [Recorded(one.frames) for one in traces]


def _recorded_one(chain: EvmChain, block: AcceptedBlock, index: int) -> Recorded:
    """Return the frames of one transaction; the outermost alone where they cannot be had."""
    limit = SECONDS_A_TRANSACTION
    try:
        traced = tracing.trace_transaction(chain, block, index, _RECORDING, time_limit=limit)
    except _UNRECORDABLE as error:
        transaction = block.transactions[index]
        _log.warning(
            "calls of transaction 0x%s are not recorded: %s", transaction.hash.hex(), error
        )
        succeeded = block.receipts[index].succeeded
        return Recorded([_outermost(transaction, succeeded=succeeded)], whole=False)
    return Recorded(traced.frames)


def _outermost(transaction: Transaction, *, succeeded: bool) -> Frame:
    """Return a transaction's own frame, as far as it is known without executing it."""
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
