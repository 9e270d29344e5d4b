"""What an engine records of transactions and calls that are traced: the second half of its port.

An engine re-executes and records; how a recording is written down (callTracer, prestateTracer,
Parity's form) is no engine's business: `cchain_app.tracing` renders it, the same for every engine.
Steps are the exception: there may be millions, so the engine writes their JSON itself.
Rules: tracing.md, the section is named at each member. Pure.
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
    """What the struct logger writes of each instruction (tracing.md 2 and 3)."""

    stack: bool = True
    memory: bool = False
    storage: bool = True
    return_data: bool = False
    limit: int = 0
    """Recording stops once the steps' JSON is longer than this many bytes; 0: never."""


class Recording(NamedTuple):
    """What is recorded of each transaction. Gas, status, output and logs are, always."""

    frames: bool = False
    """Call frames with their logs: callTracer, flatCallTracer, 4byteTracer, `trace_*`, `ots_*`."""
    state: bool = False
    """What was touched, and what changed: prestateTracer and stateDiff."""
    changes: bool = False
    """Only what changed, to go on from there; gas bounds it, so it does not count as bytes."""
    steps: StepOptions | None = None
    vm: bool = False
    """vmTrace (tracing.md 12)."""
    preimages: bool = False
    """What was hashed by KECCAK256."""
    opcodes: bool = False
    """The instructions of each frame and their accesses, for erc7562Tracer; with `frames` only."""
    most_bytes: int = UNBOUNDED
    """Of all steps, VM traces, inputs, outputs and touched state that are recorded in one question, together."""


class FrameLog(NamedTuple):
    """A log and the frame's calls that came before it. Logs that were undone are not recorded."""

    log: Log
    number: int
    """Among the logs of the transaction that were not undone by then, from 0 (tracing.md 4)."""
    position: int
    """How many calls of this frame, SELFDESTRUCT frames too, came before."""


class CodeSize(NamedTuple):
    """How much code an account had when a frame first looked at it or called it."""

    size: int
    """Bytes."""
    opcode: int
    """The instruction that did so."""


class OpcodeUse(NamedTuple):
    """The instructions of a frame and their accesses, also of those that failed (tracing.md 7)."""

    counts: Mapping[int, int] = {}
    """How often each instruction ran, by opcode. GAS counts only if no call follows it."""
    reads: Mapping[Slot, Word] = {}
    """The value of each slot that was read before it was written."""
    writes: Mapping[Slot, int] = {}
    """How often each slot was written."""
    transient_reads: Mapping[Slot, int] = {}
    transient_writes: Mapping[Slot, int] = {}
    code_accesses: tuple[Address, ...] = ()
    """Accounts of which EXTCODESIZE, EXTCODECOPY and EXTCODEHASH looked at the code, in order. An
    EXTCODESIZE that is only compared with zero is left out."""
    code_sizes: Mapping[Address, CodeSize] = {}
    """Of accounts that were called or whose code was looked at."""


class Frame(NamedTuple):
    """A call, creation or SELFDESTRUCT. Frames come depth first: each after its caller.

    Those that never start (depth, balance, nonce) are frames too (tracing.md 9).
    """

    depth: int
    """0 for the transaction's own frame."""
    type: str
    """CALL, CALLCODE, DELEGATECALL, STATICCALL, CREATE, CREATE2 or SELFDESTRUCT."""
    sender: Address
    """Who calls; of a DELEGATECALL the contract that delegates, of a SELFDESTRUCT that contract."""
    to: Address | None
    """Who is called; whose code, of DELEGATECALL and CALLCODE; the beneficiary of a SELFDESTRUCT; the
    address of a creation even if that failed, None where it came to no address (balance, nonce, depth)."""
    value: int | None
    """Wei; of a DELEGATECALL that of the delegating frame, of a STATICCALL None; what a SELFDESTRUCT moved."""
    gas: int
    """Given to the frame; of the top frame the limit without the intrinsic gas; 0 of a SELFDESTRUCT."""
    gas_used: int
    """By this frame and those in it, before refunds; of the top frame without intrinsic gas."""
    input: bytes
    """Call data or init code."""
    output: bytes
    """Return data, deployed code, or data of a revert; empty on other failures."""
    error: str | None
    """Why it failed, in geth's words (tracing.md 8); None of a frame that did not."""
    precompile: bool
    """Whether a precompile was called."""
    logs: tuple[FrameLog, ...] = ()
    """In order; none where the frame or one around it failed."""
    opcodes: OpcodeUse = OpcodeUse()
    """Empty unless it is recorded."""


