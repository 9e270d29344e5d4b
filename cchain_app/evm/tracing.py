"""Recordings of traced transactions and calls: the second half of the engines' port.

An engine re-executes and records. It does not format the recording as callTracer, prestateTracer or
Parity do; `cchain_app.tracing` renders it, in the same way for every engine.
Steps are the exception: there may be millions of them, so the engine writes their JSON itself.
The rules are in tracing.md; each member names its section. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from cchain_app.evm.engine import (
    AccountState,
    BlockEnv,
    CallMessage,
    Engine,
    Log,
    StateChanges,
    StateReader,
)
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address, Hash, Slot, Word

UNBOUNDED: Final = 2**63 - 1


class StepOptions(NamedTuple):
    """The fields that the struct logger writes for each instruction (tracing.md 2 and 3)."""

    stack: bool = True
    memory: bool = False
    storage: bool = True
    return_data: bool = False
    limit: int = 0
    """Recording stops once the steps' JSON is longer than this many bytes; 0: never."""


class Recording(NamedTuple):
    """The parts of each transaction that are recorded. Gas, status, output and logs always are."""

    frames: bool = False
    """Call frames with their logs: callTracer, flatCallTracer, 4byteTracer, `trace_*`, `ots_*`."""
    state: bool = False
    """Touched state and state changes: prestateTracer and stateDiff."""
    changes: bool = False
    """Only the state changes, to execute further transactions on them; gas bounds them, so they do not count as bytes."""
    steps: StepOptions | None = None
    vm: bool = False
    """vmTrace (tracing.md 12)."""
    preimages: bool = False
    """Inputs of KECCAK256."""
    opcodes: bool = False
    """The instructions of each frame and their accesses, for erc7562Tracer; only with `frames`."""
    most_bytes: int = UNBOUNDED
    """Limit for all recorded steps, VM traces, inputs, outputs and touched state of a request together."""


class FrameLog(NamedTuple):
    """A log, and the number of its frame's calls before it. Logs that were undone are not recorded."""

    log: Log
    number: int
    """Its number among the logs of the transaction that were not undone by then, from 0 (tracing.md 4)."""
    position: int
    """Number of calls of this frame before it, SELFDESTRUCT frames included."""


class CodeSize(NamedTuple):
    """The code size of an account when a frame first read its code or called it."""

    size: int
    """Size in bytes."""
    opcode: int
    """The instruction that read the code or made the call."""


class OpcodeUse(NamedTuple):
    """The instructions of a frame and their accesses, including those that failed (tracing.md 7)."""

    counts: Mapping[int, int] = {}
    """How often each instruction ran, by opcode. GAS counts only if no call follows it."""
    reads: Mapping[Slot, Word] = {}
    """The value of each slot that was read before it was written."""
    writes: Mapping[Slot, int] = {}
    """How often each slot was written."""
    transient_reads: Mapping[Slot, int] = {}
    transient_writes: Mapping[Slot, int] = {}
    code_accesses: tuple[Address, ...] = ()
    """Accounts whose code EXTCODESIZE, EXTCODECOPY and EXTCODEHASH read, in order. An
    EXTCODESIZE whose result is only compared with zero is left out."""
    code_sizes: Mapping[Address, CodeSize] = {}
    """Code sizes of accounts that were called or whose code was read."""


class Frame(NamedTuple):
    """A call, creation or SELFDESTRUCT. Frames are in depth-first order: each comes after its caller.

    Calls that never start (depth, balance, nonce) are frames too (tracing.md 9).
    """

    depth: int
    """0 for the transaction's own frame."""
    type: str
    """CALL, CALLCODE, DELEGATECALL, STATICCALL, CREATE, CREATE2 or SELFDESTRUCT."""
    sender: Address
    """The caller; for DELEGATECALL and SELFDESTRUCT the contract that executes the instruction."""
    to: Address | None
    """The callee; for DELEGATECALL and CALLCODE the account whose code runs; for SELFDESTRUCT the beneficiary. For
    a creation the new address even if the creation failed, None if no address was computed (balance, nonce, depth)."""
    value: int | None
    """Wei; for DELEGATECALL the value of the delegating frame, for STATICCALL None, for SELFDESTRUCT the amount moved."""
    gas: int
    """Gas given to the frame; for the top frame the limit without the intrinsic gas; 0 for a SELFDESTRUCT."""
    gas_used: int
    """Gas used by this frame and those in it, before refunds; for the top frame without intrinsic gas."""
    input: bytes
    """Call data or init code."""
    output: bytes
    """Return data, deployed code, or revert data; empty on other failures."""
    error: str | None
    """Geth's message for the failure (tracing.md 8); None on success."""
    precompile: bool
    """Whether a precompile was called."""
    logs: tuple[FrameLog, ...] = ()
    """Logs in order; empty if the frame or one around it failed."""
    opcodes: OpcodeUse = OpcodeUse()
    """Empty unless instructions are recorded."""


