"""Write the specification's instructions in the formats of tracers: struct logger and vmTrace.

An instruction is written in two parts, for the state before it and for its effects. The frame that it
calls is written between the two.

Unspecified: in a vmTrace DUP and SWAP push all items that they reach, as in Parity and Reth.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from cchain_app.evm.opcodes import OUTPUTS, fixed_cost, name_of
from cchain_app.evm.reference_failures import LastStep, step_words
from cchain_app.evm.tracing import StepOptions
from primitives.evm import Address

_SLOAD: Final = 0x54
_SSTORE: Final = 0x55
_MAX_COST: Final = 2**64 - 1
_WORD: Final = 32

Count = Callable[[int], None]
"""Takes the number of newly recorded bytes."""


@dataclass(slots=True)
class InstructionStep:
    """An instruction, with its cost so far."""

    evm: Any
    pc: int
    last: LastStep
    charged: int = 0
    error: Exception | None = None
    """The exception with which it failed."""
    written: bool = False
    """Whether it was written, in part or completely."""
    returned: int = 0
    """Bytes that the called frame returned; forks before Byzantium keep no return data."""
    before: bytes = b""
    """The struct logger's JSON of stack, memory and return data."""

    @property
    def opcode(self) -> int:
        """The instruction."""
        return self.last.opcode

    @property
    def contract(self) -> Address:
        """The contract whose storage and balance the instruction uses."""
        return Address(bytes(self.evm.message.current_target))

    def cost(self, fork: str) -> int:
        """Return the cost of the step; if it cannot be executed, the part of it that is known by then."""
        if self.error is None:
            return self.charged
        fixed = fixed_cost(self.opcode, fork)
        if type(self.error).__name__ == "InvalidOpcode":
            return 0
        words = step_words(self.error, self.last)
        if words is None:
            return self.charged
        is_known = words == "out of gas" and fixed <= self.last.gas and self.charged
        return min(self.charged, _MAX_COST) if is_known else fixed


class StepLog:
    """The struct logger's steps (tracing.md 3)."""

    def __init__(self, options: StepOptions, fork: str, count: Count) -> None:
        """Write the parts that the options select; report all bytes to `count`."""
        self._options = options
        self._fork = fork
        self._count = count
        self._written: list[bytes] = []
        self._size = 0
        self._storage: dict[Address, dict[bytes, bytes]] = {}

    def joined(self) -> bytes:
        """Return the steps with commas between them."""
        return b",".join(self._written)

    @property
    def _is_open(self) -> bool:
        return not self._options.limit or self._size <= self._options.limit

    def begin(self, step: InstructionStep) -> None:
        """Save the values that the step is going to change."""
        if not self._is_open:
            return
        evm, parts = step.evm, []
        if self._options.stack:
            items = ",".join(f'"{int(item):#x}"' for item in evm.stack)
            parts.append(f',"stack":[{items}]')
        if self._options.return_data and (returned := _returned(evm)):
            parts.append(f',"returnData":"0x{returned.hex()}"')
        if self._options.memory and evm.memory:
            words = ",".join(
                f'"0x{evm.memory[start : start + _WORD].hex()}"'
                for start in range(0, len(evm.memory), _WORD)
            )
            parts.append(f',"memory":[{words}]')
        step.before = "".join(parts).encode()

    def _slots(self, step: InstructionStep) -> str:
        """Return the slots of the contract that were accessed so far, including this step's."""
        slot = step.last.items[0].to_bytes(_WORD, "big")
        if step.opcode == _SSTORE:
            value = step.last.items[1]
        else:
            value = int(step.evm.message.block_env.state.slot(step.contract, slot))
        seen = self._storage.setdefault(step.contract, {})
        seen[slot] = value.to_bytes(_WORD, "big")
        members = (f'"0x{slot.hex()}":"0x{seen[slot].hex()}"' for slot in sorted(seen))
        return f',"storage":{{{",".join(members)}}}'

    def end(self, step: InstructionStep, refund: int) -> None:
        """Write the step, whose cost and refund are known now."""
        if not self._is_open:
            return
        head = (
            f'{{"pc":{step.pc},"op":"{name_of(step.opcode)}","gas":{step.last.gas},'
            f'"gasCost":{step.cost(self._fork)},"depth":{int(step.evm.message.depth) + 1}'
        )
        words = None if step.error is None else step_words(step.error, step.last)
        if words is not None:
            head += f',"error":"{words}"'
        tail = f',"refund":{refund}}}' if refund else "}"
        if words is None and self._options.storage and step.opcode in {_SLOAD, _SSTORE}:
            tail = self._slots(step) + tail
        text = head.encode() + step.before + tail.encode()
        self._size += len(text)
        self._count(len(text) + bool(self._written))
        self._written.append(text)


