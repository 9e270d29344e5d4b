"""Read-only calls of token contracts, and their gas limits."""

from typing import Final

from primitives.evm import Address
from primitives.hashing import keccak256

GAS: Final = 200_000
"""Gas for a call, in addition to the intrinsic gas of a transaction."""

GAS_OF_INTERFACES: Final = 30_000
"""Gas for supportsInterface, as ERC-165 specifies it."""

MAX_ANSWER: Final = 4096
"""Limit of bytes of an answer; a longer answer is ignored."""

INTRINSIC_GAS: Final = 21_000
GAS_OF_A_BYTE: Final = 16


def _selector(signature: bytes) -> bytes:
    return keccak256(signature)[:4]


NAME: Final = _selector(b"name()")
SYMBOL: Final = _selector(b"symbol()")
DECIMALS: Final = _selector(b"decimals()")
TOTAL_SUPPLY: Final = _selector(b"totalSupply()")
_TOKEN_URI: Final = _selector(b"tokenURI(uint256)")
_URI: Final = _selector(b"uri(uint256)")
_BALANCE: Final = _selector(b"balanceOf(address)")
_BALANCE_OF_ID: Final = _selector(b"balanceOf(address,uint256)")
_SUPPORTS: Final = _selector(b"supportsInterface(bytes4)")

ERC165: Final = bytes.fromhex("01ffc9a7")
NO_INTERFACE: Final = bytes.fromhex("ffffffff")
"""An interface that no contract may support; a contract that claims it would claim any interface."""
ERC721: Final = bytes.fromhex("80ac58cd")
ERC1155: Final = bytes.fromhex("d9b67a26")


def supports(interface: bytes) -> bytes:
    """Return the call data that queries whether a contract supports an interface."""
    return _SUPPORTS + interface.ljust(32, b"\0")


def balance(holder: Address, token_id: int | None = None) -> bytes:
    """Return the call data that queries a balance; for ERC-1155 of one token ID."""
    if token_id is None:
        return _BALANCE + holder.rjust(32, b"\0")
    return _BALANCE_OF_ID + holder.rjust(32, b"\0") + token_id.to_bytes(32, "big")


def uri(token_id: int, *, is_collection: bool) -> bytes:
    """Return the call data that queries a token's metadata URI, of ERC-721 (`is_collection`) or ERC-1155."""
    return (_TOKEN_URI if is_collection else _URI) + token_id.to_bytes(32, "big")


def gas_limit(data: bytes, gas: int) -> int:
    """Return the gas limit of a message that leaves `gas` for the contract's code."""
    return INTRINSIC_GAS + GAS_OF_A_BYTE * len(data) + gas