@dataclass(frozen=True, slots=True)
class TouchedState:
    """The state before a transaction of all that it touches, and what it changes (tracing.md 6)."""

    accounts: Mapping[Address, AccountState | None] = field(default_factory=dict)
    """Before gas is bought; None where there was no account."""
    slots: Mapping[Address, Mapping[Slot, Word]] = field(default_factory=dict)
    codes: Mapping[Address, bytes] = field(default_factory=dict)
    """Code before, of the touched accounts that had any."""
    changes: StateChanges = field(default_factory=StateChanges)
    """By this transaction alone, fees and coinbase included."""


@dataclass(frozen=True, slots=True)
class TransactionTrace:
    """What a transaction or call did, and what was recorded of it."""

    succeeded: bool
    gas_limit: int
    """The transaction's: gas of the top frame plus the intrinsic gas."""
    gas_used: int
    """After refunds, with intrinsic gas and the calldata floor: the receipt's."""
    gas_peak: int
    """Before refunds."""
    output: bytes
    """As of the top frame."""
    error: str | None
    """As of the top frame."""
    logs: tuple[Log, ...]
    """None when it failed."""
    contract_address: Address | None
    """Of a creation, even a failed one."""
    frames: tuple[Frame, ...] = ()
    state: TouchedState | None = None
    """With `Recording.changes` alone nothing but its changes."""
    steps: bytes = b""
    """The struct logger's steps as JSON objects with commas between them, without brackets."""
    vm: bytes = b""
    """The vmTrace as a JSON object; `null` where no code ran."""
    preimages: tuple[bytes, ...] = ()
    """What KECCAK256 was asked for, each once, in order."""


@dataclass(frozen=True, slots=True)
class BlockTrace:
    """A block's transactions traced in one execution of the block."""

    before: StateChanges
    """By the system calls before the first transaction (EIP-4788, EIP-2935)."""
    transactions: tuple[TransactionTrace, ...]
    """Those that were asked for, in order."""


class ClosedBlock(NamedTuple):
    """What the system calls after a block's transactions did."""

    changes: StateChanges
    requests_hash: Hash | None
    """EIP-7685; None before Prague."""


class TraceTooLarge(Exception):
    """More was to be recorded than `Recording.most_bytes`."""


class TraceTimedOut(Exception):
    """One transaction took longer than the time it was given."""


class TracingEngine(Engine, Protocol):
    """An engine that also records. Stateless and safe to use from several threads, like `Engine`."""

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

        The fork's system calls before the transactions run first, those after them and everything
        else at a block's end do not run. That a sender has code refuses nothing here (EIP-3607): what
        a block contains was accepted.

        Args:
            env: The block's own environment.
            transactions: The block's, from its first one on; execution ends with the last given.
            state: After the parent block.
            recording: What to record.
            first: Index of the first one that is recorded; those before it are executed only.
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
            env: What the call sees of its block; `base_fee` counts as 0 when the gas price is 0, and
                neither `validate` nor `free` is on.
            message: The call.
            state: What it runs on.
            recording: What to record.
            validate: Check the price against the base fee, and the nonce if the message names one, as of a
                transaction (tracing.md 14).
            free: A call whose gas price is 0 pays nothing, and reads the block's base fee all the same.
                `validate` outdoes it.
            time_limit: Seconds.

        Raises:
            CallRejected: It could not begin.
            TraceTooLarge: More would be recorded than `recording.most_bytes`.
            TraceTimedOut: It took too long.
        """

    def close_block(self, env: BlockEnv, state: StateReader, logs: Sequence[Log]) -> ClosedBlock:
        """Make the fork's system calls that follow a block's transactions (EIP-7002, EIP-7251).

        Args:
            env: The block's own environment.
            state: After its last transaction.
            logs: Of its transactions in order; deposits are read from them (EIP-6110).

        Raises:
            InvalidBlock: A system call failed, or a deposit cannot be read.
        """