class VmLog:
    """The vmTrace of Parity (tracing.md 12)."""

    def __init__(self, fork: str, count: Count) -> None:
        """Report all bytes to `count`."""
        self._fork = fork
        self._count = count
        self._written: list[bytes] = []
        self._has_steps: list[bool] = []
        """For each frame that runs code, whether it has steps."""

    def joined(self) -> bytes:
        """Return the object, or null."""
        return b"".join(self._written) or b"null"

    def _write(self, text: str) -> None:
        data = text.encode()
        self._count(len(data))
        self._written.append(data)

    def begin_frame(self, code: bytes) -> None:
        """Begin the frame that the last written step calls."""
        self._has_steps.append(False)
        self._write(f'{{"code":"0x{code.hex()}","ops":[')

    def end_frame(self) -> None:
        """End the innermost frame."""
        self._has_steps.pop()
        self._write("]}")

    def begin(self, step: InstructionStep) -> None:
        """Write a step up to the frame that it calls."""
        comma = "," if self._has_steps[-1] else ""
        self._has_steps[-1] = True
        cost, name = step.cost(self._fork), name_of(step.opcode)
        self._write(f'{comma}{{"cost":{cost},"pc":{step.pc},"op":"{name}","sub":')

    def end(self, step: InstructionStep, *, called: bool) -> None:
        """Write the effects of the step.

        Args:
            step: The step.
            called: Whether a frame was written for it.
        """
        if not called:
            self._write("null")
        if step.error is not None and type(step.error).__name__ != "Revert":
            self._write(',"ex":null}')
            return
        evm = step.evm
        count = OUTPUTS.get(step.opcode, 0)
        pushed = ",".join(f'"{int(item):#x}"' for item in evm.stack[-count:]) if count else ""
        stored = "null"
        if step.opcode == _SSTORE:
            key, value = step.last.items[:2]
            stored = f'{{"key":"{key:#x}","val":"{value:#x}"}}'
        self._write(
            f',"ex":{{"mem":{_memory(step)},"push":[{pushed}],"store":{stored},'
            f'"used":{int(evm.gas_left)}}}}}'
        )


_WRITERS: Final = {
    0x37: (0, 2),
    0x39: (0, 2),
    0x3E: (0, 2),
    0x5E: (0, 2),
    0x3C: (1, 3),
    0xF1: (5, 6),
    0xF2: (5, 6),
    0xF4: (4, 5),
    0xFA: (4, 5),
}
"""Stack positions of offset and size of the memory that an instruction writes."""
_RETURNED: Final = frozenset({0xF1, 0xF2, 0xF4, 0xFA})
"""Instructions that write at most as many bytes as were returned."""
_SIZES: Final = {0x52: 32, 0x53: 1}
"""MSTORE and MSTORE8."""


def _returned(evm: Any) -> bytes:
    """Return the return data buffer; before Byzantium there is no such buffer."""
    return bytes(getattr(evm, "return_data", b""))


def _memory(step: InstructionStep) -> str:
    items, opcode = step.last.items, step.opcode
    if opcode in _SIZES:
        offset, size = items[0], _SIZES[opcode]
    elif opcode in _WRITERS:
        offset, size = (items[place] for place in _WRITERS[opcode])
    else:
        return "null"
    if opcode in _RETURNED:
        size = min(size, step.returned)
    if not size:
        return "null"
    written = bytes(step.evm.memory[offset : offset + size])
    return f'{{"data":"0x{written.hex()}","off":{offset}}}'
