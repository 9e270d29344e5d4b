"""Geth's messages for failed calls and refused transactions, the same for both engines, and the reason in revert data."""

import re
from typing import Final

from cchain_app.evm import opcodes
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
PRECOMPILE = "precompiled failed"
GAS_OVERFLOW = "gas uint64 overflow"
LARGE_MEMORY = f"{OUT_OF_GAS}: {GAS_OVERFLOW}"
INITCODE = "max initcode size exceeded"
NO_FUNDS = "insufficient balance for transfer"
NONCE_OVERFLOW = "nonce uint64 overflow"


def memory_limit(limit: int) -> str:
    """Return the message for memory above the limit of the chain, which geth does not have."""
    return f"memory limit of {limit} bytes reached"


def invalid_opcode(opcode: int) -> str:
    """Return the message for an instruction that the fork does not have."""
    return f"invalid opcode: {opcodes.name_of(opcode)}"


def stack_underflow(height: int, opcode: int) -> str:
    """Return the message for an instruction that needs more stack items than there are."""
    return f"stack underflow ({height} <=> {opcodes.INPUTS.get(opcode, 0)})"


def stack_overflow(height: int) -> str:
    """Return the message for a full stack; all instructions that fill it push one item net."""
    return f"stack limit reached {height} ({opcodes.STACK_LIMIT - 1})"


def code_size(have: int, limit: int) -> str:
    """Return the message for the code of a creation that is too long (EIP-170)."""
    return f"{CODE_TOO_LARGE}: code size {have} limit {limit}"


def insufficient_funds(sender: Address, have: int, want: int) -> str:
    """Return the message for a sender that cannot pay for gas and value."""
    return (
        f"insufficient funds for gas * price + value: address {checksum_address(sender)} "
        f"have {have} want {want}"
    )


def fee_below_base_fee(sender: Address, fee: int, base_fee: int) -> str:
    """Return the message for a fee cap that the block's base fee exceeds."""
    return (
        f"max fee per gas less than block base fee: address {checksum_address(sender)}, "
        f"maxFeePerGas: {fee}, baseFee: {base_fee}"
    )


def too_many_blobs(sender: Address, count: int, most: int) -> str:
    """Return the message for a transaction with more blobs than its fork allows."""
    return (
        f"blob transaction has too many blobs: address {checksum_address(sender)}, "
        f"blobs: {count}, max: {most}"
    )


def blob_fee_below_price(sender: Address, fee: int, price: int) -> str:
    """Return the message for a fee cap of blobs that the block's price of blob gas exceeds."""
    return (
        f"max fee per blob gas less than block blob gas fee: address {checksum_address(sender)} "
        f"blobGasFeeCap: {fee}, blobBaseFee: {price}"
    )


def tip_above_fee(sender: Address, tip: int, fee: int) -> str:
    """Return the message for a tip that is higher than the fee cap."""
    return (
        f"max priority fee per gas higher than max fee per gas: address "
        f"{checksum_address(sender)}, maxPriorityFeePerGas: {tip}, maxFeePerGas: {fee}"
    )


def intrinsic_gas(have: int, want: int) -> str:
    """Return the message for gas that does not even pay for the transaction's bytes."""
    return f"intrinsic gas too low: have {have}, want {want}"


def floor_gas(have: int, want: int) -> str:
    """Return the message for gas below the floor of EIP-7623."""
    return f"insufficient gas for floor data gas cost: have {have}, want {want}"


def inner_initcode_size(have: int, limit: int) -> str:
    """Return the message for CREATE or CREATE2 with init code that is too long."""
    return f"{OUT_OF_GAS}: {initcode_size(have, limit)}"


def initcode_size(have: int, limit: int) -> str:
    """Return the message for init code that is too long (EIP-3860)."""
    return f"{INITCODE}: code size {have} limit {limit}"


def gas_cap(have: int, cap: int) -> str:
    """Return the message for a transaction above the gas cap of EIP-7825."""
    return f"transaction gas limit too high (cap: {cap}, tx: {have})"


def nonce_mismatch(sender: Address, have: int, state: int) -> str:
    """Return the message for a nonce that is not the account's next."""
    kind = "low" if have < state else "high"
    return f"nonce too {kind}: address {checksum_address(sender)}, tx: {have} state: {state}"


def sender_not_allowed(sender: Address) -> str:
    """Return the message for a sender that the transaction allow list does not have."""
    return f"cannot issue transaction from non-allow listed address: {checksum_address(sender)}"


def not_a_deployer(origin: Address) -> str:
    """Return the message for a creation that the deployer allow list forbids."""
    return f"tx.origin {checksum_address(origin)} is not authorized to deploy a contract"


def sender_not_eoa(sender: Address) -> str:
    """Return the message for a sender with code (EIP-3607)."""
    return f"sender not an eoa: address {checksum_address(sender)}"


ERROR_SELECTOR: Final = bytes.fromhex("08c379a0")
"""Selector of `Error(string)`, which require and revert with a text use."""

PANIC_SELECTOR: Final = bytes.fromhex("4e487b71")
"""Selector of `Panic(uint256)`, which the compiler's own checks use."""

_PANICS: Final = {
    0x00: "generic panic",
    0x01: "assert(false)",
    0x11: "arithmetic underflow or overflow",
    0x12: "division or modulo by zero",
    0x21: "enum overflow",
    0x22: "invalid encoded storage byte array accessed",
    0x31: "out-of-bounds array access; popping on an empty array",
    0x32: "out-of-bounds access of an array or bytesN",
    0x41: "out of memory",
    0x51: "uninitialized function",
}

_ESCAPED: Final = re.compile("[\udc80-\udcff]")


def reason_of(output: bytes) -> str | None:
    """Return the reason in revert data: a text or a panic; None for anything else."""
    if output[:4] == ERROR_SELECTOR:
        return _text(output[4:])
    if output[:4] == PANIC_SELECTOR and len(output) >= 36:
        code = _word(output, 4)
        return _PANICS.get(code, f"unknown panic code: {code:#x}")
    return None


def _text(arguments: bytes) -> str | None:
    """Return the string that ABI-encoded arguments contain, or None if they contain no string."""
    if len(arguments) < 64:
        return None
    start = _word(arguments, 0) + 32
    if start > len(arguments):
        return None
    size = _word(arguments, start - 32)
    if start + size > len(arguments):
        return None
    # like Go: each byte that is not valid UTF-8 becomes a separate character
    text = arguments[start : start + size].decode("utf-8", "surrogateescape")
    return _ESCAPED.sub("\ufffd", text)


def _word(data: bytes, start: int) -> int:
    return int.from_bytes(data[start : start + 32], "big")
