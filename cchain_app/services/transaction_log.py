"""The log of a development chain: what happened in each accepted block, and which methods were called.

It costs blocks and calls no more than a place in a line. A thread works the line off: it executes what has
something inside once more, without a lock and on a state that is history, and writes the entries. What it
cannot keep up with is counted.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import CallRejected
from cchain_app.evm.tracing import Recording, TraceTimedOut, TraceTooLarge, TransactionTrace
from cchain_app.selectors import blocks, tracing
from cchain_app.selectors.tracing import TraceDiffers
from cchain_app.services.log_switch import LogSwitch
from cchain_app.transaction_log.allowance import Allowance
from cchain_app.transaction_log.collapse import Collapse
from cchain_app.transaction_log.entries import (
    NOTHING,
    CallEntry,
    Entry,
    Recorded,
    entries_of,
    recorded,
    shown_messages,
    to_record,
)
from cchain_app.transaction_log.known import KnownSignatures
from cchain_app.transaction_log.methods import acts
from cchain_app.transaction_log.text import write
from cchain_app.transaction_log.waiting import Counted, WaitingBlock, WaitingCall, WaitingLine
from chaindb.connections import release

TRANSACTIONS: Final = logging.getLogger("node.transactions")
CALLS: Final = logging.getLogger("node.calls")

SECONDS_A_TRANSACTION: Final = 2.0
"""For recording what it did."""

SECONDS_A_BLOCK: Final = 5.0
"""After which transactions that have to be recorded one by one are not any more."""

RECORDING: Final = Recording(frames=True, most_bytes=16_000_000)
"""What is recorded, of a block or call at once."""

PAUSE: Final = 0.05
"""Seconds between two turns of the thread: whoever makes blocks is not woken up for each line."""

PATIENCE: Final = 5.0
"""Seconds that the end of the process waits for the last lines."""

_UNRECORDABLE: Final = (TraceTooLarge, TraceTimedOut, TraceDiffers)
_TOO_LONG: Final = Recorded(missing="recording the transactions of its block took too long")

_log: Final = logging.getLogger(__name__)


class TransactionLog:
    """Takes what happens on a chain and writes it to the log, from `begin` on.

    Args:
        chain: Whose.
        line: Where it waits.
        allowance: How much is told one by one.
        clock: Seconds, rising.
    """

    def __init__(
        self,
        chain: EvmChain,
        *,
        line: WaitingLine | None = None,
        allowance: Allowance | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chain = chain
        self._line = WaitingLine() if line is None else line
        self._allowance = allowance or Allowance(clock=clock)
        self._collapse = Collapse(clock=clock)
        self._clock = clock
        self._known: KnownSignatures | None = None
        self.switch = LogSwitch(chain.aliases[0], is_shared=chain.node.profile == "production")
        self._has_begun = self._in_thread = False
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._working = threading.Lock()
        """Held by whoever writes."""
        self._wake = threading.Event()
        self._ending = threading.Event()

    @property
    def is_on(self) -> bool:
        """Whether what happens now is written."""
        return self._has_begun and self.switch.is_on

    def begin(self, *, in_thread: bool = True) -> None:
        """Take what happens from now on, where NODE_LOG_TRANSACTIONS says so.

        Args:
            in_thread: Whether a thread writes it; it starts with the first entry, also after a fork. Else
                `work_off` does.
        """
        if self._has_begun or not self._chain.node.logs_transactions:
            return
        self._has_begun, self._in_thread = True, in_thread
        self._chain.on_accepted.append(self.accepted)
        self._chain.before_rewinding.append(self.catch_up)

    def end(self) -> None:
        """Write what waits, and take nothing more."""
        if not self._has_begun:
            return
        self._has_begun = False
        self._chain.on_accepted.remove(self.accepted)
        self._chain.before_rewinding.remove(self.catch_up)
        self._ending.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def accepted(self, accepted: Sequence[AcceptedBlock]) -> None:
        """Take blocks that this process has accepted, after they were committed."""
        if self.is_on and TRANSACTIONS.isEnabledFor(logging.INFO):
            for block in accepted:
                self._line.add_block(block)
            self._wake_up()

    def takes_calls(self, *, that_act: bool) -> bool:
        """Say whether calls are written now, those that act (`methods.acts`) or those that only read."""
        return self.is_on and CALLS.isEnabledFor(logging.INFO if that_act else logging.DEBUG)

    def called(
        self,
        method: str,
        count: int = 1,
        *,
        exists: bool = True,
        trace: Callable[[], TransactionTrace] | None = None,
    ) -> None:
        """Take a call of an RPC method; it never waits.

        Args:
            method: Its name, as it was asked for.
            count: How many calls of it came at once.
            exists: Whether there is such a method.
            trace: Executes it once more if it called console.log; raises as `TracingEngine.trace_call`.
        """
        if self.is_on:
            self._line.add_call(method, count, exists=exists, trace=trace)
            self._wake_up()

    def work_off(self, *, to_the_end: bool = True) -> None:
        """Write all that waits; `to_the_end`: what is held back as well, since it may be repeated."""
        self.switch.look()
        while (waiting := self._line.take()) is not None:
            for entry in self._entries(waiting):
                self._write(self._collapse.put(entry))
        self._write(self._collapse.take() if to_the_end else self._collapse.take_due())

    def catch_up(self) -> None:
        """Write what waits while its blocks are there to be executed again: the chain is about to go back."""
        self._try_to_work_off(to_the_end=False)

    def _try_to_work_off(self, *, to_the_end: bool) -> None:
        try:
            with self._working:
                self.work_off(to_the_end=to_the_end)
        except Exception:  # whatever it is: the next entries may be written
            _log.exception("entries of the log of transactions are lost")

    def _wake_up(self) -> None:
        if not self._in_thread:
            return
        if self._thread is None or not self._thread.is_alive():
            self._start()
        if not self._wake.is_set():
            self._wake.set()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="transaction-log", daemon=True
                )
                self._thread.start()

    def _run(self) -> None:
        while not self._ending.is_set():
            self._wake.wait(self._collapse.seconds_left())
            self._wake.clear()
            self._turn()
            self._ending.wait(PAUSE)
        self._turn()

    def _turn(self) -> None:
        try:
            self._try_to_work_off(to_the_end=self._ending.is_set())
        finally:
            release()

    def _entries(self, waiting: WaitingBlock | WaitingCall | Counted) -> Iterator[Entry]:
        match waiting:
            case Counted():
                yield waiting.entry()
            case WaitingCall():
                yield self._call(waiting)
            case WaitingBlock():
                yield from self._block(waiting.block)

    def _block(self, block: AcceptedBlock) -> Iterator[Entry]:
        if not self._allowance.take(max(len(block.transactions), 1)):
            counted = Counted()
            counted.add_block(block)
            yield counted.entry()
            return
        if self._known is None:
            self._known = KnownSignatures.load()
        yield from entries_of(block, self._inside(block, self._known), self._known)

    def _call(self, waiting: WaitingCall) -> Entry:
        messages: tuple[str, ...] = ()
        missing = None
        if not self._allowance.take(1):
            return Counted(calls=waiting.count).entry()
        if waiting.trace is not None:
            try:
                messages = shown_messages(waiting.trace().frames)
            except (TraceTooLarge, TraceTimedOut, CallRejected) as error:
                missing = f"console.log, since {error}"
            except Exception:
                _log.exception("a call could not be executed again for the log")
                missing = "console.log, since it could not be executed again"
        return CallEntry(waiting.method, waiting.count, waiting.exists, messages, missing)

    def _inside(self, block: AcceptedBlock, known: KnownSignatures) -> list[Recorded]:
        """Return of each transaction what is known of its inside."""
        inside = [NOTHING] * len(block.transactions)
        indexes = to_record(block)
        if not indexes:
            return inside
        until = self._clock() + SECONDS_A_BLOCK
        told = indexes.start
        try:
            replay = tracing.BlockReplay(self._chain, block)
            replay.pass_over(indexes.start, time_limit=SECONDS_A_TRANSACTION)
            for told in indexes:
                inside[told] = self._inside_one(replay, known, until)
        except _UNRECORDABLE:
            inside[told : indexes.stop] = [_TOO_LONG] * (indexes.stop - told)
        except Exception as error:
            if blocks.by_hash(self._chain, block.hash) is not None:
                _log.exception("block %d could not be executed again for the log", block.number)
            gone = Recorded(
                missing=f"the block could not be executed again ({type(error).__name__})"
            )
            inside[told : indexes.stop] = [gone] * (indexes.stop - told)
        return inside

    def _inside_one(
        self, replay: tracing.BlockReplay, known: KnownSignatures, until: float
    ) -> Recorded:
        """Return what is known of the inside of a block's next transaction."""
        if self._clock() >= until:
            return _TOO_LONG
        try:
            (trace,) = replay.trace(1, RECORDING, time_limit=SECONDS_A_TRANSACTION)
        except _UNRECORDABLE as error:
            replay.pass_over(time_limit=SECONDS_A_TRANSACTION)
            return Recorded(missing=str(error))
        return recorded(trace.frames, known)

    def _write(self, entries: Iterator[Entry]) -> None:
        for entry in entries:
            written = write(entry)
            extra = {"fields": written.fields}
            if isinstance(entry, CallEntry):
                level = logging.INFO if acts(entry.method) or not entry.exists else logging.DEBUG
                CALLS.log(level, "%s", written.text, extra=extra)
            else:
                TRANSACTIONS.info("%s", written.text, extra=extra)
