"""Geth's words for how calls fail and why transactions are refused. Which engine asks is all one."""

from primitives.evm import Address
from primitives.hexadecimal import checksum_address

REVERTED = "execution reverted"
OUT_OF_GAS = "out of gas"
REENTRANCY = "out of gas: not enough gas for reentrancy sentry"
INVALID_JUMP = "invalid jump destination"
WRITE_PROTECTION = "write protection"
RETURN_DATA_OUT_OF_BOUNDS = "return data out of bounds"
ADDRESS_COLLISION = "contract address collision"
CALL_DEPTH = "max call depth exceeded"
CODE_TOO_LARGE = "max code size exceeded"
CODE_STORAGE = "contract creation code storage out of gas"
CODE_PREFIX = "invalid code: must not begin with 0xef"
PRECOMPILE = "precompile failed"

STACK_LIMIT = 1024
"""Items that the stack holds at most."""

_INPUTS_BY_COUNT = {
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
_INPUTS = {opcode: count for count, opcodes in _INPUTS_BY_COUNT.items() for opcode in opcodes}
_INPUTS |= {0x7F + count: count for count in range(1, 17)}
_INPUTS |= {0x8F + count: count + 1 for count in range(1, 17)}

_NEW_NAMES = {
    0x1B: "SHL", 0x1C: "SHR", 0x1D: "SAR", 0x1E: "CLZ", 0x3D: "RETURNDATASIZE",
    0x3E: "RETURNDATACOPY", 0x3F: "EXTCODEHASH", 0x46: "CHAINID", 0x47: "SELFBALANCE",
    0x48: "BASEFEE", 0x49: "BLOBHASH", 0x4A: "BLOBBASEFEE", 0x5C: "TLOAD", 0x5D: "TSTORE",
    0x5E: "MCOPY", 0x5F: "PUSH0", 0xF4: "DELEGATECALL", 0xF5: "CREATE2", 0xFA: "STATICCALL",
    0xFD: "REVERT", 0xFE: "INVALID",
}  # fmt: skip
"""Instructions that some fork does not have, and the one that none has."""


def invalid_opcode(opcode: int) -> str:
    """Return the words for an instruction that the fork does not have."""
    return f"invalid opcode: {_NEW_NAMES.get(opcode, f'opcode {opcode:#x} not defined')}"


def stack_underflow(height: int, opcode: int) -> str:
    """Return the words for an instruction that wants more items than there are."""
    return f"stack underflow ({height} <=> {_INPUTS.get(opcode, 0)})"


def stack_overflow(height: int) -> str:
    """Return the words for a full stack; all instructions that fill it push one item net."""
    return f"stack limit reached {height} ({STACK_LIMIT - 1})"


def insufficient_funds(sender: Address, have: int, want: int) -> str:
    """Return the words for a sender that cannot pay for gas and value."""
    return (
        f"insufficient funds for gas * price + value: address {checksum_address(sender)} "
        f"have {have} want {want}"
    )


def fee_below_base_fee(sender: Address, fee: int, base_fee: int) -> str:
    """Return the words for a fee cap that the block's base fee exceeds."""
    return (
        f"max fee per gas less than block base fee: address {checksum_address(sender)}, "
        f"maxFeePerGas: {fee}, baseFee: {base_fee}"
    )


def tip_above_fee(sender: Address, tip: int, fee: int) -> str:
    """Return the words for a tip that is higher than the fee it is part of."""
    return (
        f"max priority fee per gas higher than max fee per gas: address "
        f"{checksum_address(sender)}, maxPriorityFeePerGas: {tip}, maxFeePerGas: {fee}"
    )


def intrinsic_gas(have: int, want: int) -> str:
    """Return the words for gas that does not even pay for the transaction's bytes."""
    return f"intrinsic gas too low: have {have}, want {want}"


def floor_gas(have: int, want: int) -> str:
    """Return the words for gas below the floor of EIP-7623."""
    return f"insufficient gas for floor data gas cost: have {have}, want {want}"


def initcode_size(have: int, limit: int) -> str:
    """Return the words for init code that is too long (EIP-3860)."""
    return f"max initcode size exceeded: code size {have} limit {limit}"


def gas_cap(have: int, cap: int) -> str:
    """Return the words for a transaction above the gas cap of EIP-7825."""
    return f"transaction gas limit too high (cap: {cap}, tx: {have})"


def nonce_mismatch(sender: Address, have: int, state: int) -> str:
    """Return the words for a nonce that is not the account's next."""
    kind = "low" if have < state else "high"
    return f"nonce too {kind}: address {checksum_address(sender)}, tx: {have} state: {state}"


def sender_not_eoa(sender: Address) -> str:
    """Return the words for a sender with code (EIP-3607)."""
    return f"sender not an eoa: address {checksum_address(sender)}"
