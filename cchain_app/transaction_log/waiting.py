"""What waits to be written to the log: bounded, in order, and quick for who brings it. Pure."""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.tracing import TransactionTrace
from cchain_app.transaction_log.entries import SummaryEntry

MOST_WAITING: Final = 256
"""Blocks and calls; what comes when so many wait is counted only."""

MOST_TRANSACTIONS: Final = 2000
"""Of all blocks that wait: their rows are held in memory so long."""


@dataclass(frozen=True, slots=True)
class WaitingBlock:
    """An accepted block."""

    block: AcceptedBlock


@dataclass(slots=True)
class WaitingCall:
    """A call of an RPC method, or several that came one after another."""

    method: str
    count: int
    exists: bool = True
    trace: Callable[[], TransactionTrace] | None = None
    """Executes the call once more where it called console.log; raises as `TracingEngine.trace_call`."""


@dataclass(slots=True)
class Counted:
    """What came when there was no room for it."""

    first_block: int | None = None
    last_block: int | None = None
    transactions: int = 0
    gas_used: int = 0
    calls: int = 0

    def add_block(self, block: AcceptedBlock) -> None:
        """Count a block."""
        if self.first_block is None:
            self.first_block = block.number
        self.last_block = block.number
        self.transactions += len(block.transactions)
        self.gas_used += block.header.gas_used

    def entry(self) -> SummaryEntry:
        """Return what is said of them."""
        return SummaryEntry(
            self.first_block, self.last_block, self.transactions, self.gas_used, self.calls
        )


Waiting = WaitingBlock | WaitingCall | Counted


class WaitingLine:
    """A line with a bound. Any thread may bring something; one takes it.

    Args:
        most: Entries of the line.
        most_transactions: Of all blocks in it.
    """

    def __init__(
        self, most: int = MOST_WAITING, most_transactions: int = MOST_TRANSACTIONS
    ) -> None:
        self._most = most
        self._most_transactions = most_transactions
        self._lock = threading.Lock()
        self._line: deque[Waiting] = deque()
        self._transactions = 0

    def __len__(self) -> int:
        return len(self._line)

    def add_block(self, block: AcceptedBlock) -> None:
        """Let a block wait, or count it."""
        size = len(block.transactions)
        with self._lock:
            if self._is_full() or self._transactions + size > self._most_transactions:
                self._counted().add_block(block)
            else:
                self._transactions += size
                self._line.append(WaitingBlock(block))

    def add_call(
        self,
        method: str,
        count: int = 1,
        *,
        exists: bool = True,
        trace: Callable[[], TransactionTrace] | None = None,
    ) -> None:
        """Let calls wait, count them, or let them be one with those of the same method just before."""
        with self._lock:
            last = self._line[-1] if self._line else None
            if (
                trace is None
                and isinstance(last, WaitingCall)
                and last.method == method
                and last.exists is exists
                and last.trace is None
            ):
                last.count += count
            elif self._is_full():
                self._counted().calls += count
            else:
                self._line.append(WaitingCall(method, count, exists, trace))

    def take(self) -> Waiting | None:
        """Take what came first; None when nothing waits."""
        with self._lock:
            if not self._line:
                return None
            taken = self._line.popleft()
            if isinstance(taken, WaitingBlock):
                self._transactions -= len(taken.block.transactions)
            return taken

    def _is_full(self) -> bool:
        return len(self._line) >= self._most

    def _counted(self) -> Counted:
        """Return the end of the line, where those are counted who find no room."""
        last = self._line[-1] if self._line else None
        if not isinstance(last, Counted):
            last = Counted()
            self._line.append(last)
        return last
