"""Call frames, with their logs, as they are recorded from the specification."""

from dataclasses import dataclass, field
from typing import Any, Final

from ethereum_types.bytes import Bytes0, Bytes20, Bytes32
from ethereum_types.numeric import Uint

from cchain_app.evm import failures
from cchain_app.evm.engine import Log
from cchain_app.evm.opcodes import CREATIONS, memory_areas, name_of
from cchain_app.evm.reference_failures import LastStep, ReturnedCode, frame_words
from cchain_app.evm.reference_opcodes import FrameOpcodes
from cchain_app.evm.reference_package import ForkModules
from cchain_app.evm.reference_steps import InstructionStep
from cchain_app.evm.tracing import Frame, FrameLog
from primitives.evm import Address

CALL: Final = 0xF1
CALLCODE: Final = 0xF2
STATICCALL: Final = 0xFA
CREATE: Final = 0xF0

_DEPTH_LIMIT: Final = 1024
_MAX_NONCE: Final = 2**64 - 1


@dataclass(slots=True)
class OpenFrame:
    """A frame that has not ended, with the details of its instructions."""

    frame: Frame
    refund: int = 0
    """Refund counter of the frames around it, and of authorizations, when it began."""
    index: int = 0
    """Its index among the frames."""
    logs_before: int = 0
    """Number of the transaction's logs when it began, without those undone by then."""
    calls: int = 0
    step: InstructionStep | None = None
    """Its last instruction."""
    calling: bool = False
    """Whether that instruction has begun a frame."""
    callee_runs: bool = False
    """Whether that frame runs code."""
    balance: int = 0
    """The contract's balance before its last instruction."""
    nonce: int = 0
    """The contract's nonce; likewise."""
    runs: bool = False
    """Whether it runs code."""
    returned: ReturnedCode | None = None
    """The output of its code, if the code finished."""
    precompile: bool = False
    opcodes: FrameOpcodes = field(default_factory=FrameOpcodes)
    """The accesses of its instructions, if they are recorded."""


@dataclass(slots=True)
class Frames:
    """The frames of a transaction, in depth-first order."""

    ended: list[Frame] = field(default_factory=list)
    """All frames; an open one is here as it was when it began."""
    logs: list[list[FrameLog]] = field(default_factory=list)
    """The logs of each frame."""
    _logs: int = 0

    def open(self, frame: Frame, refund: int) -> OpenFrame:
        """Begin a frame."""
        opened = OpenFrame(frame, refund, len(self.ended), self._logs)
        self.add(frame)
        return opened

    def add(self, frame: Frame) -> None:
        """Add a frame that runs no code."""
        self.ended.append(frame)
        self.logs.append([])

    def log(self, frame: OpenFrame, log: Log) -> None:
        """Add a log of an open frame."""
        self.logs[frame.index].append(FrameLog(log, self._logs, frame.calls))
        self._logs += 1

    def close(self, frame: OpenFrame, evm: Any) -> Frame:
        """End a frame; if it failed, drop its logs and those of all frames within it."""
        found = _ended(frame, evm)
        self.ended[frame.index] = found
        if found.error is not None:
            self._logs = frame.logs_before
            for logs in self.logs[frame.index :]:
                logs.clear()
        return found

    def all(self) -> tuple[Frame, ...]:
        """Return the frames with their logs."""
        return tuple(
            frame._replace(logs=tuple(logs))
            for frame, logs in zip(self.ended, self.logs, strict=True)
        )


def begun(message: Any, caller: InstructionStep | None) -> Frame:
    """Return a frame as it begins.

    Args:
        message: The specification's message.
        caller: The instruction that makes the call; None: the transaction makes it.
    """
    creation = message.target == Bytes0()
    opcode = (CREATE if creation else CALL) if caller is None else caller.opcode
    sender = message.caller if caller is None else caller.contract
    to = message.current_target
    if caller is not None and not creation:
        to = address_of(caller.last.items[1])
    return Frame(
        depth=int(message.depth),
        type=name_of(opcode),
        sender=Address(bytes(sender)),
        to=Address(bytes(to)),
        value=None if opcode == STATICCALL else int(message.value),
        gas=int(message.gas),
        gas_used=0,
        input=bytes(message.code if creation else message.data),
        output=b"",
        error=None,
        precompile=False,
    )


def _ended(frame: OpenFrame, evm: Any) -> Frame:
    error = None
    if evm.error is not None:
        last = LastStep() if frame.step is None else frame.step.last
        error = frame_words(
            evm.error,
            last,
            creation=evm.message.target == Bytes0(),
            returned=frame.returned,
        )
    return frame.frame._replace(
        gas_used=int(evm.message.gas) - int(evm.gas_left),
        output=bytes(evm.output) if error in {None, failures.REVERTED} else b"",
        error=error,
        precompile=frame.precompile,
        opcodes=frame.opcodes.recorded(),
    )


def address_of(word: int) -> Address:
    """Return the address in a stack word."""
    return Address(word.to_bytes(32, "big")[12:])


def not_begun(opened: OpenFrame, step: InstructionStep, fork: ForkModules) -> Frame:
    """Return the frame that an open frame's last instruction tried to begin but could not.

    The reasons are checked in go-ethereum's order: depth, balance, nonce, and an address collision.
    """
    creation = step.opcode in CREATIONS
    value = _value(step)
    error = _reason(opened, step, value or 0, creation=creation)
    left = int(step.evm.gas_left)
    collided = error == failures.ADDRESS_COLLISION
    if creation and not collided:
        gas = most_gas(left, fork)
    else:
        gas = abs(step.last.gas - step.charged - left)
    to: Address | None = address_of(step.last.items[1])
    if creation:
        to = created_address(step, opened.nonce, fork) if collided else None
    return Frame(
        depth=int(step.evm.message.depth) + 1,
        type=name_of(step.opcode),
        sender=step.contract,
        to=to,
        value=value,
        gas=gas,
        gas_used=gas if collided else 0,
        input=_input(step),
        output=b"",
        error=error,
        precompile=False,
    )


def _value(step: InstructionStep) -> int | None:
    if step.opcode in CREATIONS:
        return step.last.items[0]
    if step.opcode in {CALL, CALLCODE}:
        return step.last.items[2]
    return None if step.opcode == STATICCALL else int(step.evm.message.value)


def _reason(opened: OpenFrame, step: InstructionStep, value: int, *, creation: bool) -> str:
    if int(step.evm.message.depth) + 1 > _DEPTH_LIMIT:
        return failures.CALL_DEPTH
    if opened.balance < value:
        return failures.NO_FUNDS
    if creation and opened.nonce == _MAX_NONCE:
        return failures.NONCE_OVERFLOW
    return failures.ADDRESS_COLLISION


def _input(step: InstructionStep) -> bytes:
    offset, size = next(memory_areas(step.opcode, step.last.items))
    return bytes(step.evm.memory[offset : offset + size]) if size else b""


def most_gas(left: int, fork: ForkModules) -> int:
    """Return how much of the remaining gas a creation passes on: all but a 64th since EIP-150."""
    return left - left // 64 if hasattr(fork.gas, "max_message_call_gas") else left


def created_address(step: InstructionStep, nonce: int, fork: ForkModules) -> Address:
    """Return the address of the contract that CREATE or CREATE2 creates."""
    creator = Bytes20(step.contract)
    if step.opcode == CREATE:
        return Address(bytes(fork.address.compute_contract_address(creator, Uint(nonce))))
    salt = Bytes32(step.last.items[3].to_bytes(32, "big"))
    address = fork.address.compute_create2_contract_address(creator, salt, _input(step))
    return Address(bytes(address))
