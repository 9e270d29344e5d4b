"""A bounded, ordered queue of blocks and calls to be logged, which is quick to add to, and a rate limit. Pure.

The rate limit keeps the log readable, and its cost for the node small. `acts` says which RPC methods the log always
names.
"""

import re
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.tracing import TransactionTrace
from cchain_app.transaction_log.entries import SummaryEntry

MAX_WAITING: Final = 256
"""Blocks and calls in the queue; further ones are only counted."""

MAX_TRANSACTIONS: Final = 2000
"""Transactions of all blocks in the queue, whose rows are held in memory until they are logged."""


@dataclass(frozen=True, slots=True)
class WaitingBlock:
    """An accepted block."""

    block: AcceptedBlock


@dataclass(frozen=True, slots=True)
class CallFailure:
    """The JSON-RPC error of a call."""

    code: int
    message: str
    data: bytes | None = None
    """Revert data; None if the call did not revert."""


@dataclass(slots=True)
class WaitingCall:
    """A call of an RPC method, or several consecutive ones."""

    method: str
    count: int
    exists: bool = True
    trace: Callable[[], TransactionTrace] | None = None
    """Executes the call again if it called console.log or failed; raises as `TracingEngine.trace_call`."""
    failure: CallFailure | None = None


@dataclass(slots=True)
class RepeatCount:
    """Counts the blocks and calls that arrived while the queue was full."""

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
        """Return the log entry for the counts."""
        return SummaryEntry(
            self.first_block, self.last_block, self.transactions, self.gas_used, self.calls
        )


Waiting = WaitingBlock | WaitingCall | RepeatCount


class LogQueue:
    """A bounded queue. Any thread may add to it; a single thread takes from it.

    Args:
        most: Maximum number of entries.
        most_transactions: Maximum number of transactions of all queued blocks.
    """

    def __init__(self, most: int = MAX_WAITING, most_transactions: int = MAX_TRANSACTIONS) -> None:
        self._most = most
        self._most_transactions = most_transactions
        self._lock = threading.Lock()
        self._line: deque[Waiting] = deque()
        self._transactions = 0

    def __len__(self) -> int:
        return len(self._line)

    def add_block(self, block: AcceptedBlock) -> None:
        """Add a block to the queue, or count it if the queue is full."""
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
        """Add calls to the queue, merge them with preceding calls of the same method, or count them if it is full."""
        with self._lock:
            last = self._line[-1] if self._line else None
            if (
                trace is None
                and isinstance(last, WaitingCall)
                and last.method == method
                and last.exists is exists
                and last.trace is None
                and last.failure is None
            ):
                last.count += count
            elif self._is_full():
                self._counted().calls += count
            else:
                self._line.append(WaitingCall(method, count, exists, trace))

    def add_failure(
        self,
        method: str,
        failure: CallFailure,
        *,
        trace: Callable[[], TransactionTrace] | None = None,
    ) -> None:
        """Add the failure of a call: to the call itself if it is the last entry, else as another entry of its method.

        The same failure of consecutive calls is one entry, and only the first of them is executed again.
        """
        with self._lock:
            last = self._line[-1] if self._line else None
            if not isinstance(last, WaitingCall) or last.method != method:
                self._append_failure(method, failure, trace)
            elif last.failure == failure:
                last.count += 1
            elif last.failure is not None:
                self._append_failure(method, failure, trace)
            elif last.count > 1:
                last.count -= 1
                self._append_failure(method, failure, trace)
            elif last.trace is None and self._follows(method, failure):
                self._line.pop()
                before = self._line[-1]
                assert isinstance(before, WaitingCall)
                before.count += 1
            else:
                last.failure, last.trace = failure, last.trace or trace

    def _follows(self, method: str, failure: CallFailure) -> bool:
        """Return whether the entry before the last one is the same failure."""
        before = self._line[-2] if len(self._line) > 1 else None
        return (
            isinstance(before, WaitingCall)
            and before.method == method
            and before.failure == failure
        )

    def _append_failure(
        self, method: str, failure: CallFailure, trace: Callable[[], TransactionTrace] | None
    ) -> None:
        if self._is_full():
            self._counted()  # the call itself was counted before
        else:
            self._line.append(WaitingCall(method, 1, True, trace, failure))

    def take(self) -> Waiting | None:
        """Remove and return the oldest entry; None if the queue is empty."""
        with self._lock:
            if not self._line:
                return None
            taken = self._line.popleft()
            if isinstance(taken, WaitingBlock):
                self._transactions -= len(taken.block.transactions)
            return taken

    def _is_full(self) -> bool:
        return len(self._line) >= self._most

    def _counted(self) -> RepeatCount:
        """Return the counts at the end of the queue, adding them if they are not there yet."""
        last = self._line[-1] if self._line else None
        if not isinstance(last, RepeatCount):
            last = RepeatCount()
            self._line.append(last)
        return last


_ACTS: Final = re.compile(
    r"(evm|anvil|hardhat|personal|trace)_"
    r"|eth_(send|sign|call$|estimateGas$|createAccessList$|simulate)"
    r"|debug_(trace|set)"
)


def acts(method: str) -> bool:
    """Return whether a method changes or executes something; all others read, which clients do all the time.

    Unspecified: Anvil names all methods. Here the methods that only read are named at level DEBUG, since wallets
    and pages call them several times a second.
    """
    return _ACTS.match(method) is not None


AT_ONCE: Final = 500
"""Entries after a pause, enough for each transaction of a whole test suite."""

A_SECOND: Final = 100
"""Sustained entries per second: at a tenth of a millisecond each they take a hundredth of the time."""


class EntryAllowance:
    """The number of entries that may be written; it grows with time, up to `at_once`.

    Args:
        at_once: The highest number.
        a_second: Growth per second.
        clock: Returns increasing seconds.
    """

    def __init__(
        self,
        at_once: int = AT_ONCE,
        a_second: float = A_SECOND,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = at_once
        self._a_second = a_second
        self._clock = clock
        self._left = float(at_once)
        self._seen = clock()

    def take(self, entries: int) -> bool:
        """Take this many entries, or none if there are not as many; return whether they were taken."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._seen) * self._a_second)
        self._seen = now
        if entries > self._left:
            return False
        self._left -= entries
        return True
