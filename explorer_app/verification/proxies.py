"""Patterns by which a contract is recognized as a proxy (explorer.md 10): its code, else a slot. Pure.

`selectors.proxies` reads the slots and calls the contract.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from primitives.evm import Address, Slot, Word


class ProxyKind(StrEnum):
    """The kinds of proxies, by their usual names."""

    MINIMAL = "EIP1167"
    CLONE = "Clone with immutable arguments"
    EIP1967 = "EIP1967"
    BEACON = "EIP1967 beacon"
    EIP1822 = "EIP1822"
    OPEN_ZEPPELIN = "OpenZeppelin"
    SAFE = "Safe"
    DIAMOND = "EIP2535"
    CLAIMED = "Implementation getter"
    """Only implementation() names the implementation; this is the least trustworthy kind."""


class SlotRule(NamedTuple):
    """A slot that contains the implementation, or a beacon that names it."""

    kind: ProxyKind
    slot: Slot


def _slot(text: str) -> Slot:
    return Slot(bytes.fromhex(text))


SLOTS: Final = (
    SlotRule(ProxyKind.EIP1967, _slot("360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc")),
    SlotRule(ProxyKind.BEACON, _slot("a3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50")),
    SlotRule(ProxyKind.EIP1822, _slot("c5f16f0fcc639fa48a6947836d9850f504798523bf8c9a3a87d5876cf622bcf7")),
    SlotRule(ProxyKind.OPEN_ZEPPELIN, _slot("7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3")),
)  # fmt: skip
"""In order of precedence."""

ADMIN_SLOT: Final = _slot("b53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103")
FIRST_SLOT: Final = Slot(bytes(32))
"""The slot of a Safe's singleton."""

IMPLEMENTATION: Final = bytes.fromhex("5c60da1b")
"""The selector of implementation()."""
MASTER_COPY: Final = bytes.fromhex("a619486e")
"""The selector of masterCopy(), which a Safe's proxy answers itself."""
FACETS: Final = bytes.fromhex("52ef6b2c")
"""The selector of facetAddresses() of a diamond."""
MAX_FACETS: Final = 16
"""Limit of a diamond's facets; a contract can return as many as its gas allows."""

_DELEGATECALL: Final = 0xF4
_PUSH1, _PUSH32 = 0x60, 0x7F
_ADDRESS: Final = 20

_MINIMAL_START: Final = bytes.fromhex("363d3d373d3d3d363d")
_MINIMAL_END: Final = bytes.fromhex("5af43d82803e903d91602b57fd5bf3")
_CLONES: Final = (
    (bytes.fromhex("3d3d3d3d363d3d37363d73"), bytes.fromhex("5af43d3d93803e602a57fd5bf3")),
    (bytes.fromhex("363d3d373d3d3d363d73"), bytes.fromhex("5af43d3d93803e602a57fd5bf3")),
)
_WITH_ARGUMENTS: Final = bytes.fromhex("3d3d3d3d363d3d3761")


class ProxyTarget(NamedTuple):
    """The implementation that a contract's own code names."""

    kind: ProxyKind
    address: Address
    arguments: bytes = b""
    """The bytes after the code of a clone."""


def target_in_code(code: bytes) -> ProxyTarget | None:
    """Return the implementation in the code of a minimal proxy or clone; None for other code."""
    return _minimal(code) or _clone(code)


def address_of(word: Word | bytes) -> Address | None:
    """Return the address in a slot or answer; None for zero, and for a word that is not an address."""
    if len(word) != 32 or any(word[:12]) or not any(word):
        return None
    return Address(bytes(word[12:]))


def addresses_of(data: bytes) -> list[Address]:
    """Return the addresses of an answer that is an array of addresses, without duplicates, the first `MAX_FACETS`.

    For other answers the list is empty.
    """
    if len(data) < 64 or int.from_bytes(data[:32], "big") != 32:
        return []
    count = int.from_bytes(data[32:64], "big")
    words = [data[at : at + 32] for at in range(64, len(data), 32)]
    if not 0 < count <= len(words):
        return []
    facets = dict.fromkeys(map(address_of, words[:count]))
    return (
        [facet for facet in facets if facet is not None][:MAX_FACETS] if None not in facets else []
    )


def delegates(code: bytes) -> bool:
    """Return whether a code contains DELEGATECALL; otherwise it cannot run the code of others."""
    offset = 0
    while offset < len(code):
        instruction = code[offset]
        if instruction == _DELEGATECALL:
            return True
        offset += 1 + (instruction - _PUSH1 + 1 if _PUSH1 <= instruction <= _PUSH32 else 0)
    return False


def _minimal(code: bytes) -> ProxyTarget | None:
    """Match EIP-1167 with an address of 20 bytes, or of fewer if it begins with zeros."""
    if not code.startswith(_MINIMAL_START) or len(code) < len(_MINIMAL_START) + 1:
        return None
    size = code[len(_MINIMAL_START)] - _PUSH1 + 1
    first = len(_MINIMAL_START) + 1
    if not 0 < size <= _ADDRESS or code[first + size :] != _end(size):
        return None
    return ProxyTarget(
        ProxyKind.MINIMAL, Address(code[first : first + size].rjust(_ADDRESS, b"\0"))
    )


def _end(size: int) -> bytes:
    """Return the code after the address; its jump destination depends on the length of the address."""
    jump = 0x2B - (_ADDRESS - size)
    return _MINIMAL_END.replace(b"\x60\x2b", bytes([0x60, jump]))


def _clone(code: bytes) -> ProxyTarget | None:
    for start, end in _CLONES:
        stop = len(start) + _ADDRESS
        if code.startswith(start) and code[stop : stop + len(end)] == end:
            remainder = code[stop + len(end) :]
            kind = ProxyKind.CLONE if remainder else ProxyKind.MINIMAL
            return ProxyTarget(kind, Address(code[len(start) : stop]), remainder)
    if code.startswith(_WITH_ARGUMENTS):
        return _clone_with_arguments(code)
    return None


def _clone_with_arguments(code: bytes) -> ProxyTarget | None:
    """Find the address before the DELEGATECALL of a clone that appends its arguments to the call data."""
    at = code.find(bytes([0x5A, _DELEGATECALL]))
    if at < _ADDRESS + 1 or code[at - _ADDRESS - 1] != 0x73:
        return None
    return ProxyTarget(ProxyKind.CLONE, Address(code[at - _ADDRESS : at]), code[at + 2 :])
