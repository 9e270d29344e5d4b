"""Record the execution of one transaction by the specification, in the port's format.

Frames come from `reference_hooks`, instructions from the specification's events.
"""

from typing import Any, Final

from ethereum_types.bytes import Bytes0

from cchain_app.evm import failures
from cchain_app.evm.coreth import CORETH, stored_slot
from cchain_app.evm.opcodes import CALLS, CREATIONS, LOGS
from cchain_app.evm.reference_block import log_value
from cchain_app.evm.reference_failures import ReturnedCode, is_delegation
from cchain_app.evm.reference_frames import (
    Frames,
    OpenFrame,
    address_of,
    begun,
    created_address,
    not_begun,
)
from cchain_app.evm.reference_opcodes import Opcodes, hashed_bytes
from cchain_app.evm.reference_package import ForkModules
from cchain_app.evm.reference_steps import InstructionStep, StepLog, VmLog
from cchain_app.evm.reference_trace import Listeners, step_of
from cchain_app.evm.tracing import Frame, Recording, TraceTooLarge
from cchain_app.txs.transaction import DELEGATION_PREFIX
from primitives.evm import Address, Slot

_SELFDESTRUCT: Final = 0xFF
_KECCAK256: Final = 0x20
_LOOKING: Final = frozenset({0x31, 0x3B, 0x3C, 0x3F, _SELFDESTRUCT})
"""BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH and SELFDESTRUCT."""
_STORING: Final = frozenset({0x54, 0x55})
"""SLOAD and SSTORE."""

FRAME_BYTES: Final = 256
"""Bytes that a frame counts as, besides its data: there may be very many empty frames."""


ACCOUNT_BYTES: Final = 256
"""Bytes that a touched account counts as, besides its code."""

SLOT_BYTES: Final = 128
"""Bytes that a touched slot counts as."""


