"""Small contracts written in assembly. They use only instructions that exist since Berlin."""

from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from primitives.rlp import encode_bytes, encode_list, encode_uint

_OPCODES = {
    "STOP": 0x00, "ADD": 0x01, "SUB": 0x03, "LT": 0x10, "EQ": 0x14, "ISZERO": 0x15, "NOT": 0x19,
    "SHR": 0x1C,
    "KECCAK256": 0x20, "ADDRESS": 0x30, "BALANCE": 0x31, "ORIGIN": 0x32, "CALLER": 0x33,
    "CALLVALUE": 0x34, "CALLDATALOAD": 0x35, "CALLDATASIZE": 0x36, "CALLDATACOPY": 0x37,
    "CODESIZE": 0x38, "CODECOPY": 0x39, "GASPRICE": 0x3A, "EXTCODESIZE": 0x3B, "EXTCODECOPY": 0x3C,
    "RETURNDATASIZE": 0x3D, "RETURNDATACOPY": 0x3E, "EXTCODEHASH": 0x3F, "BLOCKHASH": 0x40,
    "COINBASE": 0x41, "TIMESTAMP": 0x42, "NUMBER": 0x43, "PREVRANDAO": 0x44, "GASLIMIT": 0x45,
    "CHAINID": 0x46, "SELFBALANCE": 0x47, "BASEFEE": 0x48, "POP": 0x50, "MLOAD": 0x51,
    "MSTORE": 0x52, "MSTORE8": 0x53, "SLOAD": 0x54, "SSTORE": 0x55, "JUMP": 0x56, "JUMPI": 0x57, "GAS": 0x5A,
    "JUMPDEST": 0x5B, "DUP1": 0x80, "DUP2": 0x81, "DUP3": 0x82, "SWAP1": 0x90, "LOG0": 0xA0,
    "LOG1": 0xA1, "LOG2": 0xA2, "LOG3": 0xA3, "LOG4": 0xA4, "CREATE": 0xF0, "CALL": 0xF1,
    "RETURN": 0xF3, "DELEGATECALL": 0xF4, "CREATE2": 0xF5, "STATICCALL": 0xFA, "REVERT": 0xFD,
    "INVALID": 0xFE, "SELFDESTRUCT": 0xFF,
}  # fmt: skip


def assemble(*parts: str | int | bytes) -> bytes:
    """Return code: words are instructions, numbers are pushed, bytes are inserted unchanged.

    `0x..` and decimal numbers within the words are pushed too.
    """
    code = b""
    for part in parts:
        if isinstance(part, bytes):
            code += part
        elif isinstance(part, int):
            code += push(part)
        else:
            for word in part.split():
                code += bytes([_OPCODES[word]]) if word in _OPCODES else push(int(word, 0))
    return code


def push(number: int) -> bytes:
    """Return the shortest PUSH of a number; zero needs an operand, as before PUSH0 (Shanghai)."""
    data = number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")
    return bytes([0x5F + len(data)]) + data


def deploy_code(runtime: bytes, before: bytes = b"") -> bytes:
    """Return init code that runs `before` and returns the runtime code."""
    head_size = len(before) + 15
    head = before + b"\x61" + len(runtime).to_bytes(2, "big")
    head += b"\x61" + head_size.to_bytes(2, "big") + assemble("0 CODECOPY")
    head += b"\x61" + len(runtime).to_bytes(2, "big") + assemble("0 RETURN")
    return head.ljust(head_size, b"\x00") + runtime


def created(sender: Address, nonce: int) -> Address:
    """Return the address of a contract that a sender creates with this nonce."""
    return Address(keccak256(encode_list([encode_bytes(sender), encode_uint(nonce)]))[12:])


def created2(sender: Address, salt: int, init_code: bytes) -> Address:
    """Return the address of a contract that CREATE2 creates."""
    parts = b"\xff" + sender + salt.to_bytes(32, "big") + keccak256(init_code)
    return Address(keccak256(parts)[12:])


def words(*values: int | bytes) -> bytes:
    """Return values as concatenated 32-byte words, as the ABI encodes them."""
    return b"".join(
        value.rjust(32, b"\0") if isinstance(value, bytes) else value.to_bytes(32, "big")
        for value in values
    )


COUNTER = assemble("0 SLOAD 1 ADD DUP1 0 SSTORE 0 MSTORE 32 0 RETURN")
"""Adds one to slot 0 and returns it."""

STORE = assemble("32 CALLDATALOAD 0 CALLDATALOAD SSTORE")
"""(slot, value): sets a slot."""

STORE_TWICE = assemble(
    "32 CALLDATALOAD 0 CALLDATALOAD SSTORE 64 CALLDATALOAD 0 CALLDATALOAD SSTORE"
)
"""(slot, value, value): sets a slot, then sets it again."""

ECHO_REVERT = assemble("CALLDATASIZE 0 0 CALLDATACOPY CALLDATASIZE 0 REVERT")
"""Reverts with its call data."""

LOOP = assemble("JUMPDEST 0 JUMP")
"""Runs out of gas."""

BAD_JUMP = assemble("1 JUMP")
UNDERFLOW = assemble("1 ADD")
OVERFLOW = assemble("JUMPDEST 1 0 JUMP")
UNDEFINED = bytes([0x0C])

LOGGER = assemble(
    "CALLDATASIZE 0 0 CALLDATACOPY 2 1 CALLDATASIZE 0 LOG2 3 2 1 CALLER CALLDATASIZE 0 LOG4"
)
"""Emits two logs that contain the call data."""

