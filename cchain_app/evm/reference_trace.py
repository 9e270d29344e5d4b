"""Watching the specification while it executes: how a run ended, what it touched, when to stop it.

The specification has one tracer for the process; the one set here hands events to the watcher of
the thread that they happen in.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, local
from typing import Any

from cchain_app.evm.engine import CallInterrupted
from primitives.evm import Address, Slot

_PATIENCE = 64
"""The clock is read once in so many instructions."""

_SLOT_READERS = frozenset({0x54, 0x55})
"""SLOAD, SSTORE."""
_TOP_IS_ADDRESS = frozenset({0x31, 0x3B, 0x3C, 0x3F, 0xFF})
"""BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH, SELFDESTRUCT."""
_SECOND_IS_ADDRESS = frozenset({0xF1, 0xF2, 0xF4, 0xFA})
"""CALL, CALLCODE, DELEGATECALL, STATICCALL."""

_current = local()
_install_lock = Lock()


class Watcher:
    """Follows the transactions or the call of one thread."""

    def __init__(
        self,
        *,
        step_limit: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        """Set limits, for all runs together."""
        self._steps_left = step_limit
        self._deadline = None if time_limit is None else time.monotonic() + time_limit
        self._ticks = 0
        self._excluded: frozenset[bytes] | None = None
        self._touched: defaultdict[bytes, set[bytes]] = defaultdict(set)
        self.begin()

    def begin(self) -> None:
        """Forget how the last run went."""
        self.ended = False
        """Whether a top frame came to its end, well or not."""
        self.error: Exception | None = None
        """Why it failed."""
        self.output = b""
        self.opcode = 0
        """The last instruction of the top frame, the stack below it and the gas it had."""
        self.stack = 0
        self.gas = 0
        self.returned: bytes | None = None
        """What the top frame returned before anything after it failed."""

    def gather(self, excluded: frozenset[bytes]) -> None:
        """Also gather what is touched, but for the mere mention of these addresses."""
        self._excluded = excluded

    @property
    def succeeded(self) -> bool:
        """Whether the run ended without a failure."""
        return self.ended and self.error is None

    def access_list(self) -> tuple[tuple[Address, tuple[Slot, ...]], ...]:
        """Return what was touched, ascending."""
        return tuple(
            (Address(address), tuple(Slot(slot) for slot in sorted(slots)))
            for address, slots in sorted(self._touched.items())
        )

    def listeners(self) -> dict[type, Callable[[Any, Any], None]]:
        """Return what to do at which of the specification's events."""
        from ethereum import trace

        return {
            trace.OpStart: self._step,
            trace.EvmStop: self._stop,
            trace.TransactionEnd: self._end,
        }

    def _stop(self, evm: Any, _: Any) -> None:
        if evm.message.parent_evm is None:
            self.returned = bytes(evm.output)

    def _end(self, _: Any, event: Any) -> None:
        self.ended, self.error, self.output = True, event.error, bytes(event.output)

    def _step(self, evm: Any, event: Any) -> None:
        if self._steps_left is not None:
            if self._steps_left == 0:
                raise CallInterrupted("step limit reached")
            self._steps_left -= 1
        if self._deadline is not None:
            self._ticks += 1
            if self._ticks % _PATIENCE == 0 and time.monotonic() >= self._deadline:
                raise CallInterrupted("time limit reached")
        opcode = event.op.value
        if evm.message.parent_evm is None:
            self.opcode, self.stack, self.gas = opcode, len(evm.stack), int(evm.gas_left)
        if self._excluded is not None:
            self._gather(evm, opcode, self._excluded)

    def _gather(self, evm: Any, opcode: int, excluded: frozenset[bytes]) -> None:
        depth = 1 if opcode in _SECOND_IS_ADDRESS else 0
        if len(evm.stack) <= depth:
            return
        word = evm.stack[-1 - depth].to_be_bytes32()
        if opcode in _SLOT_READERS:
            self._touched[bytes(evm.message.current_target)].add(bytes(word))
        elif opcode in _TOP_IS_ADDRESS or opcode in _SECOND_IS_ADDRESS:
            address = bytes(word[12:])
            if address not in excluded:
                self._touched[address]  # the entry is what counts


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Let a watcher see what this thread executes in the body."""
    _install()
    before = getattr(_current, "listeners", {})
    _current.listeners = watcher.listeners()
    try:
        yield
    finally:
        _current.listeners = before


def _install() -> None:
    from ethereum import trace

    with _install_lock:
        if trace._evm_trace is not _hand_over:  # noqa: SLF001
            trace.set_evm_trace(_hand_over)


def _hand_over(evm: Any, event: Any) -> None:
    listener = getattr(_current, "listeners", {}).get(type(event))
    if listener is not None:
        listener(evm, event)
