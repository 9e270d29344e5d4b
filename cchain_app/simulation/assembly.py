"""The results of executed calls, as the results of a block that the chain's rules assemble.

With `traceTransfers`, value transfers are logs among those that contracts emit (tracing.md 14).
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.engine import ExecutedBlock, Log, StateChanges, TransactionResult
from cchain_app.evm.tracing import Frame, FrameLog, TransactionTrace
from cchain_app.simulation.calls import PreparedCall
from primitives.evm import ZERO_ADDRESS, Address, Hash, Word


class StateRoots(Protocol):
    """Computes the roots of consecutive states."""

    def after(self, changes: StateChanges) -> Hash:
        """Return the root after changes to the state of the last root."""

    def ordered_root(self, items: Sequence[bytes]) -> Hash:
        """Return the root of the trie of a list."""


class SimulatedCall(NamedTuple):
    """A call and its result."""

    prepared: PreparedCall
    trace: TransactionTrace
    logs: tuple[Log | None, ...]
    """The logs, if requested with value transfers, where a reverted transfer is None. The receipt has the logs of
    the trace."""


class SimulatedBlock(NamedTuple):
    """A simulated block."""

    block: AcceptedBlock
    calls: tuple[SimulatedCall, ...]


def executed_block(
    calls: Sequence[SimulatedCall], changes: StateChanges, requests_hash: Hash | None
) -> ExecutedBlock:
    """Combine calls that were executed one by one into the result of a block.

    Args:
        calls: All calls of the block.
        changes: The combined state changes of the calls, system calls and withdrawals.
        requests_hash: EIP-7685; None before Prague.
    """
    return ExecutedBlock(
        included=tuple(range(len(calls))),
        results=tuple(
            TransactionResult(
                call.trace.succeeded,
                call.trace.gas_used,
                call.trace.logs,
                call.trace.contract_address,
            )
            for call in calls
        ),
        skipped=(),
        gas_used=sum(call.trace.gas_used for call in calls),
        changes=changes,
        requests_hash=requests_hash,
    )


TRANSFER_ADDRESS: Final = Address(b"\xee" * 20)
"""The emitter in logs of value transfers; no contract has this address."""

TRANSFER_TOPIC: Final = Word(
    bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
)
"""Transfer(address,address,uint256), as for a token."""

_MOVING: Final = frozenset({"CALL", "CREATE", "CREATE2", "SELFDESTRUCT"})


def logs_with_transfers(frames: Sequence[Frame]) -> Iterator[Log | None]:
    """Yield the logs of a call in order, with each value transfer at its position.

    A transfer that was reverted, because its frame or an outer one failed, is None: it counts for the indices of
    the logs after it, as in geth.

    Unspecified: a log that a contract emitted in a failed frame is left out and does not count, because engines
    discard it. In geth it counts.

    Args:
        frames: All frames of the call, depth first, with their logs.
    """
    open_frames: list[_OpenFrame] = []
    failed: int | None = None
    for frame in frames:
        moves = frame.value and frame.type in _MOVING and frame.to is not None
        if failed is not None and frame.depth > failed:
            if moves:
                yield None
            continue
        failed = None
        while len(open_frames) > frame.depth:
            yield from open_frames.pop().logs_before(None)
        if open_frames:
            yield from open_frames[-1].next_call()
        if frame.error is None:
            if moves:
                yield _transfer(frame)
            open_frames.append(_OpenFrame(frame.logs))
        else:
            failed = frame.depth
            if moves:
                yield None
    while open_frames:
        yield from open_frames.pop().logs_before(None)


class _OpenFrame:
    """A frame whose inner calls are being processed."""

    def __init__(self, logs: Sequence[FrameLog]) -> None:
        self._logs = logs
        self._reported = 0
        self._calls = 0

    def next_call(self) -> Iterator[Log]:
        """Yield the logs before the frame's next call, and count that call."""
        yield from self.logs_before(self._calls + 1)
        self._calls += 1

    def logs_before(self, calls: int | None) -> Iterator[Log]:
        """Yield the logs that have fewer than `calls` calls before them, or all remaining logs."""
        while self._reported < len(self._logs):
            log = self._logs[self._reported]
            if calls is not None and log.position >= calls:
                return
            self._reported += 1
            yield log.log


def _transfer(frame: Frame) -> Log:
    parties = (frame.sender, frame.to or ZERO_ADDRESS)
    topics = (TRANSFER_TOPIC, *(Word(party.rjust(32, b"\0")) for party in parties))
    return Log(TRANSFER_ADDRESS, topics, (frame.value or 0).to_bytes(32, "big"))