DESTROYER = assemble("0 CALLDATALOAD SELFDESTRUCT")
"""(address): SELFDESTRUCT to this address."""

FACTORY = assemble(
    "32 CALLDATASIZE SUB DUP1 32 0 CALLDATACOPY 0 CALLDATALOAD SWAP1 0 CALLVALUE CREATE2 "
    "DUP1 0 SSTORE 0 MSTORE 32 0 RETURN"
)
"""(salt, init code): CREATE2; stores the new address in slot 0 and returns it."""

PROXY = assemble(
    "32 CALLDATASIZE SUB 32 0 CALLDATACOPY "
    "0 0 32 CALLDATASIZE SUB 0 CALLVALUE 0 CALLDATALOAD GAS CALL "
    "DUP1 1 SSTORE 0 MSTORE RETURNDATASIZE 0 32 RETURNDATACOPY 32 RETURNDATASIZE ADD 0 RETURN"
)
"""(address, data): CALL with all value; stores the success flag in slot 1; returns flag and output."""

DELEGATOR = assemble(
    "32 CALLDATASIZE SUB 32 0 CALLDATACOPY "
    "0 0 32 CALLDATASIZE SUB 0 0 CALLDATALOAD GAS DELEGATECALL 2 SSTORE"
)
"""(address, data): DELEGATECALL; stores the success flag in slot 2."""

RECURSION = assemble("0 0 0 0 0 ADDRESS GAS CALL 0 SLOAD 1 ADD 0 SSTORE")
"""Calls itself until gas or the depth limit ends the recursion; counts the calls in slot 0."""

SURROUNDINGS = assemble(
    "NUMBER 0 MSTORE TIMESTAMP 32 MSTORE COINBASE 64 MSTORE GASLIMIT 96 MSTORE CHAINID 128 MSTORE "
    "GASPRICE 160 MSTORE ORIGIN 192 MSTORE PREVRANDAO 224 MSTORE CALLER BALANCE 256 MSTORE "
    "SELFBALANCE 288 MSTORE 1 NUMBER SUB BLOCKHASH 320 MSTORE 0 BLOCKHASH 352 MSTORE 384 0 RETURN"
)
"""Returns the values of its environment: block, transaction and balances."""

_TRANSFER = keccak256(b"transfer(address,uint256)")[:4]
_BALANCE_OF = keccak256(b"balanceOf(address)")[:4]
TRANSFER_EVENT = Hash(keccak256(b"Transfer(address,address,uint256)"))


def _token() -> bytes:
    """Return the code of a token; the slot of a balance is the holder's address."""
    select = assemble("0 CALLDATALOAD 224 SHR DUP1", int.from_bytes(_TRANSFER), "EQ")
    select += b"\x60%c\x57" + assemble(int.from_bytes(_BALANCE_OF), "EQ") + b"\x60%c\x57"
    select += assemble("0 0 REVERT")
    transfer = assemble(
        "JUMPDEST CALLER SLOAD DUP1 36 CALLDATALOAD DUP1 SWAP1 DUP3 LT", b"\x60%c\x57"
    )
    transfer += assemble(
        "SWAP1 SUB CALLER SSTORE POP 4 CALLDATALOAD SLOAD 36 CALLDATALOAD ADD 4 CALLDATALOAD SSTORE "
        "36 CALLDATALOAD 0 MSTORE 4 CALLDATALOAD CALLER",
        int.from_bytes(TRANSFER_EVENT),
        "32 0 LOG3 1 0 MSTORE 32 0 RETURN",
    )
    refuse = assemble("JUMPDEST 0 0 REVERT")
    balance = assemble("JUMPDEST 4 CALLDATALOAD SLOAD 0 MSTORE 32 0 RETURN")
    at_transfer = len(select) - 2
    at_refuse = at_transfer + len(transfer) - 1
    at_balance = at_refuse + len(refuse)
    return (
        select.replace(b"%c", bytes([at_transfer]), 1).replace(b"%c", bytes([at_balance]), 1)
        + transfer.replace(b"%c", bytes([at_refuse]), 1)
        + refuse
        + balance
    )


TOKEN = _token()
"""An ERC-20 with only transfer(address,uint256) and balanceOf(address)."""

TOKEN_SUPPLY = 10**24
TOKEN_INIT = deploy_code(TOKEN, before=assemble(TOKEN_SUPPLY, "CALLER SSTORE"))
"""Init code of a token whose creator holds the whole supply."""


def transfer_call(to: Address, amount: int) -> bytes:
    """Return the call data of transfer(to, amount)."""
    return _TRANSFER + words(to, amount)


def balance_call(holder: Address) -> bytes:
    """Return the call data of balanceOf(holder)."""
    return _BALANCE_OF + words(holder)


_CONSOLE = int.from_bytes(b"console.log")

TELLER = assemble(
    "CALLDATASIZE 0 0 CALLDATACOPY 0 0 CALLDATASIZE 0", _CONSOLE, "GAS STATICCALL POP"
)
"""(console call data): passes it to console.log."""

TELLING_REVERTER = assemble(
    "32 CALLDATASIZE SUB 32 0 CALLDATACOPY 0 0 0 CALLDATALOAD 0",
    _CONSOLE,
    "GAS STATICCALL POP 0 CALLDATALOAD 32 CALLDATASIZE SUB SUB 0 CALLDATALOAD REVERT",
)
"""(size, console call data of that size, data): calls console.log, then reverts with the data."""
