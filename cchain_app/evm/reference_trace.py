"""Watch the specification while it executes: the result of a run, the accessed state, and its limits.

The specification has one tracer for the process; the one installed here passes each event to the watcher
of the thread in which it occurs.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock, local
from typing import Any, Final, Protocol

from cchain_app.evm.engine import CallInterrupted, GasAllowance
from cchain_app.evm.reference_failures import LastStep, ReturnedCode
from primitives.evm import Address, Slot

_PATIENCE = 64
"""The clock is read once in this many instructions."""

GAS_REACHED = "gas allowance used up"
TIME_REACHED = "time limit reached"

_TOLERANCE = 0.1
"""Fraction of its time limit by which a call may exceed that limit."""

_COMPILED_PRECOMPILES = frozenset(number.to_bytes(20, "big") for number in range(1, 6))
"""ecrecover, SHA-256, RIPEMD-160, identity and MODEXP; the others are pure Python."""
_COMPILED = 10e6
_INTERPRETED = 100e3
"""Gas of a precompile that runs in one second."""

_SLOT_READERS = frozenset({0x54, 0x55})
"""SLOAD, SSTORE."""
_TOP_IS_ADDRESS = frozenset({0x31, 0x3B, 0x3C, 0x3F, 0xFF})
"""BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH, SELFDESTRUCT."""
_SECOND_IS_ADDRESS = frozenset({0xF1, 0xF2, 0xF4, 0xFA})
"""CALL, CALLCODE, DELEGATECALL, STATICCALL."""

MAX_INPUTS: Final = 7
"""Maximum number of items that an instruction takes from the stack, except for DUP and SWAP."""

Listener = Callable[[Any, Any], None]
Listeners = Mapping[type, Listener]

_current = local()
_install_lock = Lock()


class Watcher:
    """Watches the transactions or the call of one thread."""

    def __init__(
        self,
        *,
        allowance: GasAllowance | None = None,
        time_limit: float | None = None,
    ) -> None:
        """Set the limits for all runs together."""
        self._allowance = allowance
        self._counted = 0
        """Gas used by the run that was subtracted from the allowance already."""
        self._deadline = None if time_limit is None else time.monotonic() + time_limit
        self._latest = (
            0.0 if time_limit is None else time.monotonic() + time_limit * (1 + _TOLERANCE)
        )
        self._ticks = 0
        self._precompile: bytes | None = None
        self._excluded: frozenset[bytes] | None = None
        self._touched: defaultdict[bytes, set[bytes]] = defaultdict(set)
        self.begin()

    def begin(self) -> None:
        """Forget the result of the last run."""
        self._counted = 0
        self.ended = False
        """Whether a top frame has ended, successfully or not."""
        self.error: Exception | None = None
        """The exception with which it failed."""
        self.output = b""
        self.last_step = LastStep()
        """The last instruction of the top frame."""
        self.returned: ReturnedCode | None = None
        """The top frame's output, before a failure that comes after its code."""

    def gather(self, excluded: frozenset[bytes]) -> None:
        """Also collect accessed addresses and slots, but not the mere access to these addresses."""
        self._excluded = excluded

    @property
    def succeeded(self) -> bool:
        """Whether the run ended without a failure."""
        return self.ended and self.error is None

    def access_list(self) -> tuple[tuple[Address, tuple[Slot, ...]], ...]:
        """Return the accessed addresses and slots in ascending order."""
        return tuple(
            (Address(address), tuple(Slot(slot) for slot in sorted(slots)))
            for address, slots in sorted(self._touched.items())
        )

    def listeners(self) -> Listeners:
        """Return the listener for each of the specification's events."""
        from ethereum import trace

        return {
            trace.OpStart: self._step,
            trace.EvmStop: self._stop,
            trace.PrecompileStart: self._begin_precompile,
            trace.GasAndRefund: self._pay,
            trace.PrecompileEnd: self._end_precompile,
            trace.TransactionEnd: self._end,
        }

    def _stop(self, evm: Any, _: Any) -> None:
        if evm.message.parent_evm is None:
            self.returned = ReturnedCode(len(evm.output), int(evm.gas_left))

    def _end(self, _: Any, event: Any) -> None:
        self.ended, self.error, self.output = True, event.error, bytes(event.output)
        if self._allowance is not None:
            self._allowance.use(max(0, int(event.gas_used) - self._counted))

    def _step(self, evm: Any, event: Any) -> None:
        if self._allowance is not None:
            self._count(evm, self._allowance)
        if self._deadline is not None:
            self._ticks += 1
            if self._ticks % _PATIENCE == 0 and time.monotonic() >= self._deadline:
                raise CallInterrupted(TIME_REACHED)
        opcode = event.op.value
        if evm.message.parent_evm is None:
            self.last_step = step_of(evm, opcode)
        if self._excluded is not None:
            self._gather(evm, opcode, self._excluded)

    def _count(self, evm: Any, allowance: GasAllowance) -> None:
        """Count the gas used since the last instruction: the gas that no open frame has left."""
        kept, frame = 0, evm
        while frame.message.parent_evm is not None:
            kept += int(frame.gas_left)
            frame = frame.message.parent_evm
        used = int(frame.message.gas) - int(frame.gas_left) - kept
        exceeds = used - self._counted > allowance.left
        allowance.use(max(0, used - self._counted))
        self._counted = used
        if exceeds:
            raise CallInterrupted(GAS_REACHED)

    def _begin_precompile(self, _: Any, event: Any) -> None:
        self._precompile = bytes(event.address)

    def _end_precompile(self, _: Any, __: Any) -> None:
        self._precompile = None

    def _pay(self, _: Any, event: Any) -> None:
        """Refuse to start a precompile that may exceed the time limit, because it cannot be stopped."""
        if self._precompile is None or self._deadline is None:
            return
        # The gas of a stateful precompile is for the slots and logs that it writes.
        stateful = self._precompile[:1] == b"\x02"
        is_fast = stateful or self._precompile in _COMPILED_PRECOMPILES
        rate = _COMPILED if is_fast else _INTERPRETED
        if event.gas_cost / rate > self._latest - time.monotonic():
            raise CallInterrupted(TIME_REACHED)

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
                self._touched[address]  # creates the entry


def step_of(evm: Any, opcode: int) -> LastStep:
    """Return the details of an instruction that is about to run."""
    items = [int(item) for item in reversed(evm.stack[-MAX_INPUTS:])]
    return LastStep(opcode, len(evm.stack), int(evm.gas_left), items)


class Inspector(Protocol):
    """An object that receives the specification's events."""

    def listeners(self) -> Listeners:
        """Return the listener for each of the specification's events."""


@contextmanager
def watched(*inspectors: Inspector) -> Iterator[None]:
    """Pass the events of this thread's execution in the body to inspectors, in the order of the arguments."""
    _install()
    before = getattr(_current, "listeners", {})
    _current.listeners = _together(inspectors)
    try:
        yield
    finally:
        _current.listeners = before


def _together(inspectors: Iterable[Inspector]) -> dict[type, list[Listener]]:
    listeners: dict[type, list[Listener]] = {}
    for inspector in inspectors:
        for event, listener in inspector.listeners().items():
            listeners.setdefault(event, []).append(listener)
    return listeners


def _install() -> None:
    from ethereum import trace

    with _install_lock:
        if trace._evm_trace is not _hand_over:  # noqa: SLF001
            trace.set_evm_trace(_hand_over)


def _hand_over(evm: Any, event: Any) -> None:
    for listener in getattr(_current, "listeners", {}).get(type(event), ()):
        listener(evm, event)
