"""Geth's messages for failed calls and refused transactions, the same for both engines."""

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


def sender_not_eoa(sender: Address) -> str:
    """Return the message for a sender with code (EIP-3607)."""
    return f"sender not an eoa: address {checksum_address(sender)}"