class RecordingAllowance:
    """The number of bytes that may still be recorded, for all transactions of a request together."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes

    def take(self, count: int) -> None:
        """Subtract recorded bytes.

        Raises:
            TraceTooLarge: They exceed the limit.
        """
        self._left -= count
        if self._left < 0:
            raise TraceTooLarge("response too large")


class Recorder:
    """Records one transaction or call."""

    def __init__(
        self, recording: Recording, fork: ForkModules, fork_name: str, allowance: RecordingAllowance
    ) -> None:
        """Record the requested parts, under the rules of a fork; `fork_name` is the port's name of it."""
        self._recording = recording
        self._fork = fork
        self._allowance = allowance
        self._frames = Frames()
        self._open: list[OpenFrame] = []
        self._authorized = 0
        options = recording.steps
        self._steps = None if options is None else StepLog(options, fork_name, allowance.take)
        self._vm = VmLog(fork_name, allowance.take) if recording.vm else None
        self.accounts: set[Address] = set()
        """The touched accounts."""
        self.slots: dict[Address, set[Slot]] = {}
        self._opcodes = Opcodes()
        self._preimages: dict[bytes, None] = {}
        self.gas_left = 0
        """Remaining gas of the top frame."""

    @property
    def top(self) -> Frame:
        """The frame of the transaction."""
        return self._frames.ended[0]

    def frames(self) -> tuple[Frame, ...]:
        """Return all frames with their logs, if they are requested."""
        return self._frames.all() if self._recording.frames else ()

    def steps(self) -> bytes:
        """Return the struct logger's steps."""
        return b"" if self._steps is None else self._steps.joined()

    def vm(self) -> bytes:
        """Return the vmTrace."""
        return b"" if self._vm is None else self._vm.joined()

    def preimages(self) -> tuple[bytes, ...]:
        """Return the distinct inputs that were hashed."""
        return tuple(self._preimages)

    def count_state(self, accounts: int, slots: int, code: int) -> None:
        """Count accounts, slots and bytes of code that were touched.

        Raises:
            TraceTooLarge: They exceed the limit.
        """
        self._allowance.take(ACCOUNT_BYTES * accounts + SLOT_BYTES * slots + code)

    def begin_message(self, message: Any) -> None:
        """Record the recipient, and the account to which it had delegated before the transaction."""
        self.accounts.add(Address(bytes(message.current_target)))
        if message.code_address is not None:
            self._touch_callee(message.block_env.state, Address(bytes(message.code_address)))

    def end_message(self, message: Any, output: Any) -> None:
        """Record the result of the transaction; if its contract cannot be created, it has no frame yet."""
        self.gas_left = int(output.gas_left)
        if not self._frames.ended:
            frame = begun(message, None)
            self._frames.add(frame._replace(gas_used=frame.gas, error=failures.ADDRESS_COLLISION))

    def authorize(self, refund: int) -> None:
        """Record the refund of the authorizations."""
        self._authorized = refund

    def enter(self, message: Any) -> None:
        """Begin a frame."""
        refund, caller = self._authorized, None
        if self._open:
            around = self._open[-1]
            around.calling = True
            refund = around.refund + int(message.parent_evm.refund_counter)
            caller = around.step
            self._write_begun(around)
            around.calls += 1
        frame = begun(message, caller)
        self._touch_frame(message, frame)
        self._count_frame(frame)
        opened = self._frames.open(frame, refund)
        self._open.append(opened)
        if self._vm is not None and message.code and not self._is_precompile(message):
            opened.runs = True
            for waiting in reversed(self._open[:-1]):
                waiting.callee_runs = True
                if waiting.step is not None:
                    break
            self._vm.begin_frame(bytes(message.code))

    def _is_precompile(self, message: Any) -> bool:
        return message.code_address in self._fork.interpreter.PRE_COMPILED_CONTRACTS

    def _touch_frame(self, message: Any, frame: Frame) -> None:
        if frame.to is None:
            return
        self.accounts.add(frame.to)
        if frame.depth and not frame.type.startswith("CREATE"):
            self._touch_callee(message.block_env.state, frame.to)

    def _touch_callee(self, state: Any, address: Address) -> None:
        """Record an account that is called, and the account to which it delegates."""
        self.accounts.add(address)
        account = state.account(address)
        code = b"" if account is None else bytes(account.code)
        if is_delegation(code):
            self.accounts.add(Address(code[len(DELEGATION_PREFIX) :]))

    def _count_frame(self, frame: Frame) -> None:
        if self._recording.frames:
            self._allowance.take(FRAME_BYTES + len(frame.input))

    def leave(self, evm: Any) -> None:
        """End the innermost frame."""
        opened = self._open.pop()
        frame = self._frames.close(opened, evm)
        if self._open and (caller := self._open[-1].step) is not None:
            caller.returned = len(frame.output)
        if self._recording.frames:
            self._allowance.take(len(frame.output))
        if self._vm is not None and opened.runs:
            self._vm.end_frame()

    def listeners(self) -> Listeners:
        """Return the listener for each of the specification's events."""
        from ethereum import trace

        return {
            trace.OpStart: self._begin_step,
            trace.GasAndRefund: self._charge,
            trace.OpEnd: self._end_step,
            trace.OpException: self._fail,
            trace.EvmStop: self._stop,
            trace.PrecompileStart: self._begin_precompile,
            trace.PrecompileEnd: self._end_precompile,
        }

    def _begin_precompile(self, evm: Any, _: Any) -> None:
        # A denied creation fails in a precompile's place.
        self._open[-1].precompile = evm.message.target != Bytes0()

    def _end_precompile(self, evm: Any, _: Any) -> None:
        opened = self._open[-1]
        if opened.calls:
            return  # the logs are those of the frame that it called
        for log in evm.logs:
            self._frames.log(opened, log_value(log))

    def _begin_step(self, evm: Any, event: Any) -> None:
        self._start(evm, event.op.value)

    def _start(self, evm: Any, opcode: int) -> InstructionStep:
        step = InstructionStep(evm, int(evm.pc), step_of(evm, opcode))
        opened = self._open[-1]
        opened.step, opened.calling, opened.callee_runs = step, False, False
        if opcode in CALLS or opcode in CREATIONS or opcode == _SELFDESTRUCT:
            account = evm.message.block_env.state.account(step.contract)
            opened.balance = 0 if account is None else int(account.balance)
            opened.nonce = 0 if account is None else int(account.nonce)
        if self._steps is not None:
            self._steps.begin(step)
        if self._recording.opcodes:
            self._allowance.take(self._opcodes.record(step, opened.opcodes))
        if opcode == _KECCAK256 and self._recording.preimages:
            self._note_preimage(step)
        return step

    def _charge(self, _: Any, event: Any) -> None:
        step = self._open[-1].step
        if step is not None and not step.written:
            step.charged += event.gas_cost

    def _write_begun(self, opened: OpenFrame) -> None:
        """Write the part of the last instruction that comes before the frame that it calls."""
        step = opened.step
        if step is None or step.written:
            return
        step.written = True
        if self._steps is not None:
            self._steps.end(step, opened.refund + int(step.evm.refund_counter))
        if self._vm is not None:
            self._vm.begin(step)

    def _write_ended(self, opened: OpenFrame, *, called: bool) -> None:
        self._write_begun(opened)
        if self._vm is not None and opened.step is not None:
            self._vm.end(opened.step, called=called)

    def _end_step(self, evm: Any, _: Any) -> None:
        opened = self._open[-1]
        step = opened.step
        if step is None:
            return
        if (step.opcode in CALLS or step.opcode in CREATIONS) and not opened.calling:
            self._add_not_begun(opened, step)
        self._note(evm, opened, step)
        self._write_ended(opened, called=opened.callee_runs)

    def _add_not_begun(self, opened: OpenFrame, step: InstructionStep) -> None:
        frame = not_begun(opened, step, self._fork)
        opened.calls += 1
        self._count_frame(frame)
        self._frames.add(frame)
        if step.opcode in CREATIONS:
            self.accounts.add(created_address(step, opened.nonce, self._fork))
        elif frame.to is not None:
            self._touch_callee(step.evm.message.block_env.state, frame.to)

    def _note(self, evm: Any, opened: OpenFrame, step: InstructionStep) -> None:
        """Record the effects of an instruction that was executed."""
        opcode, items = step.opcode, step.last.items
        if opcode in LOGS:
            self._frames.log(opened, log_value(evm.logs[-1]))
        elif opcode in _LOOKING:
            self.accounts.add(address_of(items[0]))
        elif opcode in _STORING:
            self.accounts.add(step.contract)
            slot = Slot(items[0].to_bytes(32, "big"))
            if self._fork.name == CORETH:
                slot = stored_slot(slot)
            self.slots.setdefault(step.contract, set()).add(slot)
        if opcode == _SELFDESTRUCT:
            self._add_destruction(opened, step)

    def _note_preimage(self, step: InstructionStep) -> None:
        preimage = hashed_bytes(step)
        if preimage is not None and preimage not in self._preimages:
            self._allowance.take(len(preimage))
            self._preimages[preimage] = None

    def _add_destruction(self, opened: OpenFrame, step: InstructionStep) -> None:
        opened.calls += 1
        frame = Frame(
            depth=int(step.evm.message.depth) + 1,
            type="SELFDESTRUCT",
            sender=step.contract,
            to=address_of(step.last.items[0]),
            value=opened.balance,
            gas=0,
            gas_used=0,
            input=b"",
            output=b"",
            error=None,
            precompile=False,
        )
        self._count_frame(frame)
        self._frames.add(frame)

    def _fail(self, evm: Any, event: Any) -> None:
        """End the frame's last instruction, which failed, unless the frame is a precompile."""
        opened = self._open[-1]
        if type(event.error).__name__ == "InvalidOpcode":
            self._start(evm, evm.code[int(evm.pc)])
        if opened.step is not None:
            opened.step.error = event.error
            self._write_ended(opened, called=False)

    def _stop(self, evm: Any, _: Any) -> None:
        """Record that a frame's code finished; if it ran past its end, add a STOP."""
        opened = self._open[-1]
        if evm.running and evm.code:
            self._start(evm, 0)
            self._write_ended(opened, called=False)
        opened.returned = ReturnedCode(len(evm.output), int(evm.gas_left))
