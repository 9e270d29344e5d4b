"""The EVM's instructions as go-ethereum's jump tables have them: names, stack, price, memory.

The price is the part of an instruction's cost that does not depend on the stack; where the whole cost depends
on the stack, it is 0.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cchain_app.config import FORKS

STACK_LIMIT: Final = 1024
"""Maximum number of items on the stack."""

_NAMES: Final[Mapping[int, str]] = {
    0x00: "STOP ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND",
    0x10: "LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ",
    0x20: "KECCAK256",
    0x30: "ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY "
    "CODESIZE CODECOPY GASPRICE EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH",
    0x40: "BLOCKHASH COINBASE TIMESTAMP NUMBER DIFFICULTY GASLIMIT CHAINID SELFBALANCE BASEFEE "
    "BLOBHASH BLOBBASEFEE",
    0x50: "POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE "
    "MCOPY PUSH0",
    0x60: " ".join(f"PUSH{number}" for number in range(1, 33)),
    0x80: " ".join(f"DUP{number}" for number in range(1, 17)),
    0x90: " ".join(f"SWAP{number}" for number in range(1, 17)),
    0xA0: "LOG0 LOG1 LOG2 LOG3 LOG4",
    0xF0: "CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2",
    0xFA: "STATICCALL",
    0xFD: "REVERT INVALID SELFDESTRUCT",
}
_UNSCHEDULED_NAMES: Final[Mapping[int, str]] = {
    0x4B: "SLOTNUM",
    0xD0: "DATALOAD DATALOADN DATASIZE DATACOPY",
    0xE0: "RJUMP RJUMPI RJUMPV CALLF RETF JUMPF DUPN SWAPN EXCHANGE",
    0xEC: "EOFCREATE",
    0xEE: "RETURNCONTRACT",
    0xF7: "RETURNDATALOAD EXTCALL EXTDELEGATECALL",
    0xFB: "EXTSTATICCALL",
}
"""Names in go-ethereum of instructions that no fork up to Osaka has."""


def _by_opcode(names_from: Mapping[int, str]) -> Mapping[int, str]:
    return {
        first + offset: name
        for first, names in names_from.items()
        for offset, name in enumerate(names.split())
    }


NAMES: Final = _by_opcode(_NAMES)
"""Name by opcode; go-ethereum kept the old name of 0x44."""

_UNSCHEDULED: Final = _by_opcode(_UNSCHEDULED_NAMES)

OPCODES: Final[Mapping[str, int]] = {name: opcode for opcode, name in NAMES.items()}

LOGS: Final = frozenset(range(0xA0, 0xA5))
CREATIONS: Final = frozenset({0xF0, 0xF5})
CALLS: Final = frozenset({0xF1, 0xF2, 0xF4, 0xFA})


def name_of(opcode: int) -> str:
    """Return go-ethereum's name of an instruction; one without a name is named by its opcode."""
    return NAMES.get(opcode) or _UNSCHEDULED.get(opcode) or f"opcode {opcode:#x} not defined"


_INPUTS_BY_COUNT: Final = {
    1: (0x15, 0x19, 0x1E, 0x31, 0x35, 0x3B, 0x3F, 0x40, 0x49, 0x50, 0x51, 0x54, 0x56, 0x5C, 0xFF),
    2: (
        *range(0x01, 0x08), 0x0A, 0x0B, *range(0x10, 0x15), *range(0x16, 0x19), *range(0x1A, 0x1E),
        0x20, 0x52, 0x53, 0x55, 0x57, 0x5D, 0xA0, 0xF3, 0xFD,
    ),
    3: (0x08, 0x09, 0x37, 0x39, 0x3E, 0x5E, 0xA1, 0xF0),
    4: (0x3C, 0xA2, 0xF5),
    5: (0xA3,),
    6: (0xA4, 0xF4, 0xFA),
    7: (0xF1, 0xF2),
}  # fmt: skip
INPUTS: Final[Mapping[int, int]] = {
    **{opcode: count for count, opcodes in _INPUTS_BY_COUNT.items() for opcode in opcodes},
    **{0x7F + count: count for count in range(1, 17)},
    **{0x8F + count: count + 1 for count in range(1, 17)},
}
"""Number of stack items that an instruction needs, if it needs any."""

