"""The log of a development chain: the contents of each accepted block, and the methods that were called.

Blocks and calls only add an entry to a queue. A thread processes the queue: it executes transactions with
internal calls again, without a lock and on historical state, and writes the entries. Entries that exceed its capacity
are only counted.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import CallRejected
from cchain_app.evm.tracing import (
    Frame,
    Recording,
    TraceTimedOut,
    TraceTooLarge,
    TransactionTrace,
)
from cchain_app.selectors import blocks, tracing
from cchain_app.selectors.tracing import TraceDiffers
from cchain_app.transaction_log.call_tree import call_tree
from cchain_app.transaction_log.declarations import Declared, KnownSignatures
from cchain_app.transaction_log.entries import (
    NOTHING,
    CallEntry,
    Collapse,
    Entry,
    ExecutionDetails,
    entries_of,
    recorded,
    shown_messages,
    to_record,
)
from cchain_app.transaction_log.reasons import FailureText, failure_of, reverted_with
from cchain_app.transaction_log.text import write
from cchain_app.transaction_log.waiting import (
    CallFailure,
    EntryAllowance,
    LogQueue,
    RepeatCount,
    WaitingBlock,
    WaitingCall,
    acts,
)
from chaindb.connections import release

TRANSACTIONS: Final = logging.getLogger("node.transactions")
CALLS: Final = logging.getLogger("node.calls")

SECONDS_A_TRANSACTION: Final = 2.0
"""Time limit for recording a transaction."""

SECONDS_A_BLOCK: Final = 5.0
"""Time limit for a block; after it, transactions that must be recorded one by one are not recorded."""

RECORDING: Final = Recording(frames=True, most_bytes=16_000_000)
"""The items that are recorded for a block or call."""

PAUSE: Final = 0.05
"""Seconds between two turns of the thread, so that block producers need not wake it up for each line."""

PATIENCE: Final = 5.0
"""Seconds that the process waits for the last lines when it ends."""

_UNRECORDABLE: Final = (TraceTooLarge, TraceTimedOut, TraceDiffers)
_TOO_LONG: Final = ExecutionDetails(missing="recording the transactions of its block took too long")

_log: Final = logging.getLogger(__name__)


class TransactionLog:
    """Queues events of a chain and writes them to the log, after `begin` was called.

    Args:
        chain: The chain.
        line: The queue of entries.
        allowance: Limit of the entries that are written individually.
        clock: Returns increasing seconds.
    """

    def __init__(
        self,
        chain: EvmChain,
        *,
        line: LogQueue | None = None,
        allowance: EntryAllowance | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chain = chain
        self._line = LogQueue() if line is None else line
        self._allowance = allowance or EntryAllowance(clock=clock)
        self._collapse = Collapse(clock=clock)
        self._clock = clock
        self._known: KnownSignatures | None = None
        self.declared: Declared | None = None
        """Returns the signatures that a contract declares; set before the log begins, if the node knows any."""
        self.is_enabled = True
        """Set by anvil_setLoggingEnabled, a method of the embedded profile, whose one process writes the log."""
        self._has_begun = self._in_thread = False
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._working = threading.Lock()
        """Held by the thread that writes."""
        self._wake = threading.Event()
        self._ending = threading.Event()

    @property
    def is_on(self) -> bool:
        """Whether current events are written."""
        return self._has_begun and self.is_enabled

    def begin(self, *, in_thread: bool = True) -> None:
        """Record events from now on, if NODE_LOG_TRANSACTIONS is set.

        Args:
            in_thread: Whether a thread writes them; it starts with the first entry, also after a process fork.
                Otherwise `work_off` writes them.
        """
        chain = self._chain
        if self._has_begun or not chain.settings.logs_transactions(chain.node.network_id):
            return
        self._has_begun, self._in_thread = True, in_thread
        self._chain.on_accepted.append(self.accepted)
        self._chain.before_rewinding.append(self.catch_up)

    def end(self) -> None:
        """Write the queued entries, and stop recording."""
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
        """Queue blocks that this process has accepted, after they were committed."""
        if self.is_on and TRANSACTIONS.isEnabledFor(logging.INFO):
            for block in accepted:
                self._line.add_block(block)
            self._wake_up()

    def takes_calls(self, *, that_act: bool) -> bool:
        """Return whether calls are written now, those with effects (`waiting.acts`) or those that only read."""
        return self.is_on and CALLS.isEnabledFor(logging.INFO if that_act else logging.DEBUG)

    def called(
        self,
        method: str,
        count: int = 1,
        *,
        exists: bool = True,
        trace: Callable[[], TransactionTrace] | None = None,
    ) -> None:
        """Queue a call of an RPC method; it never blocks.

        Args:
            method: Its name, as requested.
            count: Number of calls of it that arrived together.
            exists: Whether there is such a method.
            trace: Executes it again if it called console.log; raises as `TracingEngine.trace_call`.
        """
        if self.is_on:
            self._line.add_call(method, count, exists=exists, trace=trace)
            self._wake_up()

    def failed(
        self,
        method: str,
        failure: CallFailure,
        *,
        trace: Callable[[], TransactionTrace] | None = None,
    ) -> None:
        """Queue the failure of a call of an RPC method; it never blocks.

        Args:
            method: Its name.
            failure: The error that the client gets.
            trace: Executes the call again, if it can be executed; raises as `TracingEngine.trace_call`.
        """
        if self.is_on and CALLS.isEnabledFor(logging.INFO):
            self._line.add_failure(method, failure, trace=trace)
            self._wake_up()

    def work_off(self, *, to_the_end: bool = True) -> None:
        """Write all queued entries; `to_the_end`: including an entry that is held back because it may be repeated."""
        while (waiting := self._line.take()) is not None:
            for entry in self._entries(waiting):
                self._write(self._collapse.put(entry))
        self._write(self._collapse.take() if to_the_end else self._collapse.take_due())

    def catch_up(self) -> None:
        """Write queued entries before a rewind, while their blocks can still be executed again."""
        self._try_to_work_off(to_the_end=False)

    def _try_to_work_off(self, *, to_the_end: bool) -> None:
        try:
            with self._working:
                self.work_off(to_the_end=to_the_end)
        except Exception:  # any error: the next entries may still be written
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

    def _entries(self, waiting: WaitingBlock | WaitingCall | RepeatCount) -> Iterator[Entry]:
        match waiting:
            case RepeatCount():
                yield waiting.entry()
            case WaitingCall():
                yield self._call(waiting)
            case WaitingBlock():
                yield from self._block(waiting.block)

    def _block(self, block: AcceptedBlock) -> Iterator[Entry]:
        if not self._allowance.take(max(len(block.transactions), 1)):
            counted = RepeatCount()
            counted.add_block(block)
            yield counted.entry()
            return
        known = self._names()
        yield from entries_of(block, self._inside(block, known), known)

    def _names(self) -> KnownSignatures:
        if self._known is None:
            self._known = KnownSignatures.load(self.declared)
        return self._known

    def _call(self, waiting: WaitingCall) -> Entry:
        if not self._allowance.take(1):
            return RepeatCount(calls=waiting.count).entry()
        entry = CallEntry(waiting.method, waiting.count, waiting.exists)
        frames: Sequence[Frame] = ()
        if waiting.trace is not None:
            try:
                frames = waiting.trace().frames
            except (TraceTooLarge, TraceTimedOut, CallRejected) as error:
                entry = replace(entry, missing=f"calls and console.log, since {error}")
            except Exception:
                _log.exception("a call could not be executed again for the log")
                missing = "calls and console.log, since it could not be executed again"
                entry = replace(entry, missing=missing)
        entry = replace(entry, messages=self._messages(frames), tree=self._tree(frames))
        if (failure := waiting.failure) is None:
            return entry
        text = failure_of(frames, self._names()) if frames else None
        return replace(entry, failure=text or self._text_of(failure), code=failure.code)

    def _text_of(self, failure: CallFailure) -> FailureText:
        """Return a failure without its frames as text."""
        if failure.data is None:
            return FailureText(failure.message)
        return FailureText(reverted_with(failure.data, self._names()))

    def _inside(self, block: AcceptedBlock, known: KnownSignatures) -> list[ExecutionDetails]:
        """Return the recorded calls of each transaction."""
        inside = [NOTHING] * len(block.transactions)
        everything = range(len(block.transactions))
        indexes = everything if self._prints_traces else to_record(block)
        if not indexes:
            return inside
        until = self._clock() + SECONDS_A_BLOCK
        done_up_to = indexes.start
        try:
            replay = tracing.BlockReplay(self._chain, block)
            replay.pass_over(indexes.start, time_limit=SECONDS_A_TRANSACTION)
            for done_up_to in indexes:
                inside[done_up_to] = self._inside_one(replay, known, until)
        except _UNRECORDABLE:
            inside[done_up_to : indexes.stop] = [_TOO_LONG] * (indexes.stop - done_up_to)
        except Exception as error:
            if blocks.by_hash(self._chain, block.hash) is not None:
                _log.exception("block %d could not be executed again for the log", block.number)
            gone = ExecutionDetails(
                missing=f"the block could not be executed again ({type(error).__name__})"
            )
            inside[done_up_to : indexes.stop] = [gone] * (indexes.stop - done_up_to)
        return inside

    def _inside_one(
        self, replay: tracing.BlockReplay, known: KnownSignatures, until: float
    ) -> ExecutionDetails:
        """Return the recorded calls of a block's next transaction."""
        if self._clock() >= until:
            return _TOO_LONG
        try:
            (trace,) = replay.trace(1, RECORDING, time_limit=SECONDS_A_TRANSACTION)
        except _UNRECORDABLE as error:
            replay.pass_over(time_limit=SECONDS_A_TRANSACTION)
            return ExecutionDetails(missing=str(error))
        found = recorded(trace.frames, known)
        return replace(found, messages=self._messages(trace.frames), tree=self._tree(trace.frames))

    def _messages(self, frames: Sequence[Frame]) -> tuple[str, ...]:
        return shown_messages(frames) if self._chain.settings.console_log else ()

    def _tree(self, frames: Sequence[Frame]) -> tuple[str, ...]:
        return call_tree(frames, self._names()) if self._prints_traces and frames else ()

    @property
    def _prints_traces(self) -> bool:
        return self._chain.settings.print_traces

    def _write(self, entries: Iterator[Entry]) -> None:
        for entry in entries:
            written = write(entry, self._chain.coin_symbol)
            extra = {"fields": written.fields}
            if isinstance(entry, CallEntry):
                is_info = acts(entry.method) or not entry.exists or entry.failure is not None
                level = logging.INFO if is_info else logging.DEBUG
                CALLS.log(level, "%s", written.text, extra=extra)
            else:
                TRANSACTIONS.info("%s", written.text, extra=extra)