@dataclass(frozen=True, slots=True)
class TouchedState:
    """The touched state before a transaction, and the transaction's changes to it (tracing.md 6)."""

    accounts: Mapping[Address, AccountState | None] = field(default_factory=dict)
    """Accounts before gas is bought; None if the account did not exist."""
    slots: Mapping[Address, Mapping[Slot, Word]] = field(default_factory=dict)
    codes: Mapping[Address, bytes] = field(default_factory=dict)
    """Code before the transaction, for touched accounts with code."""
    changes: StateChanges = field(default_factory=StateChanges)
    """Changes of this transaction alone, fees and coinbase included."""


@dataclass(frozen=True, slots=True)
class TransactionTrace:
    """The result and the recording of a transaction or call."""

    succeeded: bool
    gas_limit: int
    """The transaction's gas limit: gas of the top frame plus the intrinsic gas."""
    gas_used: int
    """Gas used after refunds, with intrinsic gas and the calldata floor, as in the receipt."""
    gas_peak: int
    """Gas used before refunds."""
    output: bytes
    """Output of the top frame."""
    error: str | None
    """Error of the top frame."""
    logs: tuple[Log, ...]
    """Empty if it failed."""
    contract_address: Address | None
    """Address of the created contract, even if the creation failed."""
    frames: tuple[Frame, ...] = ()
    state: TouchedState | None = None
    """With `Recording.changes` alone it contains only the changes."""
    steps: bytes = b""
    """The struct logger's steps as JSON objects with commas between them, without brackets."""
    vm: bytes = b""
    """The vmTrace as a JSON object; `null` if no code ran."""
    preimages: tuple[bytes, ...] = ()
    """Distinct inputs of KECCAK256, in order."""


@dataclass(frozen=True, slots=True)
class BlockTrace:
    """A block's transactions traced in one execution of the block."""

    before: StateChanges
    """Changes of the system calls before the first transaction (EIP-4788, EIP-2935)."""
    transactions: tuple[TransactionTrace, ...]
    """The requested transactions, in order."""


class ClosedBlock(NamedTuple):
    """The results of the system calls after a block's transactions."""

    changes: StateChanges
    requests_hash: Hash | None
    """EIP-7685; None before Prague."""


class TraceTooLarge(Exception):
    """The recording would exceed `Recording.most_bytes`."""


class TraceTimedOut(Exception):
    """One transaction exceeded its time limit."""


class TracingEngine(Engine, Protocol):
    """An engine that also records. It is stateless and safe to use from several threads, like `Engine`."""

    def trace_block(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        state: StateReader,
        recording: Recording,
        *,
        first: int = 0,
        time_limit: float | None = None,
    ) -> BlockTrace:
        """Execute an accepted block's transactions in order and record some of them.

        The fork's system calls before the transactions run first. Those after the transactions, and everything
        else at a block's end, do not run. A sender with code is not refused here (EIP-3607), because the
        block was accepted.

        Args:
            env: The environment of the block.
            transactions: The block's transactions from the first one on; execution ends with the last one given.
            state: The state after the parent block.
            recording: The parts to record.
            first: Index of the first transaction to record; those before it are only executed.
            time_limit: Seconds for each transaction.

        Raises:
            InvalidBlock: A transaction cannot be in the block.
            TraceTooLarge: More would be recorded than `recording.most_bytes`.
            TraceTimedOut: A transaction took too long.
        """

    def trace_call(
        self,
        env: BlockEnv,
        message: CallMessage,
        state: StateReader,
        recording: Recording,
        *,
        validate: bool = False,
        free: bool = False,
        time_limit: float | None = None,
    ) -> TransactionTrace:
        """Run a call as `Engine.call` does and record it; fees go to the coinbase as in a block.

        Args:
            env: The block environment of the call; `base_fee` counts as 0 when the gas price is 0, and
                neither `validate` nor `free` is on.
            message: The call.
            state: The state on which it runs.
            recording: The parts to record.
            validate: Check the price against the base fee, and the nonce if the message has one, as for a
                transaction (tracing.md 14).
            free: A call whose gas price is 0 pays nothing but reads the block's base fee all the same.
                `validate` takes precedence.
            time_limit: Seconds.

        Raises:
            CallRejected: It could not start.
            TraceTooLarge: More would be recorded than `recording.most_bytes`.
            TraceTimedOut: It took too long.
        """

    def close_block(self, env: BlockEnv, state: StateReader, logs: Sequence[Log]) -> ClosedBlock:
        """Make the fork's system calls that follow a block's transactions (EIP-7002, EIP-7251).

        Args:
            env: The environment of the block.
            state: The state after its last transaction.
            logs: The logs of its transactions in order; deposits are read from them (EIP-6110).

        Raises:
            InvalidBlock: A system call failed, or a deposit cannot be read.
        """