_WITHOUT_OUTPUT: Final = frozenset({
    0x00, 0x37, 0x39, 0x3C, 0x3E, 0x50, 0x52, 0x53, 0x55, 0x56, 0x57, 0x5B, 0x5D, 0x5E,
    *LOGS, 0xF3, 0xFD, 0xFE, 0xFF,
})  # fmt: skip
OUTPUTS: Final[Mapping[int, int]] = {
    **{opcode: int(opcode not in _WITHOUT_OUTPUT) for opcode in NAMES},
    **{0x7F + count: count + 1 for count in range(1, 17)},
    **{0x8F + count: count + 1 for count in range(1, 17)},
}
"""Number of items that an instruction leaves on the stack; DUP and SWAP count all items that they reach."""

_COSTS: Final[Mapping[int, str]] = {
    1: "JUMPDEST",
    2: "ADDRESS ORIGIN CALLER CALLVALUE CALLDATASIZE CODESIZE GASPRICE RETURNDATASIZE COINBASE "
    "TIMESTAMP NUMBER DIFFICULTY GASLIMIT CHAINID BASEFEE BLOBBASEFEE POP PC MSIZE GAS PUSH0",
    3: "ADD SUB LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CALLDATALOAD CALLDATACOPY "
    "CODECOPY RETURNDATACOPY BLOBHASH MLOAD MSTORE MSTORE8 MCOPY",
    5: "MUL DIV SDIV MOD SMOD SIGNEXTEND CLZ SELFBALANCE",
    8: "ADDMOD MULMOD JUMP",
    10: "JUMPI",
    20: "BLOCKHASH",
    30: "KECCAK256",
    100: "TLOAD TSTORE",
    32_000: "CREATE CREATE2",
}
_FIXED_COSTS: Final[Mapping[int, int]] = {
    **{OPCODES[name]: cost for cost, names in _COSTS.items() for name in names.split()},
    **dict.fromkeys(range(0x60, 0xA0), 3),
}
_COSTS_BY_FORK: Final[Mapping[str, Sequence[tuple[str, int]]]] = {
    "SLOAD": (("berlin", 0), ("istanbul", 800), ("tangerine_whistle", 200), ("frontier", 50)),
    "BALANCE": (("berlin", 100), ("istanbul", 700), ("tangerine_whistle", 400), ("frontier", 20)),
    "EXTCODEHASH": (("berlin", 100), ("istanbul", 700), ("frontier", 400)),
    "EXTCODESIZE": (("berlin", 100), ("tangerine_whistle", 700), ("frontier", 20)),
    "EXTCODECOPY": (("berlin", 100), ("tangerine_whistle", 700), ("frontier", 20)),
    "CALL": (("berlin", 100), ("tangerine_whistle", 700), ("frontier", 40)),
    "CALLCODE": (("berlin", 100), ("tangerine_whistle", 700), ("frontier", 40)),
    "DELEGATECALL": (("berlin", 100), ("tangerine_whistle", 700), ("frontier", 40)),
    "STATICCALL": (("berlin", 100), ("frontier", 700)),
    "SELFDESTRUCT": (("tangerine_whistle", 5000), ("frontier", 0)),
}
"""Newest first."""


def fixed_cost(opcode: int, fork: str) -> int:
    """Return the part of an instruction's gas that does not depend on the stack."""
    if opcode in _FIXED_COSTS:
        return _FIXED_COSTS[opcode]
    age = FORKS.index(fork) if fork in FORKS else len(FORKS)
    for first, cost in _COSTS_BY_FORK.get(NAMES.get(opcode, ""), ()):
        if FORKS.index(first) <= age:
            return cost
    return 0


_AREAS: Final[Mapping[int, Sequence[tuple[int, int | None]]]] = {
    0x20: ((0, 1),),
    0x37: ((0, 2),),
    0x39: ((0, 2),),
    0x3C: ((1, 3),),
    0x3E: ((0, 2),),
    0x51: ((0, None),),
    0x52: ((0, None),),
    0x53: ((0, None),),
    0x5E: ((0, 2), (1, 2)),
    **dict.fromkeys(LOGS, ((0, 1),)),
    0xF0: ((1, 2),),
    0xF1: ((3, 4), (5, 6)),
    0xF2: ((3, 4), (5, 6)),
    0xF3: ((0, 1),),
    0xF4: ((2, 3), (4, 5)),
    0xF5: ((1, 2),),
    0xFA: ((2, 3), (4, 5)),
    0xFD: ((0, 1),),
}
"""Memory that an instruction needs: stack positions of offset and size, where 0 is the top."""


def memory_areas(opcode: int, items: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield offset and size of the memory areas that an instruction needs.

    Args:
        opcode: The instruction.
        items: The stack from its top.
    """
    for offset, size in _AREAS.get(opcode, ()):
        if max(offset, size or 0) < len(items):
            yield items[offset], 1 if size is None else items[size]
